//! Who is there: listed as servers of the gateway, gone when they leave.

use std::time::{Duration, SystemTime};

use serde_json::json;
use switchboard_runtime::ServerSettings;
use switchboard_testkit::{Fake, Witness};
use switchboard_toolcall::{Annotations, ErrorKind};

use crate::{
    TestServers,
    shared::nodes::{until, within},
};

// TL-5
pub(crate) async fn tools_are_listed_as_the_workers_have_them(servers: TestServers) {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let tool = Fake::echoes("resize").parameters(schema.clone()).read_only().with(|spec| {
        spec.settings.timeout = Some(std::time::Duration::from_millis(1500));
        spec.settings.max_output = Some(10);
        spec.description = "Makes it smaller".to_owned();
    });
    let zoo = servers.worker("zoo", 4, vec![Fake::echoes("feed")]).await;
    let gpu = servers.worker("gpu", 4, vec![tool, Fake::echoes("blur")]).await;
    let gateway = servers.gateway("gpu__blur").await;
    gateway.lists("zoo__feed").await;
    // A second gateway sees all at its first look, in the order of names.
    let gateway = servers.empty_gateway().await;
    within("a look", gateway.groups.wait_until_ready(crate::shared::nodes::LONG)).await.unwrap();
    assert_eq!(gateway.names(), ["gpu__resize", "gpu__blur", "zoo__feed"]);
    let found = gateway.executor.tools().lookup("gpu__resize").unwrap();
    let spec = found.spec();
    assert_eq!(spec.description, "Makes it smaller");
    assert_eq!(spec.parameters, schema);
    assert_eq!(spec.annotations, Annotations::READ_ONLY);
    assert_eq!(spec.settings.timeout, Some(std::time::Duration::from_millis(1500)));
    // RS-5: the gateway cuts, and keeps the whole.
    let result = gateway.call("gpu__resize", json!({"text": "a".repeat(5000)})).await;
    assert!(result.truncated && result.artifacts[0].size > 5000, "{result:?}");
    let servers = gateway.executor.tools().servers();
    let status = servers[0].link.as_ref().unwrap().status();
    assert_eq!((&status["state"], &status["type"]), (&json!("ready"), &json!("workers")));
    assert_eq!(status["workers"][0]["id"], gpu.id);
    assert_eq!(status["workers"][0]["capacity"], 4);
    drop((zoo, gpu));
}

// TL-6: a gateway that has just begun does not know its groups yet.
pub(crate) async fn nobody_is_unknown_before_somebody_has_looked(servers: TestServers) {
    let worker = servers.worker("gpu", 4, vec![Fake::answers("blur", json!("soft"))]).await;
    servers.gateway("gpu__blur").await;
    for _ in 0..5 {
        let gateway = servers.empty_gateway().await;
        assert_eq!(gateway.call("gpu__blur", json!({})).await.text(), "soft");
        let unknown = gateway.call("cpu__blur", json!({})).await;
        assert_eq!(unknown.error_kind(), Some(ErrorKind::UnknownServer));
    }
    drop(worker);
}

pub(crate) async fn what_changes_at_a_worker_changes_here(servers: TestServers) {
    let worker = servers.worker("gpu", 4, vec![Fake::echoes("old")]).await;
    let gateway = servers.gateway("gpu__old").await;
    worker.executor.tools().add(Fake::answers("new", json!("yes"))).unwrap();
    gateway.lists("gpu__new").await;
    assert_eq!(gateway.call("gpu__new", json!({})).await.text(), "yes");
    assert_eq!(gateway.call("gpu__old", json!({})).await.text(), "{}");
    worker.executor.tools().replace(vec![Fake::echoes("third").shared()], Vec::new(), &[]).unwrap();
    gateway.forgets("gpu__old").await;
    gateway.lists("gpu__third").await;
}

pub(crate) async fn a_worker_that_leaves_or_dies_is_gone(servers: TestServers) {
    let worker = servers.worker("gpu", 4, vec![Fake::echoes("echo")]).await;
    let gateway = servers.gateway("gpu__echo").await;
    worker.stop().await;
    gateway.forgets("gpu__echo").await;
    let result = gateway.call("gpu__echo", json!({})).await;
    assert_eq!(result.error_kind(), Some(ErrorKind::Unavailable));
    assert_eq!(result.text(), "Tools of 'gpu' are unavailable: group 'gpu' has no workers");
    // One that dies says nothing; it is missed.
    let scripted = servers.scripted("gpu", Fake::echoes("other")).await;
    gateway.lists("gpu__other").await;
    drop(scripted);
    gateway.forgets("gpu__other").await;
    let again = servers.worker("gpu", 4, vec![Fake::echoes("echo")]).await;
    gateway.lists("gpu__echo").await;
    assert_eq!(gateway.call("gpu__echo", json!({})).await.text(), "{}");
    drop(again);
}

pub(crate) async fn calls_are_shared_among_the_workers_of_a_group(servers: TestServers) {
    let witnesses = [Witness::default(), Witness::default()];
    let mut workers = Vec::new();
    for witness in &witnesses {
        workers.push(servers.worker("gpu", 64, vec![Fake::waits("wait", witness)]).await);
    }
    let gateway = servers.gateway("gpu__wait").await;
    until("both are known", || gateway.groups.workers().len() == 2).await;
    for _ in 0..200 {
        assert_eq!(gateway.call("gpu__wait", json!({"secs": 0})).await.text(), "done");
    }
    let ran = witnesses.each_ref().map(|witness| witness.seen().len() / 2);
    assert_eq!(ran[0] + ran[1], 200);
    // By chance alone one of two would get none of 200 once in 10^60.
    assert!(ran[0] > 0 && ran[1] > 0, "{ran:?}");
}

pub(crate) async fn of_tools_that_differ_the_newest_counts(servers: TestServers) {
    let tool = |text: &str| Fake::echoes("do").with(|spec| spec.description = text.to_owned());
    let old = servers.worker("gpu", 4, vec![tool("old"), Fake::echoes("only-old")]).await;
    let gateway = servers.gateway("gpu__do").await;
    // Ids sort by the system's time, to the millisecond.
    let begun = SystemTime::now();
    while begun.elapsed().is_ok_and(|since| since < Duration::from_millis(2)) {
        tokio::task::yield_now().await;
    }
    let new = servers.worker("gpu", 4, vec![tool("new")]).await;
    let described = |text: &str| {
        let tool = gateway.executor.tools().get("gpu__do");
        tool.is_some_and(|tool| tool.spec().description == text)
    };
    until("the newest counts", || described("new")).await;
    assert_eq!(gateway.names(), ["gpu__do", "gpu__only-old"]);
    new.stop().await;
    until("the old one counts again", || described("old")).await;
    drop(old);
}

pub(crate) async fn a_server_of_the_config_keeps_its_name_and_others_servers_leave_groups_alone(
    servers: TestServers,
) {
    let gateway = servers.empty_gateway().await;
    let tools = gateway.executor.tools();
    tools.add_server("taken", ServerSettings::default()).unwrap();
    let taken = servers.worker("taken", 4, vec![Fake::echoes("echo")]).await;
    let fine = servers.worker("fine", 4, vec![Fake::echoes("echo")]).await;
    gateway.lists("fine__echo").await;
    until("both are known", || gateway.groups.workers().len() == 2).await;
    assert_eq!(gateway.names(), ["fine__echo"]);
    // A config that is read again puts all servers in place again.
    tools.replace(Vec::new(), gateway.groups.settings(), &[]).unwrap();
    assert!(gateway.names().contains(&"fine__echo".to_owned()));
    // Even where somebody forgot the groups they come back.
    tools.replace(Vec::new(), Vec::new(), &[]).unwrap();
    gateway.lists("fine__echo").await;
    gateway.lists("taken__echo").await;
    drop((taken, fine));
}
