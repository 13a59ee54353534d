//! Names: the same tool at two servers, and arguments spelt another way than the server does.

use serde_json::{Map, json};
use switchboard_mcp_client::{RemoteTool, ServerConfig};
use switchboard_runtime::toolcall::{CallContext, ErrorKind, Normalize, Tool};

use crate::{
    parts::{Folder, example, npm, stdio},
    test_servers::TestServers,
};

// MC-1
#[tokio::test]
async fn two_servers_with_the_same_tools_get_their_own_calls() {
    let folders = [Folder::new(), Folder::new()];
    let server = |folder: &Folder| npm("mcp-server-filesystem", &[folder.text()]);
    let [left, right] = &folders;
    let test = TestServers::with([("left", server(left)), ("right", server(right))]).await;
    for (name, folder) in [("left", left), ("right", right)] {
        assert!(test.tools().contains(&format!("{name}__write_file")), "{:?}", test.tools());
        let args = json!({"path": folder.file("whose.txt"), "content": name});
        test.call(&format!("{name}__write_file"), args).await;
    }
    assert_eq!([left.read("whose.txt"), right.read("whose.txt")], ["left", "right"]);
    // Each knows only its own folder.
    let args = json!({"path": right.file("whose.txt")});
    let refusal = test.refused("left__read_text_file", args).await;
    assert!(refusal.starts_with("Access denied"), "{refusal}");
    test.close().await;
}

/// A server that wants `messageType`, with validation left to it.
fn camel_case(normalize: Normalize) -> ServerConfig {
    let config = npm("mcp-server-everything", &["stdio"]);
    ServerConfig { normalize, validate: Some(false), ..config }
}

// AN-2, AN-5
#[tokio::test]
async fn snake_case_reaches_a_camel_case_server_only_through_the_executor() {
    let args = json!({"message_type": "success"});

    let test = TestServers::of(camel_case(Normalize::Auto)).await;
    let answer = test.call("s__get-annotated-message", args.clone()).await;
    assert_eq!(answer["content"][0]["text"], "Operation completed successfully");

    // The client layer by itself sends what it is given, and the server refuses it.
    let entry = json!({"name": "get-annotated-message", "inputSchema": {"type": "object"}});
    let tool = RemoteTool::new(entry, &test.servers.get("s").unwrap(), "__").unwrap();
    let error = tool.call(args.clone(), &CallContext::default()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::ToolError);
    let refusal = error.for_model;
    assert!(refusal.contains("messageType"), "{refusal}");
    test.close().await;

    // With `never` its refusal is what the caller reads.
    let test = TestServers::of(camel_case(Normalize::Never)).await;
    assert_eq!(test.refused("s__get-annotated-message", args).await, refusal);
    test.close().await;
}

// AN-2, AN-5
#[tokio::test]
async fn a_strict_server_gets_the_names_that_it_declares() {
    let server = example("misbehaving_server").to_str().unwrap().to_owned();
    let config = |normalize| {
        let config = stdio(server.clone(), &["refuses-snake-case"]);
        ServerConfig { normalize, validate: Some(false), ..config }
    };
    let args = json!({"device_name": "lamp"});
    let test = TestServers::of(config(Normalize::Auto)).await;
    assert_eq!(test.call("s__set_level", args.clone()).await, "set \"lamp\"");
    test.close().await;
    let test = TestServers::of(config(Normalize::Never)).await;
    assert_eq!(test.refused("s__set_level", args).await, "deviceName is missing");
    assert_eq!(
        test.executor.call("s__set_level", json!(Map::new())).await.text(),
        "deviceName is missing"
    );
    test.close().await;
}
