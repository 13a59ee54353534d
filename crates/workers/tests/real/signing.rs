//! Whoever gets in at the broker, but has no key, can run nothing, forge no answer and offer no tool.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_nats::Message;
use bytes::Bytes;
use futures_util::StreamExt;
use serde_json::{Map, Value, json};
use switchboard_runtime::{DurableCalls, QueueState};
use switchboard_testkit::Fake;
use switchboard_toolcall::{CallContext, CallId, ErrorKind, ToolCall, ToolOutput};
use switchboard_workers::{
    Bucket, Cluster, JobQueue,
    wire::{self, WireOutcome, WireOutput, WorkerRefusal, WorkerReply, WorkerRequest},
};
use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};

use crate::{
    TestServers,
    shared::nodes::{Gateway, ScriptedWorker, within},
};

/// How long something is given to happen that must not.
const MOMENT: Duration = Duration::from_millis(700);

/// A tool that counts its runs, and says who asked.
fn counts(name: &str, runs: &Arc<AtomicUsize>) -> Fake {
    let runs = runs.clone();
    Fake::new(name, move |args, cx| {
        runs.fetch_add(1, Ordering::SeqCst);
        let who = cx.caller.as_deref().map(str::to_owned);
        std::future::ready(Ok(ToolOutput::Value(
            json!({"for": who, "size": args.to_string().len()}),
        )))
    })
}

fn idempotent(tool: Fake) -> Fake {
    tool.with(|spec| spec.annotations.idempotent = Some(true))
}

/// Everything that is published there, as anybody hears it who gets in.
async fn tap(stranger: &Cluster, subject: &str) -> mpsc::UnboundedReceiver<Message> {
    let (sender, heard) = mpsc::unbounded_channel();
    let mut messages =
        stranger.nats().unwrap().client().subscribe(subject.to_owned()).await.unwrap();
    stranger.nats().unwrap().client().flush().await.unwrap();
    tokio::spawn(async move {
        while let Some(message) = messages.next().await {
            _ = sender.send(message);
        }
    });
    heard
}

/// Publishes bytes as a request, and returns what is answered.
async fn ask(stranger: &Cluster, subject: &str, payload: Bytes) -> Option<Message> {
    let client = stranger.nats().unwrap().client();
    let inbox = client.new_inbox();
    let mut answers = client.subscribe(inbox.clone()).await.unwrap();
    client.publish_with_reply(subject.to_owned(), inbox, payload).await.unwrap();
    timeout(MOMENT, answers.next()).await.ok().flatten()
}

fn forged(tool: &str) -> Bytes {
    let cx = CallContext::for_caller("admin");
    let mut request = WorkerRequest::new(CallId::generate(), tool, Map::new(), &cx);
    request.claims = Some(json!({"role": "admin"}));
    wire::write(&request).unwrap()
}

// RC-3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signed_calls_are_answered_as_any_others_are() {
    let servers = TestServers::signed();
    let runs = Arc::<AtomicUsize>::default();
    let tools = vec![counts("once", &runs), idempotent(counts("twice", &runs))];
    let _worker = servers.worker("gpu", 4, tools).await;
    let gateway = servers.gateway("gpu__twice").await;
    for (name, size) in [("gpu__once", 10), ("gpu__twice", 10), ("gpu__once", 3_000_000)] {
        let args = json!({"text": "x".repeat(size)});
        let result = gateway.call(name, args.clone()).await;
        assert_eq!(
            result.value().unwrap()["size"],
            json!(args.to_string().len()),
            "{}",
            result.text()
        );
    }
    let queue = JobQueue::new(gateway.groups.jobs().clone(), gateway.executor.clone());
    let call = ToolCall::new("gpu__twice", Map::new());
    let id = gateway.executor.submit(call, &CallContext::for_caller("ada")).await.unwrap();
    let ended = within("it ends", async {
        loop {
            let call = queue.look(id).await.unwrap().unwrap();
            if call.state.is_over() {
                return call;
            }
            sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    assert_eq!(ended.state, QueueState::Done);
    assert_eq!(ended.result.unwrap().value().unwrap()["for"], json!("ada"));
    assert_eq!(runs.load(Ordering::SeqCst), 4);
}

// RC-3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forged_request_does_not_run() {
    let servers = TestServers::signed();
    let (runs, stranger) = (Arc::<AtomicUsize>::default(), servers.stranger().await);
    let worker = servers.worker("gpu", 4, vec![idempotent(counts("resize", &runs))]).await;
    let _gateway = servers.gateway("gpu__resize").await;
    let direct = stranger.names().calls_to(&worker.id);
    for subject in ["switchboard.call.gpu.resize", &*direct] {
        let answer = ask(&stranger, subject, forged("resize")).await.expect("an answer");
        let answer: WorkerReply = wire::read("an answer", &answer.payload).unwrap();
        assert_eq!(answer, WorkerReply::Refused(WorkerRefusal::Unsigned));
    }
    // Neither does one in the queue.
    let jobs = stranger.jobs();
    stranger.nats().unwrap().jetstream().get_stream(stranger.names().stream("jobs")).await.unwrap();
    let request: Value = serde_json::from_slice(&forged("resize")).unwrap();
    let job = json!({"here": {"name": "gpu__resize", "group": "gpu", "may_repeat": true, "request": request}});
    let subject = stranger.names().jobs("gpu", "resize");
    let laid = stranger
        .nats()
        .unwrap()
        .jetstream()
        .publish(subject, job.to_string().into())
        .await
        .unwrap();
    laid.await.unwrap();
    within("a worker has looked at it", async {
        while jobs.figures().await.unwrap().iter().all(|queue| queue.taken == 0) {
            sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    sleep(MOMENT).await;
    assert_eq!(runs.load(Ordering::SeqCst), 0);
}

// RC-3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_somebody_repeats_does_not_run_again() {
    let servers = TestServers::signed();
    let (runs, stranger) = (Arc::<AtomicUsize>::default(), servers.stranger().await);
    let tools = vec![counts("once", &runs), idempotent(counts("twice", &runs))];
    let worker = servers.worker("gpu", 4, tools).await;
    let gateway = servers.gateway("gpu__twice").await;
    let mut heard = tap(&stranger, "switchboard.call.>").await;
    for (place, name) in ["gpu__once", "gpu__twice"].into_iter().enumerate() {
        assert!(gateway.call(name, json!({})).await.is_success());
        let asked = within("the request", heard.recv()).await.unwrap();
        let (subject, reply) = (asked.subject.to_string(), asked.reply.unwrap());
        let client = stranger.nats().unwrap().client();
        client
            .publish_with_reply(subject.clone(), reply.clone(), asked.payload.clone())
            .await
            .unwrap();
        // With another address for answers, at another worker's address, for another tool.
        ask(&stranger, &subject, asked.payload.clone()).await;
        ask(&stranger, &stranger.names().calls_to(&worker.id), asked.payload.clone()).await;
        let other = stranger.names().calls("gpu", ["twice", "once"][place]);
        ask(&stranger, &other, asked.payload).await;
        sleep(MOMENT).await;
        assert_eq!(runs.load(Ordering::SeqCst), place + 1, "{name}");
        // Whoever has the key is still served.
        while heard.try_recv().is_ok() {}
    }
}

// RC-3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_may_run_once_begins_once_even_if_its_request_reaches_two_workers() {
    let servers = TestServers::signed();
    let (runs, stranger) = (Arc::<AtomicUsize>::default(), servers.stranger().await);
    let tools = || vec![counts("once", &runs)];
    let _workers =
        [servers.worker("gpu", 4, tools()).await, servers.worker("gpu", 4, tools()).await];
    let gateway = servers.gateway("gpu__once").await;
    within("both are known", async {
        while gateway.groups.workers().len() < 2 {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    let mut heard = tap(&stranger, "switchboard.call.>").await;
    let client = stranger.nats().unwrap().client().clone();
    // Repeats each request at once, often enough that the other worker gets one.
    tokio::spawn(async move {
        while let Some(Message { subject, reply, payload, headers: None, .. }) = heard.recv().await
        {
            let mut mark = async_nats::HeaderMap::new();
            mark.insert("again", "1");
            for _ in 0..4 {
                let (to, mark) = (reply.clone().unwrap(), mark.clone());
                _ = client
                    .publish_with_reply_and_headers(subject.clone(), to, mark, payload.clone())
                    .await;
            }
        }
    });
    for call in 1..=20 {
        let result = gateway.call("gpu__once", json!({})).await;
        assert!(result.is_success(), "{}", result.text());
        assert_eq!(runs.load(Ordering::SeqCst), call);
    }
    // The call that waited for a signal has timed out by then.
    sleep(Duration::from_secs(6)).await;
    assert_eq!(runs.load(Ordering::SeqCst), 20);
}

// RC-3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_without_the_key_is_not_offered_and_its_answers_are_nothing() {
    let servers = TestServers::signed();
    let (runs, stranger) = (Arc::<AtomicUsize>::default(), servers.stranger().await);
    let mut rogue =
        ScriptedWorker::start(stranger.clone(), "evil", Fake::echoes("read_mail")).await;
    // A second one takes calls of a group that is there.
    let mut thief = ScriptedWorker::start(stranger, "gpu", Fake::echoes("resize")).await;
    let _worker = servers.worker("gpu", 4, vec![idempotent(counts("resize", &runs))]).await;
    let gateway = servers.gateway("gpu__resize").await;
    sleep(MOMENT).await;
    assert_eq!(gateway.names(), ["gpu__resize"]);
    assert_eq!(gateway.groups.workers().len(), 1);
    assert_eq!(
        gateway.call("evil__read_mail", json!({})).await.error_kind(),
        Some(ErrorKind::UnknownServer)
    );
    let forge = tokio::spawn(async move {
        while let Some((_, to)) = thief.calls.recv().await {
            thief.accept(&to, false).await;
            let answer = WireOutcome::Answer(WireOutput::Value(json!("forged")));
            thief.say(&to, &WorkerReply::Result(answer)).await;
        }
    });
    for _ in 0..6 {
        let result = gateway.call("gpu__resize", json!({})).await;
        assert_eq!(
            result.value().map(|value| value["size"].clone()),
            Some(json!(2)),
            "{}",
            result.text()
        );
    }
    assert!(rogue.calls.try_recv().is_err());
    forge.abort();
}

// RC-3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_without_the_key_is_told_what_is_missing() {
    let servers = TestServers::signed();
    let runs = Arc::<AtomicUsize>::default();
    let _worker = servers.worker("gpu", 4, vec![counts("resize", &runs)]).await;
    let without = Gateway::start(servers.stranger().await).await;
    without.lists("gpu__resize").await;
    let result = without.call("gpu__resize", json!({})).await;
    assert_eq!(result.error_kind(), Some(ErrorKind::Unavailable));
    let expected = "Tool 'gpu__resize' was not run by a worker of group 'gpu': the request is not signed with this cluster's key";
    assert_eq!(result.text(), expected);
    assert_eq!(runs.load(Ordering::SeqCst), 0);
}

// RC-3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_came_of_a_queued_call_cannot_be_forged() {
    let servers = TestServers::signed();
    let (runs, stranger) = (Arc::<AtomicUsize>::default(), servers.stranger().await);
    let _worker = servers.worker("gpu", 4, vec![idempotent(counts("resize", &runs))]).await;
    let gateway = servers.gateway("gpu__resize").await;
    let queue = JobQueue::new(gateway.groups.jobs().clone(), gateway.executor.clone());
    let mut heard = tap(&stranger, "switchboard.job.>").await;
    let call = ToolCall::new("gpu__resize", Map::new());
    let id = gateway.executor.submit(call, &CallContext::for_caller("ada")).await.unwrap();
    within("it ends", async {
        while !queue.look(id).await.unwrap().unwrap().state.is_over() {
            sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    // The same call, laid in again, is over.
    let laid = within("the call", heard.recv()).await.unwrap();
    let again =
        stranger.nats().unwrap().jetstream().publish(laid.subject, laid.payload).await.unwrap();
    again.await.unwrap();
    let calls = stranger.bucket(Bucket::Calls).await.unwrap();
    let entry = calls.get(&id.to_string()).await.unwrap().unwrap().value.unwrap();
    let changed = String::from_utf8(entry.to_vec()).unwrap().replace(r#""ada""#, r#""eve""#);
    assert!(changed.contains("eve"));
    calls.put(&id.to_string(), changed.into()).await.unwrap();
    let error = queue.look(id).await.err().unwrap().to_string();
    assert_eq!(error, "the state of a queued call is not signed with this cluster's key");
    // Nor can it be the state of another call.
    let other = CallId::generate();
    calls.put(&other.to_string(), entry).await.unwrap();
    assert!(queue.look(other).await.is_err());
    sleep(MOMENT).await;
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}
