//! Calls about which a person decides.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use serde_json::json;
use switchboard_runtime::{
    Approval, Approver, CallEnd, CallHeld, CallObserver, PolicyConfig, RulePolicy, Ruling,
    SwapPolicy, ToolExecutor,
    approval::{ApprovalRequest, AskOutcome, PendingDecision, PersonDecision},
    toolcall::{BoxError, CallContext, ErrorKind, Progress, ToolCall, ToolOutput, ToolResult},
};
use switchboard_testkit::Fake;
use tokio::time::{Instant, sleep};

/// Somebody who takes a minute to answer.
#[derive(Default)]
struct Person {
    says: Option<Ruling>,
    reason: Option<&'static str>,
    asked: Mutex<Vec<ApprovalRequest>>,
}

impl Approver for Person {
    fn ask(&self, question: ApprovalRequest) -> Result<AskOutcome<'_>, BoxError> {
        self.asked.lock().unwrap().push(question);
        let Some(ruling) = self.says else { return Err("the desk is on fire".into()) };
        let reason = self.reason.map(str::to_owned);
        let decision = Box::pin(async move {
            sleep(Duration::from_secs(60)).await;
            Ok(PersonDecision { ruling, by: Some("ada".to_owned()), reason })
        });
        Ok(AskOutcome::Held(PendingDecision {
            id: "k7mq".into(),
            expires: SystemTime::now(),
            decision,
        }))
    }
}

/// The events that an observer receives, one line each.
#[derive(Default)]
struct RecordedEvents(Mutex<Vec<String>>);

impl CallObserver for RecordedEvents {
    fn ended(&self, end: &CallEnd<'_>) {
        let outcome = end.error_kind.map_or("ok", ErrorKind::code);
        let decision = end.approval.map_or("none", |approval| approval.decision.code());
        self.0.lock().unwrap().push(format!("ended {outcome}, approval {decision}"));
    }

    fn held(&self, held: &CallHeld<'_>) {
        self.0.lock().unwrap().push(format!("held {} {}", held.tool, held.id));
    }

    fn decided(&self, _: &CallHeld<'_>, approval: &Approval) {
        let (decision, held) = (approval.decision.code(), approval.held.as_secs());
        self.0.lock().unwrap().push(format!("decided {decision} after {held}"));
    }
}

struct ApprovalSetup {
    executor: ToolExecutor,
    person: Arc<Person>,
    policy: Arc<SwapPolicy>,
    events: Arc<RecordedEvents>,
}

impl ApprovalSetup {
    /// A tool that works for 20 seconds, and must be allowed.
    fn new(says: Option<Ruling>, reason: Option<&'static str>) -> Self {
        let person = Arc::new(Person { says, reason, ..Person::default() });
        let policy = Arc::new(SwapPolicy::new(asking(&["work"], &[])));
        let events = Arc::new(RecordedEvents::default());
        let executor = ToolExecutor::builder()
            .policy(policy.clone())
            .approver(person.clone())
            .observer(events.clone())
            .build();
        let work = Fake::new("work", |_, _| async {
            sleep(Duration::from_secs(20)).await;
            Ok(ToolOutput::Value(json!("done")))
        });
        executor.tools().add(work).unwrap();
        Self { executor, person, policy, events }
    }

    async fn work(&self, cx: &CallContext) -> ToolResult {
        self.executor.execute(ToolCall::new("work", Default::default()), cx).await
    }

    fn events(&self) -> Vec<String> {
        self.events.0.lock().unwrap().clone()
    }
}

fn asking(ask: &[&str], deny: &[&str]) -> RulePolicy {
    let owned = |globs: &[&str]| globs.iter().map(ToString::to_string).collect();
    let config = PolicyConfig { ask: owned(ask), deny: owned(deny), ..Default::default() };
    RulePolicy::new(config).unwrap()
}

// EX-2, EX-3, EX-7: a minute of waiting and 20 seconds of work fit, although the call may take 30.
#[tokio::test(start_paused = true)]
async fn the_wait_for_a_person_is_not_the_tools_time() {
    let setup = ApprovalSetup::new(Some(Ruling::Allow), None);
    let began = Instant::now();
    let result = setup.work(&CallContext::default()).await;
    assert_eq!(result.text(), "done");
    let envelope = serde_json::to_value(&result).unwrap();
    assert_eq!(envelope["execution_time_ms"].to_string(), "20000.0");
    assert_eq!(envelope["waited_ms"].to_string(), "60000.0");
    assert_eq!(began.elapsed().as_secs(), 80);
    let expected = ["held work k7mq", "decided allow after 60", "ended ok, approval allow"];
    assert_eq!(setup.events(), expected);
    let asked = setup.person.asked.lock().unwrap();
    assert_eq!((asked.len(), &*asked[0].rule), (1, "ask \"work\""));
    assert_eq!(asked[0].within, Duration::from_secs(300));
}

#[tokio::test(start_paused = true)]
async fn every_other_answer_is_reported_truthfully() {
    for (says, reason, text) in [
        (Some(Ruling::Deny), None, "Tool 'work' was denied by a person"),
        (Some(Ruling::Deny), Some("no"), "Tool 'work' was denied by a person: no"),
        (Some(Ruling::Expired), None, "Tool 'work' was not run: nobody allowed it within 5m"),
        (None, None, "Tool 'work' was not run: a person must allow it, and could not be asked"),
    ] {
        let setup = ApprovalSetup::new(says, reason);
        let result = setup.work(&CallContext::default()).await;
        assert_eq!(
            (result.error_kind(), result.text()),
            (Some(ErrorKind::Denied), text.to_owned())
        );
    }
}

#[tokio::test]
async fn where_there_is_nobody_the_call_is_refused_at_once() {
    let executor = ToolExecutor::builder().policy(asking(&["work"], &[])).build();
    executor.tools().add(Fake::answers("work", json!(1))).unwrap();
    let result = executor.call("work", json!({})).await;
    assert_eq!(result.error_kind(), Some(ErrorKind::Denied));
    let error = result.outcome.unwrap_err();
    assert!(error.for_model.ends_with("(ask \"work\"), and there is nobody to ask"), "{error}");
    assert!(error.hint.is_some());
}

// EX-3: the narrowest limit is the caller's own.
#[tokio::test(start_paused = true)]
async fn a_limit_that_the_caller_sets_holds_for_the_wait_too() {
    let setup = ApprovalSetup::new(Some(Ruling::Allow), None);
    let result = setup.work(&CallContext::default().with_timeout(Duration::from_secs(5))).await;
    let text = "Tool 'work' timed out after 5s; it waited for a person to allow it and did not run";
    assert_eq!((result.error_kind(), result.text()), (Some(ErrorKind::Timeout), text.to_owned()));
    assert_eq!(
        setup.events()[1..],
        ["decided withdrawn after 5", "ended timeout, approval withdrawn"]
    );

    let result = setup.work(&CallContext::default().with_timeout(Duration::from_secs(70))).await;
    assert_eq!(
        result.text(),
        "Tool 'work' timed out after 70s; side effects may have happened",
        "the wait counts where the caller says how long all of it may take"
    );
}

// EX-4
#[tokio::test(start_paused = true)]
async fn a_cancel_or_a_caller_that_leaves_ends_the_wait() {
    let setup = ApprovalSetup::new(Some(Ruling::Allow), None);
    let cx = CallContext::default();
    let cancel = async {
        sleep(Duration::from_secs(3)).await;
        cx.cancel.cancel();
    };
    let (result, ()) = tokio::join!(setup.work(&cx), cancel);
    assert_eq!(result.error_kind(), Some(ErrorKind::Cancelled));
    let expected = ["decided withdrawn after 3", "ended cancelled, approval withdrawn"];
    assert_eq!(setup.events()[1..], expected);

    let cx = CallContext::default();
    let gone = tokio::time::timeout(Duration::from_secs(3), setup.work(&cx));
    assert!(gone.await.is_err());
    assert_eq!(setup.events()[4..], expected);
}

#[tokio::test(start_paused = true)]
async fn rules_that_change_meanwhile_are_stronger_than_a_person() {
    let setup = ApprovalSetup::new(Some(Ruling::Allow), None);
    let cx = CallContext::default();
    let reload = async {
        sleep(Duration::from_secs(10)).await;
        setup.policy.swap(asking(&[], &["wo*"]));
    };
    let (result, ()) = tokio::join!(setup.work(&cx), reload);
    assert_eq!(result.text(), "Tool 'work' is denied by policy: deny \"wo*\"");

    // One that no longer asks, or asks again, changes nothing.
    for policy in [asking(&[], &[]), asking(&["*"], &[])] {
        let setup = ApprovalSetup::new(Some(Ruling::Allow), None);
        let reload = async {
            sleep(Duration::from_secs(10)).await;
            setup.policy.swap(policy);
        };
        let (result, ()) = tokio::join!(setup.work(&cx), reload);
        assert_eq!(result.text(), "done");
        assert_eq!(setup.person.asked.lock().unwrap().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_hears_that_its_call_still_waits() {
    let setup = ApprovalSetup::new(Some(Ruling::Allow), None);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let (sink, mut cx) = (heard.clone(), CallContext::default());
    cx.progress = Progress::to(move |update| sink.lock().unwrap().push(update));
    setup.work(&cx).await;
    let heard = heard.lock().unwrap();
    assert_eq!(heard.len(), 12, "at once, and then every five seconds of a minute");
    assert!(heard.windows(2).all(|pair| pair[0].progress < pair[1].progress));
    assert!(heard.last().unwrap().progress < 0.000_001, "there is room for the tool's own");
    assert!(heard[0].message.as_ref().unwrap().contains("k7mq"));
}

#[tokio::test(start_paused = true)]
async fn deny_is_stronger_than_ask_and_ask_than_allow() {
    let tools = || {
        [
            Fake::answers("read", json!(1)).read_only(),
            Fake::answers("write", json!(1)),
            Fake::answers("delete", json!(1)),
        ]
    };
    let check = async |config: PolicyConfig| {
        let executor = ToolExecutor::builder()
            .policy(RulePolicy::new(config).unwrap())
            .approver(Arc::new(Person { says: Some(Ruling::Expired), ..Person::default() }))
            .build();
        let mut said = Vec::new();
        for tool in tools() {
            executor.tools().add(tool).unwrap();
        }
        for name in ["read", "write", "delete"] {
            let result = executor.call(name, json!({})).await;
            said.push(match result.outcome.map_err(|error| error.for_model) {
                Ok(_) => "ran",
                Err(text) if text.contains("by policy") => "denied",
                Err(_) => "asked",
            });
        }
        said
    };
    let globs = |globs: &[&str]| globs.iter().map(ToString::to_string).collect::<Vec<_>>();
    let config = PolicyConfig::default;
    let rules = PolicyConfig { ask: globs(&["*"]), deny: globs(&["delete"]), ..config() };
    assert_eq!(check(rules).await, ["asked", "asked", "denied"]);
    let rules = PolicyConfig { ask: globs(&["w*"]), allow: globs(&["w*", "read"]), ..config() };
    assert_eq!(check(rules).await, ["ran", "asked", "denied"]);
    let rules = PolicyConfig { ask_destructive: true, ..config() };
    assert_eq!(check(rules).await, ["ran", "asked", "asked"]);
    let rules = PolicyConfig { ask: globs(&["*"]), read_only: true, ..config() };
    assert_eq!(check(rules).await, ["asked", "denied", "denied"]);
}
