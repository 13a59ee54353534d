//! Argument names that an MCP server expects.

use serde_json::{Value, json};
use switchboard_runtime::{ServerSettings, ToolExecutor, toolcall::Normalize};
use switchboard_testkit::{Fake, Logs};
use tracing::Level;

/// What reaches a server's tool of this name and these declared parameters.
async fn sent(
    name: &str,
    declared: &[&str],
    mode: Normalize,
    map: &[(&str, &str)],
    args: Value,
) -> String {
    let properties: serde_json::Map<_, _> =
        declared.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
    let executor = ToolExecutor::default();
    executor.tools().add_server("s", ServerSettings::default()).unwrap();
    let tool = Fake::echoes(name)
        .parameters(json!({"type": "object", "properties": properties}))
        .normalize(mode, map)
        .of_server("s");
    executor.tools().set_server_tools("s", vec![tool.shared()]);
    executor.call(&format!("s__{name}"), args).await.text()
}

// AN-1, AN-2, AN-4
#[tokio::test]
async fn names_become_what_the_server_expects() {
    use Normalize::{Always, Auto, Never};
    let parameters: &[&str] = &["deviceName", "action", "level"];
    let given = json!({"device_name": "Switch One", "command": "on", "brightness": 1.0});
    let cases = [
        // The config's map, and values untouched.
        (
            "t",
            parameters,
            Auto,
            &[("command", "action"), ("brightness", "level")][..],
            given.clone(),
            r#"{"deviceName":"Switch One","action":"on","level":1.0}"#,
        ),
        (
            "t",
            parameters,
            Never,
            &[("command", "action")],
            given.clone(),
            r#"{"device_name":"Switch One","command":"on","brightness":1.0}"#,
        ),
        // A declared key stays, whatever maps it.
        (
            "t",
            &["device_name", "deviceName"],
            Auto,
            &[("device_name", "x")],
            json!({"device_name": 1}),
            r#"{"device_name":1}"#,
        ),
        // The config's map, then camelCase where that is declared.
        (
            "t",
            &["deviceName"],
            Auto,
            &[("unit", "u")],
            json!({"unit": 1, "device_name": 2, "other_key": 3}),
            r#"{"u":1,"deviceName":2,"other_key":3}"#,
        ),
        // Always: every key with an underscore that no map knows.
        (
            "t",
            &[],
            Always,
            &[("a_b", "z")],
            json!({"a_b": 1, "other_key": {"in_ner": 1}, "plain": 2}),
            r#"{"z":1,"otherKey":{"in_ner":1},"plain":2}"#,
        ),
        (
            "t",
            &[],
            Always,
            &[],
            json!({"_private_key_id": 1, "level_2": 2, "tail_": 3}),
            r#"{"_privateKeyId":1,"level2":2,"tail_":3}"#,
        ),
        // Both spellings: left as they are.
        (
            "t",
            &["deviceName"],
            Auto,
            &[],
            json!({"device_name": 1, "deviceName": 2}),
            r#"{"device_name":1,"deviceName":2}"#,
        ),
    ];
    for (name, declared, mode, map, args, expected) in cases {
        let label = args.to_string();
        assert_eq!(sent(name, declared, mode, map, args).await, expected, "{label}");
    }
}

// AN-1
#[tokio::test]
async fn local_tools_get_exactly_what_was_sent() {
    let executor = ToolExecutor::default();
    let schema = json!({"type": "object", "properties": {"deviceName": {}}});
    executor.tools().add(Fake::echoes("control_zwave_device").parameters(schema)).unwrap();
    let args = json!({"device_name": 1, "command": "on"});
    assert_eq!(executor.call("control_zwave_device", args.clone()).await.text(), args.to_string());
}

// AN-4, AN-5, EX-5
#[tokio::test]
async fn changes_are_logged_and_both_spellings_warned_about() {
    let logs = Logs::collect(Level::DEBUG);
    sent(
        "t",
        &["deviceName"],
        Normalize::Auto,
        &[],
        json!({"device_name": "Lamp", "api_key": "x"}),
    )
    .await;
    let lines = logs.lines().join("\n");
    let expected = r#"{"device_name":"Lamp","api_key":"[redacted]"} → {"deviceName":"Lamp","api_key":"[redacted]"}"#;
    assert!(lines.contains(expected), "{lines}");
    assert!(lines.lines().any(|line| line.starts_with("DEBUG") && line.contains('→')));
    sent("t", &["deviceName"], Normalize::Auto, &[], json!({"device_name": 1, "deviceName": 2}))
        .await;
    let warned = |line: &String| {
        line.starts_with("WARN") && line.contains("'device_name' and 'deviceName' are both given")
    };
    assert!(logs.lines().iter().any(warned));
}
