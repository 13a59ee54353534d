//! The tools of real servers, as `crates/search/recall` has their definitions.

use std::{collections::BTreeMap, fs, path::Path, sync::Arc};

use serde_json::Value;
use switchboard_toolcall::Tool;

use crate::Fake;

/// How many there are.
pub const RECORDED_TOOLS: usize = 1101;

/// Returns the tools by server. Each answers with its arguments.
///
/// # Panics
/// The files are not there, or not what they were.
pub fn recorded_tools() -> BTreeMap<String, Vec<Arc<dyn Tool>>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../search/recall");
    let mut servers = BTreeMap::<String, Vec<Arc<dyn Tool>>>::new();
    for set in ["own", "other"] {
        let file = folder.join(set).join("tools.jsonl");
        let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        for line in text.lines() {
            let tool: Value = serde_json::from_str(line).expect("a tool as JSON");
            let text = |key: &str| tool[key].as_str().unwrap_or_default().to_owned();
            let fake = Fake::echoes(&text("name")).of_server(&text("server"));
            let fake = fake.parameters(tool["parameters"].clone());
            let fake = fake.with(|spec| spec.description = text("description"));
            servers.entry(text("server")).or_default().push(fake.shared());
        }
    }
    assert_eq!(servers.values().map(Vec::len).sum::<usize>(), RECORDED_TOOLS);
    servers
}
