//! npm's `server-filesystem` and `server-memory`: what is written there is there.

use serde_json::{Value, json};

use crate::{
    parts::{Folder, npm},
    test_servers::{TestServers, legacy},
};

// MC-1, MC-7
#[tokio::test]
async fn filesystem_reads_and_writes_files() {
    let folder = Folder::new();
    let test = TestServers::of(npm("mcp-server-filesystem", &[folder.text()])).await;
    assert_eq!(test.era("s"), legacy());

    let path = folder.write("note.txt", "first line\nsecond line\n");
    let read = test.call("s__read_text_file", json!({"path": path, "head": 1})).await;
    assert_eq!(read["content"][0]["text"], "first line");
    assert_eq!(read["structuredContent"]["content"], "first line");

    let path = folder.file("written.txt");
    test.call("s__write_file", json!({"path": path, "content": "from Switchboard"})).await;
    assert_eq!(folder.read("written.txt"), "from Switchboard");

    // RS-4
    let outside = json!({"path": "/etc/passwd"});
    let raw = test.raw("read_text_file", outside.clone()).await;
    let refusal = test.refused("s__read_text_file", outside).await;
    assert!(refusal.starts_with("Access denied"), "{refusal}");
    assert_eq!(Value::String(refusal), raw["content"][0]["text"]);
    test.close().await;
}

// MC-1, MC-7
#[tokio::test]
async fn memory_remembers_across_processes() {
    let folder = Folder::new();
    let mut config = npm("mcp-server-memory", &[]);
    config.env.insert("MEMORY_FILE_PATH".to_owned(), folder.file("memory.jsonl"));
    let ada = json!({"name": "Ada", "entityType": "person", "observations": ["writes programs"]});

    let test = TestServers::of(config.clone()).await;
    assert_eq!(test.era("s"), legacy());
    test.call("s__create_entities", json!({"entities": [ada]})).await;
    test.close().await;
    assert!(folder.read("memory.jsonl").contains("writes programs"));

    let test = TestServers::of(config).await;
    let graph = test.call("s__open_nodes", json!({"names": ["Ada"]})).await;
    assert_eq!(graph["structuredContent"]["entities"], json!([ada]));
    test.close().await;
}
