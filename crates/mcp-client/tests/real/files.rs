//! npm's `server-filesystem` and `server-memory`: what is written there is there.

use serde_json::{Value, json};

use crate::{
    house::{House, legacy},
    parts::{Folder, npm},
};

// MC-1, MC-7
#[tokio::test]
async fn filesystem_reads_and_writes_files() {
    let folder = Folder::new();
    let house = House::of(npm("mcp-server-filesystem", &[folder.text()])).await;
    assert_eq!(house.era("s"), legacy());

    let path = folder.write("note.txt", "first line\nsecond line\n");
    let read = house.call("s__read_text_file", json!({"path": path, "head": 1})).await;
    assert_eq!(read["content"][0]["text"], "first line");
    assert_eq!(read["structuredContent"]["content"], "first line");

    let path = folder.file("written.txt");
    house.call("s__write_file", json!({"path": path, "content": "from Switchboard"})).await;
    assert_eq!(folder.read("written.txt"), "from Switchboard");

    // RS-4
    let outside = json!({"path": "/etc/passwd"});
    let raw = house.raw("read_text_file", outside.clone()).await;
    let refusal = house.refused("s__read_text_file", outside).await;
    assert!(refusal.starts_with("Access denied"), "{refusal}");
    assert_eq!(Value::String(refusal), raw["content"][0]["text"]);
    house.close().await;
}

// MC-1, MC-7
#[tokio::test]
async fn memory_remembers_across_processes() {
    let folder = Folder::new();
    let mut config = npm("mcp-server-memory", &[]);
    config.env.insert("MEMORY_FILE_PATH".to_owned(), folder.file("memory.jsonl"));
    let ada = json!({"name": "Ada", "entityType": "person", "observations": ["writes programs"]});

    let house = House::of(config.clone()).await;
    assert_eq!(house.era("s"), legacy());
    house.call("s__create_entities", json!({"entities": [ada]})).await;
    house.close().await;
    assert!(folder.read("memory.jsonl").contains("writes programs"));

    let house = House::of(config).await;
    let graph = house.call("s__open_nodes", json!({"names": ["Ada"]})).await;
    assert_eq!(graph["structuredContent"]["entities"], json!([ada]));
    house.close().await;
}
