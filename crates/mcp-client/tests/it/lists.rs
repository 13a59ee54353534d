//! What a server has, and how that changes.

use std::time::Duration;

use serde_json::json;
use switchboard_mcp_client::ServerConfig;
use switchboard_testkit::Logs;
use tracing::Level;

use super::{TestServers, misbehaving, until};

// MC-1, TL-5
#[tokio::test]
async fn all_pages_are_read_in_order() {
    let plain = TestServers::misbehaving("").await;
    let paged = TestServers::misbehaving("paginates").await;
    assert_eq!(plain.tool_names(), paged.tool_names());
    assert_eq!(plain.tool_names()[0], "s__echo");
    plain.servers.close().await;
    paged.servers.close().await;
}

// MC-1: a list without end is no trouble.
#[tokio::test]
async fn a_list_without_end_is_bounded() {
    let test = TestServers::misbehaving("endless-pages").await;
    assert_eq!(test.tool_names().len(), 1000, "a thousand pages of one tool each");
    test.servers.close().await;
}

// TL-2
#[tokio::test]
async fn bad_tools_are_skipped_one_by_one() {
    let logs = Logs::collect(Level::WARN);
    let test = TestServers::misbehaving("bad-tools").await;
    let aside = test.servers.get("s").unwrap().skipped_tools();
    assert_eq!(aside.len(), 4, "{aside:?}");
    assert!(test.tool_names().contains(&"s__echo".to_owned()));
    let warned = logs.lines().iter().filter(|line| line.contains("is skipped")).count();
    assert_eq!(warned, aside.len());
    test.servers.close().await;
}

// MC-1
#[tokio::test]
async fn a_changed_list_is_followed() {
    let test = TestServers::misbehaving("list-changed").await;
    assert!(!test.tool_names().contains(&"s__late".to_owned()));
    test.call("s__echo", json!({"text": "hi"})).await;
    until(|| test.tool_names().contains(&"s__late".to_owned())).await;
    test.servers.close().await;
}

// TL-4: two servers with the same tool names, each call reaching the right one.
#[tokio::test]
async fn two_servers_with_the_same_names() {
    let late = ServerConfig { prefix: Some(String::new()), ..misbehaving("vendor-fields") };
    let test =
        TestServers::with(Duration::from_millis(1), [("one", misbehaving("")), ("two", late)]);
    test.servers.wait_until_ready().await;
    let one = test.call("one__echo", json!({"text": "hi"})).await;
    assert_eq!(one.text(), "hi");
    assert_eq!(one.server.as_deref(), Some("one"));
    let two = test.call("echo", json!({"text": "hi"})).await;
    assert_eq!(two.server.as_deref(), Some("two"));
    test.servers.close().await;
}

#[tokio::test]
async fn a_thousand_tools_are_there_at_once() {
    let test = TestServers::misbehaving("many-tools=1000").await;
    assert_eq!(test.tool_names().len(), 1002, "beside the two that it always has");
    test.servers.close().await;
}
