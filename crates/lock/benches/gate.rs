//! What the gate costs on a list of 1,000 tools, and on a call.

use std::sync::Arc;

use divan::{Bencher, black_box};
use serde_json::{Value, json};
use switchboard_lock::{
    DefinitionKind, LockMode, LockStore, LockableDefinition, LockedServer, Locks, ServerGate,
};

fn main() {
    divan::main();
}

fn tool(number: usize) -> Value {
    let parameter = |name: &str| json!({"type": "string", "description": format!("The {name} of the thing, as the user gave it.")});
    json!({
        "name": format!("tool_{number}"),
        "title": format!("Tool {number}"),
        "description": "Reads what is there and returns it as text. Works on one thing at a time. ".repeat(4),
        "inputSchema": {
            "type": "object",
            "properties": {"path": parameter("path"), "query": parameter("query"), "limit": {"type": "integer", "minimum": 1}},
            "required": ["query", "path"],
            "additionalProperties": false,
        },
        "annotations": {"readOnlyHint": true},
    })
}

fn gate(folder: &tempfile::TempDir) -> (Arc<ServerGate>, Vec<Value>) {
    let tools: Vec<_> = (0..1000).map(tool).collect();
    let store = LockStore::beside(&folder.path().join("switchboard.toml"));
    store
        .update(|file| {
            let mut server = LockedServer::default();
            for tool in &tools {
                let definition =
                    LockableDefinition::new(DefinitionKind::Tool, tool).expect("it has a name");
                server.put(definition, None);
            }
            file.servers.insert("many".to_owned(), server);
        })
        .expect("the folder can be written to");
    let locks = Arc::new(Locks::default());
    locks.load(store, Some(LockMode::Enforce)).expect("it was just written");
    (ServerGate::new("many".into(), None, locks), tools)
}

#[divan::bench]
fn a_list_of_1000_tools_that_are_in_the_lock(bencher: Bencher<'_, '_>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (gate, tools) = gate(&folder);
    let instance = gate.instance();
    bencher.with_inputs(|| tools.clone()).bench_local_values(|tools| {
        let admitted = instance.admit(DefinitionKind::Tool, tools);
        assert_eq!(black_box(&admitted).len(), 1000);
        admitted
    });
}

#[divan::bench]
fn whether_a_prompt_may_be_got(bencher: Bencher<'_, '_>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (gate, _) = gate(&folder);
    bencher.bench_local(|| gate.allows(black_box(DefinitionKind::Tool), black_box("tool_500")));
}

#[divan::bench]
fn whether_a_call_is_held_back_where_nothing_waits(bencher: Bencher<'_, '_>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (gate, tools) = gate(&folder);
    let instance = gate.instance();
    assert_eq!(instance.admit(DefinitionKind::Tool, tools).len(), 1000);
    bencher.bench_local(|| instance.held_back(black_box("tool_500")));
}

#[divan::bench]
fn whether_a_call_is_held_back_where_a_tool_waits(bencher: Bencher<'_, '_>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (gate, mut tools) = gate(&folder);
    let instance = gate.instance();
    tools.push(tool(1000));
    assert_eq!(instance.admit(DefinitionKind::Tool, tools).len(), 1000);
    bencher.bench_local(|| instance.held_back(black_box("tool_500")));
}

#[divan::bench]
fn whether_a_call_is_held_back_where_1000_tools_wait(bencher: Bencher<'_, '_>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (gate, _) = gate(&folder);
    let instance = gate.instance();
    assert!(instance.admit(DefinitionKind::Tool, (1000..2000).map(tool).collect()).is_empty());
    bencher.bench_local(|| instance.held_back(black_box("tool_1999")));
}
