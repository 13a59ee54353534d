//! How many calls run, how many wait, and what becomes of the rest.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use futures_util::future::join_all;
use serde_json::json;
use switchboard_runtime::{
    Config, ServerSettings, ToolExecutor,
    toolcall::{ErrorKind, ToolOutput},
};
use switchboard_testkit::{Fake, Witness};

use super::recorded;

/// A tool that knows how many of its calls run at once, at most.
fn crowd(name: &str) -> (Fake, Arc<AtomicUsize>) {
    let running = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let seen = most.clone();
    let tool = Fake::new(name, move |_, _| {
        let (running, most) = (running.clone(), most.clone());
        async move {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            running.fetch_sub(1, Ordering::SeqCst);
            Ok(ToolOutput::Value(json!("done")))
        }
    });
    (tool, seen)
}

// EX-8
#[tokio::test(start_paused = true)]
async fn ten_thousand_calls_at_once_are_bounded() {
    let executor = ToolExecutor::default();
    let (tool, most) = crowd("crowd");
    executor.tools().add(tool).unwrap();
    let calls = (0..10_000).map(|_| executor.call("crowd", json!({})));
    let results = join_all(calls).await;
    let ended = |kind| results.iter().filter(|result| result.error_kind() == kind).count();
    // 256 run and 1,024 wait; those finish, the rest is told at once.
    assert_eq!(ended(None), 256 + 1024);
    assert_eq!(ended(Some(ErrorKind::Overloaded)), 10_000 - 256 - 1024);
    assert_eq!(most.load(Ordering::SeqCst), 256);
    let refused = results.iter().find(|result| !result.is_success()).unwrap();
    let expected = "Tool 'crowd' was not run: too many calls are waiting; try again later";
    assert_eq!(refused.text(), expected);
    assert!(executor.call("crowd", json!({})).await.is_success());
}

// EX-8
#[tokio::test(start_paused = true)]
async fn a_busy_server_does_not_hold_up_others() {
    let config = Config { max_concurrent: 3, ..Config::default() };
    let executor = ToolExecutor::builder().config(config).build();
    let settings = ServerSettings { max_concurrent: 2, ..ServerSettings::default() };
    executor.tools().add_server("busy", settings).unwrap();
    let (tool, most) = crowd("work");
    executor.tools().set_server_tools("busy", vec![tool.of_server("busy").shared()]);
    executor.tools().add(Fake::answers("quick", json!("at once"))).unwrap();
    let busy = join_all((0..10).map(|_| executor.call("busy__work", json!({}))));
    let quick = async {
        tokio::task::yield_now().await;
        executor.call("quick", json!({})).await
    };
    let (busy, quick) = tokio::join!(busy, quick);
    // Two of three slots are the server's; those that wait for it hold none.
    assert_eq!(quick.execution_time_ms(), 0.0);
    assert_eq!(most.load(Ordering::SeqCst), 2);
    assert!(busy.iter().all(|result| result.is_success()));
    assert_eq!(recorded(&executor).await.len(), 11);
}

// EX-8: a slot is given back however a call ends.
#[tokio::test(start_paused = true)]
async fn slots_come_back() {
    let config = Config { max_concurrent: 1, max_queue: 0, ..Config::default() };
    let executor = ToolExecutor::builder().config(config).build();
    executor.tools().add(Fake::new("panic", |_, _| async { panic!("boom") })).unwrap();
    executor.tools().add(Fake::new("hang", |_, _| std::future::pending())).unwrap();
    executor.tools().add(Fake::fails("fail", "no")).unwrap();
    for _ in 0..3 {
        for (name, kind) in [
            ("panic", ErrorKind::Internal),
            ("hang", ErrorKind::Timeout),
            ("fail", ErrorKind::ToolError),
        ] {
            let result = executor.call(name, json!({})).await;
            assert_eq!(result.error_kind(), Some(kind), "{name}");
            // An aborted task gives its slot back when the runtime has dropped it.
            tokio::task::yield_now().await;
        }
    }
}

// EX-8, GW-4
#[tokio::test(start_paused = true)]
async fn those_who_wait_are_counted() {
    let config = Config { max_concurrent: 1, ..Config::default() };
    let executor = ToolExecutor::builder().config(config).build();
    executor.tools().add(Fake::waits("wait", &Witness::default())).unwrap();
    let calls = async {
        let call = || executor.call("wait", json!({"secs": 5}));
        tokio::join!(call(), call(), call())
    };
    let look = async {
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        executor.waiting()
    };
    let (_, waiting) = tokio::join!(calls, look);
    assert_eq!((waiting, executor.waiting()), (2, 0));
}
