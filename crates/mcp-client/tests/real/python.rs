//! The official Python SDK: `mcp-server-time`, and a server of our own on it, in both eras.

use serde_json::json;
use switchboard_mcp_client::{Protocol, ServerConfig};
use switchboard_mcp_wire::Era;
use switchboard_runtime::toolcall::ErrorKind;
use tokio::process::Command;

use crate::{
    http::Listening,
    parts::{Folder, part, pypi, stdio},
    test_servers::{TestServers, legacy, until},
};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real/python_server.py");

/// Which era each setting leads to.
fn eras() -> [(Protocol, Era); 3] {
    [(Protocol::Auto, Era::Modern), (Protocol::Modern, Era::Modern), (Protocol::Legacy, legacy())]
}

// MC-1, MC-7
#[tokio::test]
async fn time_converts_in_both_eras() {
    for (protocol, era) in eras() {
        let config = pypi("mcp-python", "mcp-server-time", &[]);
        let test = TestServers::of(ServerConfig { protocol, ..config }).await;
        assert_eq!(test.era("s"), era);
        let noon = json!({"source_timezone": "Asia/Tokyo", "time": "12:00", "target_timezone": "Asia/Kolkata"});
        let converted = test.call("s__convert_time", noon).await;
        assert!(converted.to_string().contains("T08:30:00+05:30"), "{converted}");
        assert_eq!(converted["structuredContent"]["time_difference"], "-3.5h", "{converted}");

        let nowhere = json!({"timezone": "Atlantis/Capital"});
        let raw = test.raw("get_current_time", nowhere.clone()).await;
        assert_eq!(raw["content"][0]["text"], test.refused("s__get_current_time", nowhere).await);
        test.close().await;
    }
}

/// What both transports do in each era.
async fn converses(test: &TestServers, traces: &Folder) {
    assert_eq!(
        test.call("s__echo", json!({"text": "hé"})).await["structuredContent"]["result"],
        "hé"
    );
    let sum = test.call("s__add", json!({"a": 2, "b": 40})).await;
    assert_eq!(sum["structuredContent"], json!({"sum": 42}));
    // RS-4
    let raw = test.raw("fail", json!({"text": "no more oil"})).await;
    let refusal = test.refused("s__fail", json!({"text": "no more oil"})).await;
    assert!(refusal.contains("no more oil"), "{refusal}");
    assert_eq!(raw["content"][0]["text"], refusal);
    // MC-1: progress in order and before the result.
    let events = test.watched("s__count", json!({"steps": 50})).await;
    let expected: Vec<_> =
        (1..=50).map(|step| format!("{step} of 50")).chain(["ok".into()]).collect();
    assert_eq!(events, expected);
    // MC-1: a cancelled call ends at the server too.
    let under_way = until("the call is under way", || traces.read("traces").ends_with("waiting\n"));
    let result = test.cancelled("s__wait", json!({}), under_way).await;
    assert_eq!(result.error_kind(), Some(ErrorKind::Cancelled));
    until("the server has heard of it", || traces.read("traces").ends_with("cancelled\n")).await;
    assert_eq!(test.call("s__add", json!({"a": 1, "b": 1})).await["structuredContent"]["sum"], 2);
}

// MC-1, MC-7
#[tokio::test]
async fn the_python_sdk_over_stdio() {
    for (protocol, era) in eras() {
        let traces = Folder::new();
        let mut config = stdio(part("mcp-python/venv/bin/python"), &[SCRIPT, "stdio"]);
        config.env.insert("TRACES".to_owned(), traces.file("traces"));
        let test = TestServers::of(ServerConfig { protocol, ..config }).await;
        assert_eq!(test.era("s"), era);
        converses(&test, &traces).await;
        test.close().await;
    }
}

// MC-1
#[tokio::test]
async fn the_python_sdk_over_http() {
    let traces = Folder::new();
    let server = Listening::start(|port| {
        let mut command = Command::new(part("mcp-python/venv/bin/python"));
        command.args([SCRIPT, &port.to_string()]).env("TRACES", traces.file("traces"));
        command
    })
    .await;
    for (protocol, era) in eras() {
        let test = TestServers::of(ServerConfig { protocol, ..server.config() }).await;
        assert_eq!(test.era("s"), era);
        converses(&test, &traces).await;
        test.close().await;
    }
}
