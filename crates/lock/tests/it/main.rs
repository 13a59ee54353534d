//! Tests of the lock.
#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

mod canonical;
mod changes;
mod corpus;
mod file;
mod gate;
mod identity;
mod mutations;
mod real_tools;
mod screen;

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_lock::{
    DefinitionKind, LockMode, LockStore, LockableDefinition, Locks, ServerGate,
};
use tempfile::TempDir;

/// A lock file that has one server, and the gate of that server.
struct TestLock {
    folder: TempDir,
    locks: Arc<Locks>,
    gate: Arc<ServerGate>,
}

impl TestLock {
    /// Locks these entries of the server `books`, and applies the lock.
    fn with(entries: &[(DefinitionKind, Value)], mode: LockMode) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = Self {
            locks: Arc::new(Locks::new("ada".to_owned(), "__".to_owned())),
            gate: ServerGate::new("books".into(), None, Arc::default()),
            folder,
        };
        let store = place.store();
        store
            .update(|file| {
                let server = file.servers.entry("books".to_owned()).or_default();
                for (kind, entry) in entries {
                    server.put(definition(*kind, entry), None);
                }
            })
            .unwrap();
        place.locks.load(store, Some(mode)).unwrap();
        Self { gate: ServerGate::new("books".into(), None, place.locks.clone()), ..place }
    }

    fn store(&self) -> LockStore {
        LockStore::beside(&self.folder.path().join("switchboard.toml"))
    }

    /// What waits, as `name change`.
    fn waiting(&self) -> Vec<String> {
        let pending = self.gate.pending();
        let text = |one: &switchboard_lock::PendingDefinition| {
            format!("{} {}", one.definition.name, one.change.change.name())
        };
        pending.iter().map(text).collect()
    }
}

fn definition(kind: DefinitionKind, entry: &Value) -> LockableDefinition {
    LockableDefinition::new(kind, entry).unwrap()
}

/// A tool with everything that MCP gives it.
fn tool() -> Value {
    json!({
        "name": "read_file",
        "title": "Read file",
        "description": "Reads a file of the project and returns its text. Works on one file at a time.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Path below the project's folder", "pattern": "^[a-z/]+$", "maxLength": 200},
                "encoding": {"type": "string", "enum": ["utf-8", "latin-1"], "default": "utf-8", "examples": ["utf-8"]},
                "limit": {"type": ["integer", "null"], "minimum": 1, "maximum": 1000},
                "range": {"type": "object", "properties": {"from": {"type": "integer"}, "to": {"type": "integer"}}, "additionalProperties": false},
            },
            "required": ["path", "encoding"],
            "additionalProperties": false,
        },
        "outputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string", "description": "The text"}, "lines": {"type": "integer"}},
            "required": ["text"],
        },
        "annotations": {"title": "Read", "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false},
        "icons": [{"src": "https://example.com/a.png"}, {"src": "https://example.com/b.png"}],
        "execution": {"taskSupport": "forbidden"},
    })
}

fn prompt() -> Value {
    json!({
        "name": "review",
        "title": "Review",
        "description": "Reviews code line by line.",
        "arguments": [{"name": "lines", "description": "Which lines", "required": true}, {"name": "tone", "description": "How strict"}],
    })
}

fn template() -> Value {
    json!({
        "uriTemplate": "page://{n}", "name": "page", "title": "Page", "description": "A page of the book", "mimeType": "text/plain",
        "annotations": {"audience": ["user"], "priority": 0.5},
    })
}

fn instructions() -> Value {
    Value::Object(LockableDefinition::instructions("Read the book before you quote it.").entry)
}

/// One of each kind.
fn one_of_each() -> [(DefinitionKind, Value); 4] {
    [
        (DefinitionKind::Tool, tool()),
        (DefinitionKind::Prompt, prompt()),
        (DefinitionKind::ResourceTemplate, template()),
        (DefinitionKind::Instructions, instructions()),
    ]
}
