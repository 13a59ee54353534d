//! Real servers that `add` tries and writes, and clients' configs that `connect` writes, read back by a client's library.

use std::{fs, path::Path, process::Command};

use serde_json::{Value, json};

use crate::serving::{part, program, switchboard};

/// Runs a command as a user whose home is the folder, and returns what it printed.
fn output_of(mut command: Command, home: &Path) -> String {
    let output = command.env("HOME", home).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{said}\n{errors}");
    said
}

fn run(home: &Path, words: &[&str]) -> String {
    output_of(switchboard(home, words), home)
}

/// What FastMCP reads in a config, and what the server that it names answers.
fn read_back(home: &Path, config: &str) -> Value {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real/fastmcp_config.py");
    let mut command = program(part("mcp-fastmcp/venv/bin/python"), home);
    command.arg(script).arg(home.join(config));
    serde_json::from_str(output_of(command, home).lines().last().unwrap()).unwrap()
}

#[test]
fn what_is_added_and_connected_is_used_by_a_client() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let time = part("mcp-python/venv/bin/mcp-server-time").display().to_string();
    let said = run(home, &["add", "time", "--", &time, "--local-timezone", "UTC"]);
    assert!(said.contains("2 tools"), "{said}");
    let node = part("mcp-node/node_modules/.bin/node").display().to_string();
    let files = part("mcp-node/node_modules/.bin/mcp-server-filesystem").display().to_string();
    let notes = home.display().to_string();
    let added = run(home, &["add", "files", "--json", "--", &node, &files, &notes]);
    let added: Value = serde_json::from_str(&added).unwrap();
    assert!(added["tools"].to_string().contains("files__read_text_file"), "{added}");
    for (name, file) in [
        ("claude", "config/Claude/claude_desktop_config.json"),
        ("claude-code", ".claude.json"),
        ("cursor", ".cursor/mcp.json"),
        ("windsurf", ".codeium/windsurf/mcp_config.json"),
    ] {
        run(home, &["connect", name]);
        let seen = read_back(home, file);
        assert_eq!(seen["servers"], json!(["switchboard"]), "{name}");
        assert!(seen["tools"].to_string().contains("math_eval"), "{name}: {seen}");
        assert!(seen["text"].as_str().unwrap().contains("+9.0h"), "{name}: {seen}");
    }
    // A server that is switched off there is known, and not started.
    run(home, &["disable", "files"]);
    let config = fs::read_to_string(home.join("config/switchboard/switchboard.toml")).unwrap();
    assert!(config.contains("enabled = false"), "{config}");
    let listed = run(home, &["tools", "--json"]);
    assert!(listed.contains("time__") && !listed.contains("files__"), "{listed}");
}
