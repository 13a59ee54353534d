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

/// What a program that hosts MCP servers says, for a user whose home is the folder. Codex answers on stdout, Gemini CLI on
/// stderr.
fn host(home: &Path, name: &str, words: &[&str]) -> String {
    let mut command = program(part("mcp-hosts/node_modules/.bin").join(name), home);
    command.env_remove("XDG_CONFIG_HOME").env_remove("XDG_STATE_HOME").args(words);
    let output = command.env("HOME", home).output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    let said = if name == "gemini" { output.stderr } else { output.stdout };
    String::from_utf8_lossy(&said).into_owned()
}

// MC-8
#[test]
fn codex_and_gemini_cli_read_what_connect_writes() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    for name in ["codex", "gemini"] {
        let said = run(home, &["connect", name]);
        assert!(said.contains("+ "), "{said}");
    }
    let listed: Value =
        serde_json::from_str(&host(home, "codex", &["mcp", "list", "--json"])).unwrap();
    let transport = &listed[0]["transport"];
    assert_eq!((&listed[0]["name"], &listed[0]["enabled"]), (&json!("switchboard"), &json!(true)));
    assert_eq!(transport["command"], env!("CARGO_BIN_EXE_switchboard"), "{listed}");
    assert_eq!(
        (&transport["args"][0], &transport["args"][1]),
        (&json!("serve"), &json!("--stdio"))
    );
    // It starts us, and lists our tools. Folders that nobody trusts get no servers there.
    let trusted = json!({home.canonicalize().unwrap().to_str().unwrap(): "TRUST_FOLDER"});
    fs::write(home.join(".gemini/trustedFolders.json"), trusted.to_string()).unwrap();
    let listed = host(home, "gemini", &["mcp", "list"]);
    assert!(listed.contains("switchboard: ") && listed.contains("- Connected"), "{listed}");

    // And is gone again.
    for name in ["codex", "gemini"] {
        run(home, &["connect", name, "--remove"]);
    }
    assert_eq!(host(home, "codex", &["mcp", "list", "--json"]).trim(), "[]");
    let listed = host(home, "gemini", &["mcp", "list"]);
    assert!(!listed.contains("switchboard"), "{listed}");
}

// MC-8
#[test]
fn what_codex_and_gemini_cli_write_is_imported() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let time = part("mcp-python/venv/bin/mcp-server-time").display().to_string();
    for words in [
        &["codex", "mcp", "add", "clock", "--env", "API_TOKEN=s3cr3t-0123456789", "--", &time][..],
        &[
            "codex",
            "mcp",
            "add",
            "docs",
            "--url",
            "http://127.0.0.1:9/mcp",
            "--bearer-token-env-var",
            "DOCS_TOKEN",
        ],
        &[
            "gemini",
            "mcp",
            "add",
            "--scope",
            "user",
            "zones",
            &time,
            "--exclude-tools",
            "convert_time",
        ],
        &[
            "gemini",
            "mcp",
            "add",
            "--scope",
            "user",
            "--transport",
            "sse",
            "old",
            "http://127.0.0.1:9/sse",
        ],
        &[
            "gemini",
            "mcp",
            "add",
            "--scope",
            "user",
            "--transport",
            "http",
            "new",
            "http://127.0.0.1:9/mcp",
        ],
    ] {
        host(home, words[0], &words[1..]);
    }
    let report: Value = serde_json::from_str(&run(home, &["import", "--all", "--json"])).unwrap();
    assert_eq!(report["servers"].as_array().unwrap().len(), 5, "{report}");
    let config = fs::read_to_string(home.join("config/switchboard/switchboard.toml")).unwrap();
    for part in [
        "env = { API_TOKEN = \"${secret:API_TOKEN}\" }",
        "headers = { Authorization = \"Bearer ${DOCS_TOKEN}\" }",
        "deny = [\"zones__convert_time\"]",
        "type = \"sse\"\nurl = \"http://127.0.0.1:9/sse\"",
        "[servers.new]\nurl = \"http://127.0.0.1:9/mcp\"",
    ] {
        assert!(config.contains(part), "{part}: {config}");
    }
    assert!(!config.contains("s3cr3t"), "{config}");
    let said = run(home, &["call", "zones__get_current_time", "timezone=UTC"]);
    assert!(said.contains("\"timezone\": \"UTC\""), "{said}");
}
