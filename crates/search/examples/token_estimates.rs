//! Prints the definitions of the recorded tools, each with its estimated tokens, as lines of JSON; `recall/tokens.mjs` compares
//! them with those of OpenAI's tokenizer.

use std::{fs, path::Path};

use serde_json::{Value, json};
use switchboard_search::estimate_tokens;

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("recall");
    for set in ["own", "other"] {
        let file = folder.join(set).join("tools.jsonl");
        let text = fs::read_to_string(&file).expect("the tools of the set");
        for line in text.lines() {
            let tool: Value = serde_json::from_str(line).expect("a tool as JSON");
            let text = |key: &str| tool[key].as_str().unwrap_or_default();
            let (server, name) = (text("server"), format!("{}__{}", text("server"), text("name")));
            // As models get it.
            let definition = json!({
                "name": name, "description": text("description"), "parameters": tool["parameters"],
            });
            let definition = definition.to_string();
            let estimate = estimate_tokens(&definition);
            println!(
                "{}",
                json!({"server": server, "definition": definition, "estimate": estimate})
            );
        }
    }
}
