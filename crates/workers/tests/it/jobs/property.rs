//! Whatever dies, is delayed, is lost or comes twice: calls end, what is said of them is true, and what may run once runs once.

use proptest::prelude::*;
use serde_json::json;
use switchboard_runtime::QueueState;
use switchboard_workers::memory::MemoryFault;
use tokio::time::{sleep, timeout};

use super::*;

/// How long a case may take, by the paused clock: longer than any wait of a worker for its servers.
const END: Duration = Duration::from_secs(3600);

/// What happens in one case.
#[derive(Clone, Debug)]
struct Scenario {
    calls: Vec<Call>,
    /// What goes wrong with the servers' operations, one after the other.
    faults: Vec<MemoryFault>,
    /// After how many milliseconds which worker dies; another one takes its place.
    deaths: Vec<(u64, usize)>,
}

#[derive(Clone, Debug)]
struct Call {
    /// Whether it may run once only.
    once: bool,
    /// How long it runs.
    secs: f64,
    /// After how many milliseconds it is submitted; more than one: again, with the same key.
    submits: Vec<u64>,
    /// After how many milliseconds it is cancelled.
    cancel: Option<u64>,
}

fn fault() -> impl Strategy<Value = MemoryFault> {
    prop_oneof![
        12 => Just(MemoryFault::None),
        3 => (0..6000_u64).prop_map(|ms| MemoryFault::Delay(Duration::from_millis(ms))),
        1 => Just(MemoryFault::Refuse),
        2 => Just(MemoryFault::LoseAnswer),
    ]
}

fn call() -> impl Strategy<Value = Call> {
    let secs = prop_oneof![Just(0.0), Just(0.7), Just(5.0)];
    let submits = prop::collection::vec(0..3000_u64, 1..4);
    let cancel = prop::option::weighted(0.2, 0..8000_u64);
    (any::<bool>(), secs, submits, cancel).prop_map(|(once, secs, submits, cancel)| Call {
        once,
        secs,
        submits,
        cancel,
    })
}

fn scenario() -> impl Strategy<Value = Scenario> {
    let calls = prop::collection::vec(call(), 1..5);
    let faults = prop::collection::vec(fault(), 0..120);
    let deaths = prop::collection::vec((0..9000_u64, 0..3_usize), 0..5);
    (calls, faults, deaths).prop_map(|(calls, faults, deaths)| Scenario { calls, faults, deaths })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..Default::default() })]

    #[test]
    fn calls_end_truthfully_and_run_once(scenario in scenario()) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async { timeout(END, play(scenario)).await.expect("it ends") });
    }
}

async fn play(scenario: Scenario) {
    let servers = start();
    let (cluster, log) = (servers.connect().await, RunLog::default());
    let gateways = [TestGateway::new(&cluster), TestGateway::new(&servers.connect().await)];
    let mut faults = scenario.faults.into_iter();
    servers.servers.set_faults(move |_| faults.next().unwrap_or_default());
    let workers = async {
        let mut workers: Vec<_> = (0..3).map(|place| worker(&cluster, place, &log)).collect();
        for (after, place) in scenario.deaths {
            sleep(Duration::from_millis(after)).await;
            // Dropped first: the dead one says nothing more.
            drop(workers.remove(place));
            workers.insert(place, worker(&cluster, place, &log));
        }
        workers
    };
    let calls = scenario.calls.iter().enumerate();
    let calls = calls.map(|(number, call)| submit(&gateways, &log, number, call));
    let (_workers, ids) = tokio::join!(workers, futures_util::future::join_all(calls));
    for (number, (id, call)) in ids.into_iter().zip(&scenario.calls).enumerate() {
        let Some(id) = id else { continue };
        let ended = ended(&gateways[number % 2], id).await;
        check(call, &ended, log.times(&note(number)));
    }
}

/// The third worker has the tools that may run once as well as those that may run again.
fn worker(cluster: &Cluster, place: usize, log: &RunLog) -> Vec<TestWorker> {
    let groups: &[&str] = match place {
        0 => &["gpu"],
        1 => &["tools"],
        _ => &["gpu", "tools"],
    };
    groups.iter().map(|group| TestWorker::mortal(cluster, group, "w", log)).collect()
}

/// Submits the call as often as the scenario says, and returns the id that it was given, if it was queued.
async fn submit(
    gateways: &[TestGateway; 2],
    log: &RunLog,
    number: usize,
    call: &Call,
) -> Option<CallId> {
    let name = if call.once { "tools__hold" } else { "gpu__hold" };
    let args = json!({"note": note(number), "secs": call.secs});
    let submits = call.submits.iter().enumerate().map(async |(turn, after)| {
        sleep(Duration::from_millis(*after)).await;
        let cx = CallContext::for_caller("ada").with_idempotency_key(note(number));
        let submitted = gateways[turn % 2].submit_as(name, args.clone(), &cx).await;
        let Ok(id) = submitted else { return None };
        if let Some(after) = call.cancel {
            sleep(Duration::from_millis(after)).await;
            // Whether it was heard does not matter here.
            _ = gateways[turn % 2].queue.cancel(id).await;
        }
        Some(id)
    });
    let ids = futures_util::future::join_all(submits).await;
    let mut queued = ids.iter().flatten();
    let first = queued.next().copied();
    assert!(queued.all(|id| Some(*id) == first), "one key, one call: {ids:?}");
    if call.once {
        assert!(log.times(&note(number)) <= 1);
    }
    first
}

fn note(number: usize) -> String {
    format!("call {number}")
}

async fn ended(gateway: &TestGateway, id: CallId) -> QueuedCall {
    loop {
        match gateway.queue.look(id).await {
            Ok(Some(call)) if call.state.is_over() => return call,
            _ => sleep(Duration::from_secs(1)).await,
        }
    }
}

fn check(call: &Call, ended: &QueuedCall, runs: usize) {
    let said = (ended.state, kind(ended));
    let case = format!("{call:?} ended as {said:?} after {runs} runs: {}", text(ended));
    assert!(!call.once || runs <= 1, "it ran twice: {case}");
    assert!(ended.attempts <= 3, "{case}");
    match said {
        (QueueState::Done, None) => assert!(runs >= 1, "it did not run: {case}"),
        (QueueState::Done, Some(kind)) => {
            assert!(call.once && kind == ErrorKind::OutcomeUnknown, "{case}");
        }
        (QueueState::Dead, _) => assert!(!call.once && ended.attempts == 3, "{case}"),
        (QueueState::Cancelled, _) => {
            assert!(call.cancel.is_some(), "{case}");
            let never = text(ended).ends_with("was cancelled before it ran");
            assert!(!never || runs == 0, "{case}");
        }
        _ => panic!("it has not ended: {case}"),
    }
}
