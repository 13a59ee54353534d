//! Configs of Claude Desktop, Cursor and VS Code, used as they are (MC-8).

use serde_json::{Value, json};

use crate::{fixture::misbehaving, test_folder::TestFolder};

/// The names of the tools that servers of the config have.
fn tools(place: &TestFolder, config: &str) -> Vec<String> {
    let ran = place.run(&["tools", "--json", "--config", config]);
    let Value::Array(tools) = ran.json() else { panic!("{ran:?}") };
    let of_servers = tools.iter().filter(|tool| tool["server"].is_string());
    of_servers.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn claude_desktops() {
    let config = json!({
        "globalShortcut": "Ctrl+Space",
        "mcpServers": {
            "plain": {"command": misbehaving(), "args": ["env"], "env": {"KEY": "${CLAUDE_KEY}"}},
            "My Files": {"command": misbehaving(), "alwaysAllow": ["echo"], "timeout": 5},
            "off": {"command": "/no/such/thing", "env": {"X": "${UNSET}"}, "disabled": true},
        }
    });
    let place = TestFolder::new()
        .file("claude_desktop_config.json", config.to_string())
        .variable("CLAUDE_KEY", "from outside");
    let file = "claude_desktop_config.json";
    let expected =
        ["plain__echo", "plain__add", "plain__environment", "My_Files__echo", "My_Files__add"];
    assert_eq!(tools(&place, file), expected);
    let environment = place.call(&["plain__environment", "--config", file]);
    assert!(environment.to_string().contains("from outside"), "{environment}");
}

#[test]
fn cursors() {
    let config = format!(
        "{{\"mcpServers\": {{ // commented\n \"c\": {{\"type\": \"stdio\", \"command\": \"${{workspaceFolder}}/run.sh\",\n\
         \"env\": {{\"P\": \"{}\"}},}},\n \"h\": {{\"url\": \"http://127.0.0.1:9/mcp\", \"disabled\": true}} }} }}",
        misbehaving()
    );
    let place =
        TestFolder::new().file(".cursor/mcp.json", config).file("run.sh", "#!/bin/sh\nexec $P\n");
    let script = place.path().join("run.sh");
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(script, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(tools(&place, ".cursor/mcp.json"), ["c__echo", "c__add"]);
}

#[test]
fn vs_codes() {
    let config = json!({
        "inputs": [{"type": "promptString", "id": "api-key", "description": "Key", "password": true}],
        "servers": {
            "v": {"type": "stdio", "command": misbehaving(), "args": ["env"], "envFile": "${workspaceFolder}/.env",
                  "env": {"B": "${env:OUTSIDE}"}, "dev": {"watch": "src/**"}},
        }
    });
    let place = TestFolder::new()
        .file(".vscode/mcp.json", config.to_string())
        .file(".env", "# secrets\nA=\"from the file\"\nB=not this\n")
        .variable("OUTSIDE", "from outside");
    let shown = place.call(&["v__environment", "--config", ".vscode/mcp.json"]).to_string();
    assert!(shown.contains("from the file") && shown.contains("from outside"), "{shown}");
    assert!(!shown.contains("not this"), "{shown}");
}

#[test]
fn an_input_is_asked_for_only_where_it_is_needed() {
    let config = json!({
        "inputs": [],
        "servers": {
            "asks": {"command": misbehaving(), "args": ["${input:api-key}"]},
            "plain": {"command": misbehaving()},
        }
    });
    let place = TestFolder::new().file("mcp.json", config.to_string());
    let config = ["--config", "mcp.json"];
    assert_eq!(place.call(&[&["echo"], &config[..]].concat())["success"], true);
    assert_eq!(place.call(&[&["plain__echo", "text=x"], &config[..]].concat())["success"], true);
    assert_eq!(tools(&place, "mcp.json"), ["plain__echo", "plain__add"]);
    let says = "Server 'asks' is skipped: `${input:api-key}` has to be asked for, and there is no terminal to ask on";
    let refused = place.call(&[&["asks__echo"], &config[..]].concat());
    assert_eq!(refused["error_kind"], "unavailable", "{refused}");
    assert!(refused["error"].as_str().unwrap().starts_with(says), "{refused}");
    let bare = place.run(&[&["call", "add", "a=1", "b=2"], &config[..]].concat());
    assert!(bare.status == 0 && bare.stderr.contains(says), "{bare:?}");
    let ran = place.run(&["doctor", "--json", "--config", "mcp.json"]);
    assert!(ran.status == 1 && ran.stdout.contains("${input:api-key}"), "{ran:?}");
}

#[test]
fn what_is_unset_skips_its_server_alone() {
    let config = json!({"mcpServers": {
        "fine": {"command": misbehaving()},
        "notion": {"command": misbehaving(), "env": {"T": "${env:NOTION_TOKEN}"}},
        "claude": {"command": misbehaving(), "args": ["${CLAUDE_TOKEN}"]},
    }});
    let place = TestFolder::new().file("mcp.json", config.to_string());
    assert_eq!(tools(&place, "mcp.json"), ["fine__echo", "fine__add"]);
    for (server, variable) in [("notion", "NOTION_TOKEN"), ("claude", "CLAUDE_TOKEN")] {
        let says =
            format!("Server '{server}' is skipped: the environment variable {variable} is not set");
        assert_eq!(place.error(&[&format!("{server}__echo"), "--config", "mcp.json"]), says);
    }
    let place = place.variable("NOTION_TOKEN", "x");
    assert_eq!(
        tools(&place, "mcp.json"),
        ["fine__echo", "fine__add", "notion__echo", "notion__add"]
    );
}
