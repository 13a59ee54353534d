//! Calls that certainly did not run: another worker is asked, or the truth is told.

use serde_json::json;
use switchboard_testkit::{Fake, Witness};
use switchboard_toolcall::{CallContext, ErrorKind};
use switchboard_workers::wire::{WorkerRefusal, WorkerReply};

use crate::{
    TestServers,
    shared::nodes::{until, within},
};

// EX-8
pub(crate) async fn a_worker_that_is_full_refuses_and_others_are_asked(servers: TestServers) {
    let (full, free) = (Witness::default(), Witness::default());
    let one = servers.worker("gpu", 1, vec![Fake::waits("wait", &full)]).await;
    let gateway = servers.gateway("gpu__wait").await;
    let long = gateway.begin("gpu__wait", json!({"secs": 600}), CallContext::default());
    within("the first begins", full.saw("begun")).await;
    let result = gateway.call("gpu__wait", json!({"secs": 0})).await;
    assert_eq!(result.error_kind(), Some(ErrorKind::Overloaded));
    let text = "Tool 'gpu__wait' was not run: all workers of group 'gpu' are busy; try again later";
    assert_eq!(result.text(), text);
    // With a second worker every call finds it, whomever the queue asks first.
    let two = servers.worker("gpu", 1, vec![Fake::waits("wait", &free)]).await;
    until("both are known", || gateway.groups.workers().len() == 2).await;
    for _ in 0..10 {
        assert_eq!(gateway.call("gpu__wait", json!({"secs": 0})).await.text(), "done");
    }
    assert_eq!(full.seen(), ["begun"]);
    long.abort();
    within("the first ends", full.saw("dropped and told")).await;
    drop((one, two));
}

pub(crate) async fn a_refusal_is_told_as_what_it_is(servers: TestServers) {
    let cases = [
        (WorkerRefusal::Busy, ErrorKind::Overloaded),
        (WorkerRefusal::Leaving, ErrorKind::Unavailable),
        (WorkerRefusal::Unknown, ErrorKind::Unavailable),
    ];
    for (place, (refusal, kind)) in cases.into_iter().enumerate() {
        let group = format!("g{place}");
        let mut scripted = servers.scripted(&group, Fake::echoes("echo")).await;
        let name = format!("{group}__echo");
        let gateway = servers.gateway(&name).await;
        let call = gateway.begin(&name, json!({}), CallContext::default());
        let refusing = async {
            loop {
                let (_, to) = scripted.asked().await;
                scripted.say(&to, &WorkerReply::Refused(refusal)).await;
            }
        };
        let result = tokio::select! {
            result = within("an answer", call) => result.unwrap(),
            () = refusing => unreachable!("it never ends"),
        };
        assert_eq!(result.error_kind(), Some(kind), "{refusal:?}: {}", result.text());
    }
}

pub(crate) async fn nobody_there_is_known_at_once(servers: TestServers) {
    // A worker that says it is there, and listens to nothing.
    let cluster = servers.connect().await;
    let scripted = servers.scripted("gpu", Fake::echoes("echo")).await;
    let gateway = servers.gateway("gpu__echo").await;
    drop(scripted);
    let executor = switchboard_runtime::ToolExecutor::default();
    executor.tools().add(Fake::echoes("silent")).unwrap();
    let tool = switchboard_workers::offer::OfferedTool::from(&*executor.tools().all()[0]);
    let offer = switchboard_workers::offer::WorkerOffer::new(vec![tool]).unwrap();
    let presence = switchboard_workers::offer::Presence {
        group: "deaf".to_owned(),
        worker: "w".to_owned(),
        tools: offer.hash.clone(),
        capacity: 1,
        running: 0,
        leaving: false,
        notifies: false,
        version: "0".to_owned(),
        started: 0,
    };
    let write = |bytes| switchboard_workers::wire::write(bytes).unwrap();
    let tools = cluster.bucket(switchboard_workers::Bucket::Tools).await.unwrap();
    tools.put("deaf.w", switchboard_workers::wire::write(&offer).unwrap()).await.unwrap();
    let workers = cluster.bucket(switchboard_workers::Bucket::Workers).await.unwrap();
    workers.put("deaf.w", write(&presence)).await.unwrap();
    gateway.lists("deaf__silent").await;
    let result = gateway.call("deaf__silent", json!({})).await;
    assert_eq!(result.error_kind(), Some(ErrorKind::Unavailable));
    let text = "Tool 'deaf__silent' is unavailable: a worker of group 'deaf' could not be reached";
    assert_eq!(result.text(), text);
}
