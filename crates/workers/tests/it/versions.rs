//! Workers of the last release with gateways of this one, and the reverse, with and without a key.
//!
//! The other side is played by the tests, with the messages of 0.1.0 as it wrote them: its workers send no messages about
//! themselves, do not reply when they are asked whether they are there, and accept every call before they run it; its
//! gateways know of workers by watching their entries.

mod old_gateway;
mod old_worker;

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_runtime::{DurableCalls, QueueState};
use switchboard_testkit::Fake;
use switchboard_toolcall::{CallContext, ErrorKind, ToolCall, ToolOutput};
use switchboard_workers::{ClusterSecrets, Config, JobQueue, jobs};
use tokio::time::{Instant, sleep};

use crate::{
    TestServers,
    shared::{
        jobs::{settings, until},
        nodes::Gateway,
    },
};
use old_gateway::OldGateway;
use old_worker::OldWorker;

/// The cluster without a key, and with one. Calls of `gpu__*` that have a key are queued.
fn configs() -> [Config; 2] {
    let jobs = jobs::Config { keyed: vec!["gpu__*".to_owned()], ..settings() };
    let key = ClusterSecrets::from("0123456789abcdef0123456789abcdef");
    [None, Some(key)].map(|key| Config { key, jobs: jobs.clone(), ..Config::default() })
}

#[tokio::test(start_paused = true)]
async fn a_new_gateway_uses_a_worker_of_the_last_release() {
    for config in configs() {
        let servers = TestServers::start();
        let worker = OldWorker::start(servers.servers.connect(&config).unwrap()).await;
        let gateway = Gateway::start(servers.servers.connect(&config).unwrap()).await;
        gateway.lists("gpu__do").await;
        gateway.lists("gpu__read").await;
        for (tool, note) in [("gpu__do", "once"), ("gpu__read", "read")] {
            let result = gateway.call(tool, json!({"note": note})).await;
            assert_eq!(result.value().as_deref(), Some(&json!({"note": note})), "{result:?}");
        }
        // It is not taken for gone while nothing happens.
        for _ in 0..60 {
            sleep(Duration::from_secs(1)).await;
            assert_eq!(gateway.names(), ["gpu__do", "gpu__read"]);
        }
        let queued = gateway.begin("gpu__do", json!({"note": "keyed"}), keyed("run.1.0"));
        assert_eq!(queued.await.unwrap().value().as_deref(), Some(&json!({"note": "keyed"})));
        let args = json!({"note": "submitted"}).as_object().unwrap().clone();
        let cx = CallContext::for_caller("ada");
        let id = gateway.executor.submit(ToolCall::new("gpu__read", args), &cx).await.unwrap();
        let queue = JobQueue::new(gateway.groups.jobs().clone(), gateway.executor.clone());
        let ended = until("it has ended", async || {
            queue.look(id).await.unwrap().filter(|call| call.state.is_over())
        });
        let result = ended.await.result.unwrap();
        assert_eq!(result.value().as_deref(), Some(&json!({"note": "submitted"})));
        assert_eq!(worker.ran(), ["once", "read", "keyed", "submitted"]);
        // It says nothing when it dies, and cannot be asked.
        drop(worker);
        let died = Instant::now();
        gateway.forgets("gpu__do").await;
        assert!(died.elapsed() < Duration::from_secs(10), "{:?}", died.elapsed());
        let result = gateway.call("gpu__do", json!({})).await;
        assert_eq!(result.error_kind(), Some(ErrorKind::Unavailable));
    }
}

fn keyed(key: &str) -> CallContext {
    CallContext {
        call_key: Some(key.into()),
        ..CallContext::for_caller("ada").with_timeout(Duration::from_secs(3600))
    }
}

#[tokio::test(start_paused = true)]
async fn a_gateway_of_the_last_release_uses_a_new_worker() {
    for config in configs() {
        let servers = TestServers::start();
        let long = Fake::new("long", |args: Value, _| async move {
            sleep(Duration::from_secs(3)).await;
            Ok(ToolOutput::Value(args))
        });
        let tools = vec![Fake::echoes("do"), Fake::echoes("read").read_only(), long.read_only()];
        let cluster = servers.servers.connect(&config).unwrap();
        let worker = TestServers::worker_at(cluster, "gpu", 4, tools);
        let gateway = OldGateway::start(servers.servers.connect(&config).unwrap()).await;
        gateway.sees("gpu", &["do", "read", "long"]).await;
        // What must not run twice starts when the gateway says so.
        let once = gateway.call("gpu", "do", true, json!({"note": "once"})).await;
        assert_eq!(once.replies, ["accepted", "result"]);
        // A short call that may run twice has no `accepted`, a long one has, and heartbeats.
        let read = gateway.call("gpu", "read", false, json!({"note": "read"})).await;
        assert_eq!(read.replies, ["result"]);
        let long = gateway.call("gpu", "long", false, json!({"note": "long"})).await;
        assert_eq!(long.replies.first().map(String::as_str), Some("accepted"));
        assert!(long.replies.contains(&"alive".to_owned()), "{:?}", long.replies);
        let queued = gateway.queued("gpu", "do", json!({"note": "queued"})).await;
        let notes = [once.value, read.value, long.value, queued];
        let expected = ["once", "read", "long", "queued"].map(|note| json!({"note": note}));
        assert_eq!(notes, expected);
        worker.stop().await;
        gateway.sees("gpu", &[]).await;
    }
}

/// Nodes of the last release know of one partition only. What they cannot do, they do not do half.
#[tokio::test(start_paused = true)]
async fn a_divided_queue_is_not_that_of_the_last_release() {
    for config in configs() {
        let servers = TestServers::start();
        let jobs = jobs::Config { partitions: 4, ..config.jobs.clone() };
        let divided = Config { jobs, ..config.clone() };
        let cluster = servers.servers.connect(&divided).unwrap();
        cluster.agree().await.unwrap();
        let worker = OldWorker::start(servers.servers.connect(&config).unwrap()).await;
        let gateway = Gateway::start(servers.servers.connect(&divided).unwrap()).await;
        gateway.lists("gpu__read").await;
        // Ordinary calls are as before.
        let result = gateway.call("gpu__do", json!({"note": "once"})).await;
        assert_eq!(result.value().as_deref(), Some(&json!({"note": "once"})), "{result:?}");
        // A queued call waits for a worker that finds it.
        let args = json!({"note": "queued"}).as_object().unwrap().clone();
        let cx = CallContext::for_caller("ada");
        let id = gateway.executor.submit(ToolCall::new("gpu__read", args), &cx).await.unwrap();
        let queue = JobQueue::new(gateway.groups.jobs().clone(), gateway.executor.clone());
        sleep(Duration::from_secs(600)).await;
        assert_eq!(queue.look(id).await.unwrap().unwrap().state, QueueState::Queued);
        assert_eq!(queue.figures().await.unwrap()[0].waiting, 1);
        assert_eq!(worker.ran(), ["once"]);
        // A gateway of that release has no stream for its calls, so that they fail.
        let old = servers.servers.connect(&config).unwrap();
        let subject = old.names().jobs("gpu", "read");
        assert!(old.queue().publish(&subject, "id", "a call".into()).await.is_err());
        let tools = vec![Fake::echoes("do"), Fake::echoes("read").read_only()];
        let new = TestServers::worker_at(cluster, "gpu", 4, tools);
        let ended = until("it has ended", async || {
            queue.look(id).await.unwrap().filter(|call| call.state.is_over())
        });
        let result = ended.await.result.unwrap();
        assert_eq!(result.value().as_deref(), Some(&json!({"note": "queued"})));
        new.stop().await;
    }
}
