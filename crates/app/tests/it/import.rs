//! `import`: other programs' servers are written into the config, and nothing else of it changes (MC-8).

use std::fs;

use serde_json::{Value, json};

use crate::{fixture::misbehaving, test_folder::TestFolder};

fn config(place: &TestFolder) -> String {
    fs::read_to_string(place.path().join("switchboard.toml")).unwrap()
}

/// What was done, as `action name`, and the notes.
fn import(place: &TestFolder, words: &[&str]) -> (Vec<String>, Vec<String>) {
    let ran = place.run(&[&["import", "--json"], words].concat());
    assert_eq!(ran.status, 0, "{ran:?}");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let report = ran.json();
    let servers = report["servers"].as_array().unwrap();
    let done = servers.iter().map(|s| format!("{} {}", text(&s["action"]), text(&s["name"])));
    let notes = servers.iter().flat_map(|server| server["notes"].as_array().unwrap()).map(text);
    (done.collect(), notes.collect())
}

const COMMENTED: &str = "\
# My config.
[executor]   # limits
timeout = \"5s\"

# The clock.
[servers.time]
command = \"uvx\" # from PyPI
args = [ \"mcp-server-time\" ]

[policy]
deny = []
";

#[test]
fn comments_stay_and_duplicates_are_left() {
    let claude = json!({"mcpServers": {
        "time": {"command": "npx", "args": ["other"]},
        "same": {"command": "x"},
        "git": {"type": "stdio", "command": "uvx", "args": ["mcp-server-git"], "env": {"GITHUB_TOKEN": "ghp_x", "A": "1", "B": "2"}},
        "none": {"note": "nothing"},
    }});
    let place = TestFolder::with_config(COMMENTED).file("claude.json", claude.to_string());
    let (done, notes) = import(&place, &["claude.json"]);
    assert_eq!(done, ["left time", "added same", "added git", "skipped none"]);
    assert!(notes.is_empty(), "{notes:?}");
    let added = "
[servers.same]
command = \"x\"

[servers.git]
command = \"uvx\"
args = [\"mcp-server-git\"]

[servers.git.env]
GITHUB_TOKEN = \"${secret:GITHUB_TOKEN}\"
A = \"1\"
B = \"2\"
";
    let expected = COMMENTED.replace("[policy]", &format!("{}\n[policy]", added.trim_start()));
    let written = config(&place);
    assert!(written == expected || written == format!("{COMMENTED}{added}"), "{written}");
    // Once more, nothing is left to do, and the file is not even touched.
    let (done, _) = import(&place, &["claude.json"]);
    assert_eq!(done, ["left time", "left same", "left git", "skipped none"]);
    assert_eq!(config(&place), written);
    let files: Vec<_> =
        fs::read_dir(place.path()).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert_eq!(files.len(), 4, "no draft is left: {files:?}");
    let backup = fs::read_to_string(place.path().join("switchboard.toml.bak")).unwrap();
    assert_eq!(backup, COMMENTED);
}

#[test]
fn people_read_what_was_done() {
    let claude = json!({"mcpServers": {"time": {"command": "y"}, "a__b": {"url": "http://x/mcp"}, "none": {}}});
    let place = TestFolder::with_config(COMMENTED).file("c.json", claude.to_string());
    let ran = place.run(&["import", "c.json"]);
    let backup = "the old config is switchboard.toml.bak\n";
    assert_eq!((ran.status, ran.stderr.as_str()), (0, backup), "{ran:?}");
    let expected = "\
left      time: it is there already, and differs; remove one of them to import it
added     a_b
          called `a__b` there; tool names need a plainer one
skipped   none: it has neither `command` (stdio) nor `url` (HTTP)
1 of 3 servers of c.json written to switchboard.toml
";
    assert_eq!(ran.stdout, expected);
}

#[test]
fn what_is_imported_works() {
    let cursor = json!({"mcpServers": {"c": {"command": misbehaving(), "args": ["env"],
        "env": {"WHERE": "${workspaceFolder}", "HOST": "${env:OUTSIDE}", "ODD": "${no such}"}}}});
    let place = TestFolder::new()
        .file(".cursor/mcp.json", cursor.to_string())
        .variable("OUTSIDE", "out there");
    assert_eq!(import(&place, &["cursor"]).0, ["added c"]);
    let written = config(&place);
    assert!(written.contains("HOST = \"${OUTSIDE}\""), "{written}");
    let shown = place.call(&["c__environment"]).to_string();
    let folder = place.path().canonicalize().unwrap();
    assert!(shown.contains(&folder.display().to_string()), "{shown}");
    assert!(shown.contains("out there") && shown.contains("${no such}"), "{shown}");
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(place.path().join("switchboard.toml")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn inputs_become_variables() {
    let vs_code = "{ // VS Code's\n \"inputs\": [{\"id\": \"api-key\", \"type\": \"promptString\"}],\n\
                   \"servers\": {\"s\": {\"type\": \"http\", \"url\": \"http://x/mcp\",\
                   \"headers\": {\"Authorization\": \"Bearer ${input:api-key}\"}},}}";
    let place = TestFolder::new().file(".vscode/mcp.json", vs_code);
    let (done, notes) = import(&place, &["vscode"]);
    assert_eq!(done, ["added s"]);
    assert_eq!(notes, ["set the environment variable `API_KEY`: it was asked for there"]);
    let expected = "[servers.s]\nurl = \"http://x/mcp\"\nheaders = { Authorization = \"Bearer ${API_KEY}\" }\n";
    assert_eq!(config(&place), expected);
    assert_eq!(place.call(&["echo"])["success"], true);
    let says = "Server 's' is skipped: the environment variable API_KEY is not set";
    assert_eq!(place.error(&["s__search"]), says);
}

#[test]
fn the_default_of_an_input_is_kept() {
    let vs_code = json!({
        "inputs": [
            {"id": "mode", "type": "pickString", "options": ["fast", "slow"], "default": "fast"},
            {"id": "odd", "type": "promptString", "default": "a}b"},
        ],
        "servers": {"s": {"command": misbehaving(), "args": ["env"],
                          "env": {"MODE": "${input:mode}", "ODD": "${input:odd}"}}},
    });
    let place = TestFolder::new().file(".vscode/mcp.json", vs_code.to_string());
    let (_, notes) = import(&place, &["vscode"]);
    assert_eq!(notes, ["set the environment variable `ODD`: it was asked for there"]);
    assert!(config(&place).contains("MODE = \"${MODE:-fast}\""), "{}", config(&place));
    let place = place.variable("ODD", "x");
    assert!(place.call(&["s__environment"]).to_string().contains("fast"));
    let place = place.variable("MODE", "slow");
    assert!(place.call(&["s__environment"]).to_string().contains("slow"));
}

#[test]
fn the_usual_places_are_known() {
    let one = |name: &str| json!({"mcpServers": {name: {"command": name}}}).to_string();
    let place = TestFolder::new()
        .file("home/.config/Claude/claude_desktop_config.json", one("linux"))
        .file(
            "home/Library/Application Support/Code/User/mcp.json",
            "{\"servers\":{\"mac\":{\"command\":\"x\"}}}",
        )
        .file("home/.cursor/mcp.json", one("mine"));
    let home = place.path().join("home").display().to_string();
    let place = place.variable("HOME", &home);
    assert_eq!(import(&place, &["claude", "--config", "a.toml"]).0, ["added linux"]);
    assert_eq!(import(&place, &["cursor", "--config", "a.toml"]).0, ["added mine"]);
    assert_eq!(import(&place, &["vscode", "--config", "a.toml"]).0, ["added mac"]);
    assert!(!place.path().join("switchboard.toml").exists());
    let says = TestFolder::new().refusal(&["import", "claude"]);
    assert!(says.contains("no config of Claude Desktop found"), "{says}");
}

#[test]
fn wrong_sources_and_targets_are_refused() {
    let place = TestFolder::new()
        .file("ours.json", r#"{"executor":{}}"#)
        .file("broken.json", "{\n\"mcpServers\": {,}}")
        .file("broken.toml", "a = 1\nb = \n")
        .file("flat.toml", "servers = 5\n")
        .file("ok.json", r#"{"mcpServers":{"a":{"command":"x"}}}"#);
    for (words, says) in [
        (&["gone.json"][..], "there is no file `gone.json`; write claude, claude-code, cursor"),
        (&["ours.json"], "ours.json: there is neither `mcpServers`, VS Code's `servers`"),
        (&["broken.json"], "broken.json:2:"),
        (&["ok.json", "--config", "broken.toml"], "broken.toml:2:"),
        (&["ok.json", "--config", "flat.toml"], "flat.toml: `servers` is not a table"),
        (&["ok.json", "--config", "x.json"], "only configs in TOML are written"),
        (&["ok.json", "--config", "no/folder/x.toml"], "failed to write config"),
    ] {
        let refusal = place.refusal(&[&["import"], words].concat());
        assert!(refusal.contains(says), "{refusal}");
    }
    let text = fs::read_to_string(place.path().join("flat.toml")).unwrap();
    assert_eq!(text, "servers = 5\n");
}

#[test]
fn inline_servers_stay_inline() {
    let place = TestFolder::with_config("servers = { a = { command = \"x\" } } # mine\n")
        .file("c.json", r#"{"mcpServers":{"b":{"command":"y","args":["1"]}}}"#);
    assert_eq!(import(&place, &["c.json"]).0, ["added b"]);
    let expected =
        "servers = { a = { command = \"x\" } , b = { command = \"y\", args = [\"1\"] } } # mine\n";
    assert_eq!(config(&place).replace(" ,", ","), expected.replace(" ,", ","));
}
