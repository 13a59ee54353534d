//! The tools of real servers, which change nothing: none of them is reported.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Map, Value, json};
use switchboard_lock::{
    DefinitionKind::Tool, LockMode, LockStore, LockedServer, Locks, ServerGate,
};

use crate::{
    corpus::texts::{own_tools, real_tools},
    definition,
};

/// How often each server is restarted and connected to.
const ROUNDS: usize = 2;

/// The same value as another program may write it: keys in another order.
fn turned(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().rev().map(|(key, value)| (key.clone(), turned(value)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.iter().map(turned).collect()),
        other => other.clone(),
    }
}

/// A list as it comes in this round: in another order, with other keys and other metadata.
fn listed(tools: &[Value], round: usize) -> Vec<Value> {
    let mut listed = tools.to_vec();
    listed.rotate_left(round * 7 % tools.len());
    if round % 2 == 1 {
        listed.reverse();
        listed = listed.iter().map(turned).collect();
    }
    for tool in &mut listed {
        tool["_meta"] = json!({"example/round": round});
    }
    listed
}

// LK-1, LK-2
#[test]
fn of_a_thousand_real_tools_that_do_not_change_none_is_reported() {
    let mut servers: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for set in ["own", "other", "reference"] {
        for tool in real_tools(&own_tools(set)) {
            let tools = servers.entry(format!("{set} {}", tool.server)).or_default();
            tools.push(Value::Object(tool.definition.entry));
        }
    }
    let count: usize = servers.values().map(Vec::len).sum();
    assert!(count >= 1000 && servers.len() >= 38, "{count} of {}", servers.len());
    let folder = tempfile::tempdir().unwrap();
    let store = || LockStore::beside(&folder.path().join("switchboard.toml"));
    let lock = |server: &mut LockedServer, tools: &[Value], version: usize| {
        server.identity.version = Some(format!("1.{version}"));
        for tool in tools {
            server.put(definition(Tool, tool), None);
        }
    };
    for round in 0..ROUNDS {
        // It is locked; or there is a new version, which says the same.
        let update = |file: &mut switchboard_lock::LockFile| {
            for (name, tools) in &servers {
                lock(file.servers.entry(name.clone()).or_default(), &listed(tools, round), round);
            }
        };
        store().update(update).unwrap();
        // Switchboard starts again, and reads the file.
        let locks = Arc::new(Locks::new("ada".to_owned(), "__".to_owned()));
        locks.load(store(), Some(LockMode::Enforce)).unwrap();
        for (name, tools) in &servers {
            let gate = ServerGate::new(name.as_str().into(), None, locks.clone());
            for connection in 0..2 {
                let instance = gate.instance();
                let admitted = instance.admit(Tool, listed(tools, round + connection));
                assert_eq!(admitted.len(), tools.len(), "{name}: {:?}", gate.pending());
            }
            assert!(gate.pending().is_empty(), "{name}");
        }
    }
    // The same lists with one tool changed are not the same.
    let locks = Arc::new(Locks::new("ada".to_owned(), "__".to_owned()));
    locks.load(store(), Some(LockMode::Enforce)).unwrap();
    for (name, tools) in &servers {
        let gate = ServerGate::new(name.as_str().into(), None, locks.clone());
        let mut tools = listed(tools, 1);
        tools[0]["description"] = json!("Something else.");
        assert_eq!(gate.instance().admit(Tool, tools.clone()).len(), tools.len() - 1, "{name}");
    }
}
