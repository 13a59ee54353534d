//! Calls with a key that gateways queue (SPEC RN-2).

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Waker},
};

use serde_json::json;
use switchboard_toolcall::{ToolCall, ToolOutput};
use switchboard_workers::jobs;

use super::*;
use crate::{
    TestServers,
    shared::nodes::{self, Gateway},
};

/// A gateway that queues the calls of `gpu__*` that have a key.
async fn queueing(servers: &TestServers) -> Gateway {
    let (keyed, partitions) = (vec!["gpu__*".to_owned()], servers.partitions);
    let jobs = jobs::Config { keyed, partitions, ..settings() };
    let gateway = Gateway::start(servers.connect_with(jobs).await).await;
    gateway.lists("gpu__train").await;
    gateway
}

/// A tool that writes down each run, and then takes a minute.
fn train(log: &RunLog) -> Fake {
    let log = log.clone();
    Fake::new("train", move |args, _| {
        log.note(args["note"].as_str().unwrap_or_default());
        async move {
            tokio::time::sleep(Duration::from_secs(60)).await;
            Ok(ToolOutput::Value(json!({"trained": args["note"]})))
        }
    })
}

fn keyed(key: &str) -> CallContext {
    CallContext {
        call_key: Some(key.into()),
        ..CallContext::for_caller("ada").with_timeout(Duration::from_secs(3600))
    }
}

// RN-2: what was queued before a gateway died is waited for by the next one.
#[tokio::test(start_paused = true)]
async fn a_queued_call_is_waited_for_and_not_repeated() {
    let (servers, log) = (start(), RunLog::default());
    let _worker = servers.worker("gpu", 4, vec![train(&log)]).await;
    let dead = queueing(&servers).await;
    let spec = dead.executor.tools().lookup("gpu__train").unwrap();
    assert!(spec.spec().settings.honours_keys);
    assert_eq!(spec.spec().settings.keys_kept, Some(Duration::from_secs(7 * 86_400)));
    let (executor, cx) = (dead.executor.clone(), keyed("run.1.0"));
    let args = json!({"note": "model"}).as_object().unwrap().clone();
    let call = ToolCall::new("gpu__train", args);
    // What a process that is killed leaves: nothing is cancelled.
    let mut lost: Pin<Box<dyn Future<Output = _>>> =
        Box::pin(async move { executor.execute(call, &cx).await });
    let mut nobody = Context::from_waker(Waker::noop());
    nodes::within("the tool has begun", async {
        while log.times("model") == 0 {
            assert!(lost.as_mut().poll(&mut nobody).is_pending());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    std::mem::forget(lost);
    let next = queueing(&servers).await;
    let again = next.begin("gpu__train", json!({"note": "model"}), keyed("run.1.0")).await.unwrap();
    assert_eq!(again.value().as_deref(), Some(&json!({"trained": "model"})), "{again:?}");
    // It has ended, and its result is there for who asks once more.
    let once_more = next.begin("gpu__train", json!({"note": "model"}), keyed("run.1.0")).await;
    assert_eq!(once_more.unwrap().value(), again.value());
    assert_eq!(log.times("model"), 1);
    let other = next.begin("gpu__train", json!({"note": "model"}), keyed("run.2.0")).await.unwrap();
    assert!(other.is_success());
    assert_eq!(log.times("model"), 2);
}

// RN-2: a call that nobody waits for any more is cancelled, as one that is not queued.
#[tokio::test(start_paused = true)]
async fn who_stops_waiting_cancels_the_queued_call() {
    let (servers, log) = (start(), RunLog::default());
    let worker = servers.worker("gpu", 4, vec![train(&log)]).await;
    let gateway = queueing(&servers).await;
    let cx = keyed("run.1.0");
    let call = gateway.begin("gpu__train", json!({"note": "model"}), cx.clone());
    log.saw("model").await;
    cx.cancel.cancel();
    assert_eq!(call.await.unwrap().error_kind(), Some(ErrorKind::Cancelled));
    until("the worker has stopped", async || {
        let calls = worker.executor.history().recent(10).await.unwrap();
        calls.iter().all(|call| call.end.is_some()).then_some(())
    })
    .await;
    let again = gateway.begin("gpu__train", json!({"note": "model"}), keyed("run.1.0")).await;
    assert_eq!(again.unwrap().error_kind(), Some(ErrorKind::Cancelled));
    assert_eq!(log.times("model"), 1);
}
