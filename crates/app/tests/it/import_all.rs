//! `import` of every program's config, and of all at once (MC-8).

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::{Value, json};

use crate::{fixture::misbehaving, test_folder::TestFolder};

const OWN: &str = "config/switchboard/switchboard.toml";

/// A place with a home folder, whose own config is in `config/switchboard`.
fn home() -> TestFolder {
    let place = TestFolder::new().finding();
    let folder = place.path().display().to_string();
    place.variable("HOME", &folder).variable("XDG_CONFIG_HOME", &format!("{folder}/config"))
}

fn read(place: &TestFolder, file: &str) -> String {
    fs::read_to_string(place.path().join(file)).unwrap_or_default()
}

/// The config that an import of this file writes, without the report.
fn imported(file: &str, content: &str, words: &[&str]) -> (String, Value) {
    let place = home().file(file, content);
    let ran = place.run(&[&["import", "--json"], words].concat());
    assert_eq!(ran.status, 0, "{ran:?}");
    (read(&place, OWN), ran.json())
}

fn notes(report: &Value) -> Vec<String> {
    let servers = report["servers"].as_array().unwrap().iter();
    let notes = servers.flat_map(|server| server["notes"].as_array().unwrap());
    notes.map(|note| note.as_str().unwrap().to_owned()).collect()
}

#[test]
fn codex() {
    let config = r#"
model = "gpt"
[mcp_servers.local]
command = "npx"
args = ["-y", "x", "${NOT_EXPANDED}"]
env = { LEVEL = "debug" }
env_vars = ["HOME_TOKEN", { name = "OTHER" }]
startup_timeout_sec = 20
tool_timeout_sec = 1.5
enabled_tools = ["a", "b"]
disabled_tools = ["b"]
supports_parallel_tool_calls = true
[mcp_servers.local.tools.a]
approval_mode = "prompt"
[mcp_servers.remote]
url = "https://h.example/mcp"
bearer_token_env_var = "REMOTE_TOKEN"
http_headers = { X-A = "1" }
env_http_headers = { X-B = "B_VAR" }
enabled = false
"#;
    let (written, report) = imported(".codex/config.toml", config, &["codex"]);
    let expected = r#"[servers.local]
command = "npx"
args = ["-y", "x", "$${NOT_EXPANDED}"]
connect_timeout = "20s"
timeout = "1500ms"
enabled_tools = ["a", "b"]

[servers.local.env]
LEVEL = "debug"
HOME_TOKEN = "${HOME_TOKEN:-}"
OTHER = "${OTHER:-}"

[servers.remote]
url = "https://h.example/mcp"
enabled = false

[servers.remote.headers]
Authorization = "Bearer ${REMOTE_TOKEN}"
X-A = "1"
X-B = "${B_VAR}"

[policy]
deny = ["local__b"]
ask = ["local__a"]
"#;
    assert_eq!(written, expected);
    let notes = notes(&report);
    let left_out = "left out: `supports_parallel_tool_calls` of `local` in ";
    assert!(notes[0].starts_with(left_out), "{notes:?}");
    assert_eq!(notes[1..], ["[policy] deny: local__b", "[policy] ask: local__a"]);
}

#[test]
fn zed() {
    let config = r#"{
  // Zed's settings
  "theme": "One Dark",
  "context_servers": {
    "new": {"source": "custom", "command": "npx", "args": ["x"], "env": {}, "timeout": 90},
    "old": {"command": {"path": "uvx", "args": ["y"], "env": {"A": "$B"}}},
    "extension": {"source": "extension", "enabled": true, "settings": {}},
    "http": {"url": "https://h.example/mcp", "headers": {"X": "1"}, "enabled": false},
  },
  "agent": {"tool_permissions": {"tools": {
    "mcp:new:write": {"default": "confirm"}, "mcp:new:drop": {"default": "deny"}, "terminal": {"default": "deny"},
  }}},
}"#;
    let (written, report) = imported("config/zed/settings.json", config, &["zed"]);
    let expected = r#"[servers.new]
command = "npx"
args = ["x"]
timeout = "90s"

[servers.old]
command = "uvx"
args = ["y"]
env = { A = "$B" }

[servers.http]
url = "https://h.example/mcp"
headers = { X = "1" }
enabled = false

[policy]
deny = ["new__drop"]
ask = ["new__write"]
"#;
    assert_eq!(written, expected);
    assert_eq!(report["servers"][2]["reason"], "an extension of Zed starts it");
}

#[test]
fn gemini() {
    let config = json!({
        "mcp": {"excluded": ["off"]},
        "mcpServers": {
            "old": {"url": "http://h.example/sse", "headers": {"Authorization": "Bearer $MY_TOKEN"}},
            "new": {"httpUrl": "http://h.example/mcp", "timeout": 30000, "trust": true},
            "local": {"command": "npx", "args": ["${HOME_DIR}/x"], "includeTools": ["a", "b(c)"], "excludeTools": ["b"]},
            "off": {"command": "x"},
        }
    });
    let (written, _) = imported(".gemini/settings.json", &config.to_string(), &["gemini"]);
    let expected = r#"[servers.old]
type = "sse"
url = "http://h.example/sse"
headers = { Authorization = "Bearer ${MY_TOKEN}" }

[servers.new]
url = "http://h.example/mcp"
timeout = "30s"

[servers.local]
command = "npx"
args = ["${HOME_DIR}/x"]
enabled_tools = ["a", "b"]

[servers.off]
command = "x"
enabled = false

[policy]
deny = ["local__b"]
"#;
    assert_eq!(written, expected);
}

#[test]
fn goose() {
    let config = "
GOOSE_PROVIDER: openai
extensions:
  developer:
    enabled: true
    type: builtin
    name: developer
  github:
    enabled: true
    type: stdio
    name: GitHub
    cmd: npx
    args:
      - -y
      - '@modelcontextprotocol/server-github'
    envs:
      LEVEL: debug
    env_keys:
      - GITHUB_PERSONAL_ACCESS_TOKEN
    timeout: 300
    available_tools: []
  docs:
    enabled: false
    type: streamable_http
    uri: https://docs.example/mcp
    headers:
      X-A: '1'
    available_tools: [search]
";
    let permissions = "user:\n  always_allow: []\n  ask_before:\n    - github__create_issue\n  never_allow:\n    - github__delete_repo\n";
    let place = home()
        .file("config/goose/config.yaml", config)
        .file("config/goose/permission.yaml", permissions);
    let ran = place.run(&["import", "goose"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let expected = r#"[servers.github]
command = "npx"
args = ["-y", "@modelcontextprotocol/server-github"]
env = { LEVEL = "debug", GITHUB_PERSONAL_ACCESS_TOKEN = "${GITHUB_PERSONAL_ACCESS_TOKEN}" }
timeout = "300s"

[servers.docs]
url = "https://docs.example/mcp"
headers = { X-A = "1" }
enabled_tools = ["search"]
enabled = false

[policy]
deny = ["github__delete_repo"]
ask = ["github__create_issue"]
"#;
    assert_eq!(read(&place, OWN), expected);
    let says = "skipped   developer: it is part of goose (`type: builtin`)";
    assert!(ran.stdout.contains(says), "{ran:?}");
    let says =
        "set the environment variable `GITHUB_PERSONAL_ACCESS_TOKEN`: it was asked for there";
    assert!(ran.stdout.contains(says), "{ran:?}");
}

#[test]
fn continues() {
    let config = "
name: mine
mcpServers:
  - name: SQLite
    command: npx
    args: [-y, mcp-sqlite, ./my.db]
    env: {KEY: '${{ secrets.SQLITE_KEY }}'}
    connectionTimeout: 5000
  - uses: continuedev/some-block
  - name: linear
    type: sse
    url: https://l.example/sse
    requestOptions:
      headers: {X-A: '1'}
      verifySsl: false
";
    let block = "name: block\nversion: 0.0.1\nmcpServers:\n  - name: extra\n    command: uvx\n";
    let place =
        home().file(".continue/config.yaml", config).file(".continue/mcpServers/extra.yaml", block);
    let ran = place.run(&["import", "continue"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let expected = r#"[servers.SQLite]
command = "npx"
args = ["-y", "mcp-sqlite", "./my.db"]
env = { KEY = "${SQLITE_KEY}" }
connect_timeout = "5s"

[servers.linear]
type = "sse"
url = "https://l.example/sse"
headers = { X-A = "1" }

[servers.extra]
command = "uvx"
"#;
    assert_eq!(read(&place, OWN), expected);
    assert!(ran.stdout.contains("skipped   server: it is a block of Continue's hub"), "{ran:?}");
    assert!(ran.stdout.contains("left out: `verifySsl` of `linear`"), "{ran:?}");
}

#[test]
fn opencode() {
    let config = r#"{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "local": {"type": "local", "command": ["bun", "x", "y"], "environment": {"A": "{env:A_VAR}"}, "enabled": true, "timeout": 5000},
    "remote": {"type": "remote", "url": "https://h.example/mcp", "headers": {"Authorization": "Bearer {env:KEY}"}, "enabled": false},
    "file": {"type": "remote", "url": "https://h.example/mcp", "headers": {"A": "{file:~/.key}"}}, // comment
  },
  "tools": {"local_drop": false, "bash": false},
  "permission": {"local_write*": "ask", "edit": "ask"},
}"#;
    let (written, report) = imported("config/opencode/opencode.jsonc", config, &["opencode"]);
    let expected = r#"[servers.local]
command = "bun"
args = ["x", "y"]
env = { A = "${A_VAR}" }
enabled = true
connect_timeout = "5s"

[servers.remote]
url = "https://h.example/mcp"
headers = { Authorization = "Bearer ${KEY}" }
enabled = false

[policy]
deny = ["local__drop"]
ask = ["local__write*"]
"#;
    assert_eq!(written.replace("enabled = true\n", ""), expected.replace("enabled = true\n", ""));
    assert!(report["servers"][2]["reason"].as_str().unwrap().contains("{file:…}"), "{report}");
}

#[test]
fn claude_code_with_its_projects() {
    let config = json!({
        "numStartups": 3,
        "mcpServers": {"github": {"type": "http", "url": "https://g.example/mcp"}},
        "projects": {
            "/work/app": {
                "allowedTools": [],
                "mcpServers": {
                    "github": {"type": "stdio", "command": "npx", "args": ["github"]},
                    "db": {"type": "stdio", "command": "./db.sh", "args": [], "env": {}},
                },
                "disabledMcpServers": ["db"],
            },
            "/work/other": {"mcpServers": {"hub": {"type": "http", "url": "https://g.example/mcp"}}},
        }
    });
    let settings =
        json!({"permissions": {"allow": ["mcp__github__get", "Bash(ls)"], "deny": ["mcp__db"]}});
    let place = home()
        .file(".claude.json", config.to_string())
        .file(".claude/settings.json", settings.to_string());
    let ran = place.run(&["import", "claude-code"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let expected = r#"[servers.github]
url = "https://g.example/mcp"

[servers.github_app]
command = "npx"
args = ["github"]

[servers.db]
command = "./db.sh"
args = []
cwd = "/work/app"
enabled = false

[policy]
ask_if = ['server == "github" && !(tool in ["github__get"]) && !tool.contains("/")', 'server == "github_app" && !(tool in ["github_app__get"]) && !tool.contains("/")']
deny = ["db__*"]
"#;
    assert_eq!(read(&place, OWN), expected);
    assert!(ran.stdout.contains("called `github` there; another server has that name"), "{ran:?}");
    let same = "left      hub: it is the same as `github` of Claude Code";
    assert!(ran.stdout.contains(same), "{ran:?}");
    // The rules are ones that are understood.
    assert_eq!(place.call(&["echo"])["success"], true);
}

#[test]
fn all_that_is_there() {
    let time = json!({"command": "uvx", "args": ["mcp-server-time"]});
    let place = home()
        .file(
            "config/Claude/claude_desktop_config.json",
            json!({"mcpServers": {"time": time}}).to_string(),
        )
        .file(
            ".cursor/mcp.json",
            json!({"mcpServers": {"clock": time, "git": {"command": "cursor-git"}}}).to_string(),
        )
        .file("config/Code/User/settings.json", "{\"editor.x\": 1}")
        .file(
            ".codeium/windsurf/mcp_config.json",
            json!({"mcpServers": {
                "git": {"command": "windsurf-git", "disabledTools": ["push"]},
                "switchboard": {"command": "/usr/bin/switchboard", "args": ["serve", "--stdio"]},
                "tools": {"command": "uvx", "args": ["switchboard-gateway", "serve", "--stdio"]},
            }})
            .to_string(),
        )
        .file(".gemini/settings.json", "{ broken");
    let printed = place.run(&["import", "--all", "--print"]);
    assert_eq!(printed.status, 0, "{printed:?}");
    assert!(printed.stdout.contains("+ [servers.git_windsurf]"), "{printed:?}");
    assert!(!place.path().join(OWN).exists());
    let ran = place.run(&["import", "--all"]);
    let folder = place.path().display().to_string();
    let expected = "\
Claude Desktop …/config/Claude/claude_desktop_config.json
added     time
Cursor …/.cursor/mcp.json
left      clock: it is the same as `time` of Claude Desktop
added     git
Windsurf …/.codeium/windsurf/mcp_config.json
added     git_windsurf
          called `git` there; another server has that name
          [policy] deny: git_windsurf__push
skipped   switchboard: it is Switchboard itself
skipped   tools: it is Switchboard itself
3 of 6 servers of 3 configs written to …/config/switchboard/switchboard.toml
";
    assert_eq!(ran.stdout.replace(&folder, "…"), expected, "{ran:?}");
    assert!(
        ran.stderr.contains("note: skipped a config: ") && ran.stderr.contains(".gemini"),
        "{ran:?}"
    );
    let again = place.run(&["import", "--all"]);
    assert!(again.stdout.contains("0 of 6 servers"), "{again:?}");
    let nothing = home().run(&["import", "--all"]);
    assert_eq!(
        (nothing.status, nothing.stdout.as_str()),
        (0, "no servers of other programs found\n")
    );
}

#[test]
fn secrets_get_into_no_config() {
    let config = json!({"servers": {"s": {
        "command": "npx", "args": ["--api-key", "a1b2c3d4"], "envFile": "${workspaceFolder}/.env",
        "env": {"GITHUB_TOKEN": "ghp_0123456789", "LEVEL": "debug", "PEM": "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----"},
    }}});
    let place =
        home().file(".vscode/mcp.json", config.to_string()).file(".env", "FROM_FILE=private\n");
    let ran = place.run(&["import", ".vscode/mcp.json", "--here"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let written = read(&place, "switchboard.toml");
    for secret in ["ghp_", "private", "a1b2", "BEGIN"] {
        assert!(!written.contains(secret) && !ran.stdout.contains(secret), "{written}");
    }
    assert!(written.contains("LEVEL = \"debug\""), "{written}");
    let secrets = place.run(&["secret", "list"]).stdout;
    for name in ["GITHUB_TOKEN", "FROM_FILE", "S_ARG_2", "PEM"] {
        assert!(
            secrets.contains(name) && written.contains(&format!("${{secret:{name}}}")),
            "{secrets}"
        );
    }
    let mode = |file: &str| fs::metadata(place.path().join(file)).unwrap().permissions().mode();
    assert_eq!(mode("switchboard.toml") & 0o777, 0o600);
    let plain =
        place.run(&["import", ".vscode/mcp.json", "--config", "plain.toml", "--plain-secrets"]);
    assert_eq!(plain.status, 0, "{plain:?}");
    assert!(read(&place, "plain.toml").contains("ghp_0123456789"));
}

#[test]
fn the_folders_configs_get_into_the_own_one_only_by_name() {
    let config = json!({"mcpServers": {"evil": {"command": "x"}}}).to_string();
    let place = home().file("sub/.cursor/mcp.json", &config);
    let run = |words: &[&str]| {
        let mut command = place.command(words);
        let ran = crate::test_folder::CommandOutput::of(
            command.current_dir(place.path().join("sub")).output().unwrap(),
        );
        assert_eq!(ran.status, 0, "{ran:?}");
        ran
    };
    for words in [&["import", "--all"][..], &["import", "cursor"]] {
        let ran = run(words);
        let says = "note: .cursor/mcp.json belongs to this folder, and its 1 server was left out";
        assert!(ran.stderr.contains(says), "{ran:?}");
        assert!(!place.path().join(OWN).exists());
    }
    run(&["import", "cursor", "--here"]);
    assert!(read(&place, "sub/switchboard.toml").contains("[servers.evil]"));
    run(&["import", ".cursor/mcp.json"]);
    assert!(read(&place, OWN).contains("[servers.evil]"));
}

// MC-8
#[test]
fn every_programs_config_is_used_as_it_is() {
    let program = misbehaving();
    for (file, config) in [
        ("config.toml", format!("model = \"o\"\n[mcp_servers.s]\ncommand = {program:?}\ndisabled_tools = [\"add\"]\n")),
        ("zed.json", json!({"theme": "x", "context_servers": {"s": {"command": program, "args": []}},
            "agent": {"tool_permissions": {"tools": {"mcp:s:add": {"default": "deny"}}}}}).to_string()),
        ("gemini.json", json!({"mcpServers": {"s": {"command": program, "includeTools": ["echo"]}}}).to_string()),
        ("goose.yaml", format!("extensions:\n  s: {{type: stdio, cmd: {program}, args: [], available_tools: [echo]}}\n  d: {{type: builtin}}\n")),
        ("continue.yaml", format!("mcpServers:\n  - {{name: s, command: {program}, disabledTools: [add]}}\n")),
        ("opencode.json", json!({"mcp": {"s": {"type": "local", "command": [program]}}, "tools": {"s_add": false}}).to_string()),
    ] {
        let place = TestFolder::new().file(file, config);
        let ran = place.run(&["tools", "--json", "--config", file]);
        assert_eq!(ran.status, 0, "{file}: {ran:?}");
        let listed = ran.json();
        let listed = listed.as_array().unwrap().iter().filter(|tool| tool["server"] == "s");
        let names: Vec<_> = listed.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
        assert_eq!(names, ["s__echo"], "{file}");
        let denied = place.call(&["s__add", "a=1", "b=2", "--config", file]);
        assert_eq!(denied["error_kind"], "denied", "{file}: {denied}");
    }
    let place = TestFolder::new().file("x.yaml", "a: 1\n").file("y.yaml", "a: [\n");
    let says = place.refusal(&["tools", "--config", "x.yaml"]);
    assert!(says.contains("x.yaml: there is neither goose's `extensions`"), "{says}");
    assert!(place.refusal(&["tools", "--config", "y.yaml"]).contains("y.yaml:"), "a syntax error");
}
