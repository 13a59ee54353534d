use std::path::Path;

use super::super::{LoadedConfig, ParsedConfig, json, missing::LookupError, parse, read};
use super::*;

fn dialect(file: &str, text: &str) -> Option<Dialect> {
    recognise(&json::parse(text).unwrap(), Path::new(file))
}

fn load(file: &str, text: &str) -> Result<LoadedConfig, String> {
    let variable = |name: &str| match name {
        "TOKEN" => Ok("secret".to_owned()),
        _ => Err(LookupError::NotPresent),
    };
    let file = Path::new(file);
    parse(text, file).and_then(|config| read(config, file, &variable)).map_err(|e| e.to_string())
}

// MC-8
#[test]
fn whose_config_it_is_shows_in_its_keys() {
    for (file, text, expected) in [
        (
            "claude_desktop_config.json",
            r#"{"mcpServers":{},"globalShortcut":""}"#,
            Some(Dialect::McpServers),
        ),
        ("any.json", r#"{"mcpServers":{}}"#, Some(Dialect::McpServers)),
        (".vscode/mcp.json", r#"{"servers":{},"inputs":[],"sandbox":{}}"#, Some(Dialect::Servers)),
        ("any.json", r#"{"servers":{},"inputs":[]}"#, Some(Dialect::Servers)),
        ("any.json", r#"{"servers":{}}"#, Some(Dialect::Servers)),
        ("settings.json", r#"{"editor.x":1,"mcp":{"servers":{}}}"#, Some(Dialect::Settings)),
        ("any.json", r#"{"servers":{},"executor":{}}"#, None),
        ("any.json", r#"{"mcp":{"retry_attempts":1}}"#, None),
        (
            "any.json",
            r#"{"mcp":{"x":{"type":"local","command":["y"]}},"theme":"z"}"#,
            Some(Dialect::Opencode),
        ),
        ("opencode.jsonc", r#"{"mcp":{}}"#, Some(Dialect::Opencode)),
        ("any.json", r#"{"theme":"x","context_servers":{}}"#, Some(Dialect::Zed)),
        (".gemini/settings.json", r#"{"mcpServers":{}}"#, Some(Dialect::Gemini)),
        ("any.json", r#"{"mcpServers":{"x":{"httpUrl":"http://h"}}}"#, Some(Dialect::Gemini)),
        (".claude.json", r#"{"numStartups":1}"#, Some(Dialect::ClaudeCode)),
        ("any.json", r#"{"projects":{"/p":{"mcpServers":{}}}}"#, Some(Dialect::ClaudeCode)),
        ("x.code-workspace", r#"{"settings":{"mcp":{"servers":{}}}}"#, Some(Dialect::Settings)),
        ("any.json", r#"{"mcpServers":5}"#, None),
        ("mcp.json", "[]", None),
    ] {
        assert_eq!(dialect(file, text), expected, "{file} {text}");
    }
    let toml = parse("[mcpServers.x]\ncommand = \"y\"", Path::new("x.toml"));
    assert!(matches!(toml, Ok(ParsedConfig::Ours(_))));
    for (file, text, is_codex) in [
        ("config.toml", "model = \"o\"\n[mcp_servers.x]\ncommand = \"y\"", true),
        ("switchboard.toml", "[mcp_servers.x]\ncommand = \"y\"", false),
        ("config.toml", "[policy]\n[mcp_servers.x]\ncommand = \"y\"", false),
    ] {
        let is_foreign = matches!(parse(text, Path::new(file)), Ok(ParsedConfig::Foreign(_)));
        assert_eq!(is_foreign, is_codex, "{file} {text}");
    }
}

// MC-8
#[test]
fn claude_and_cursor_are_read_as_they_are() {
    let text = r#"{
        "globalShortcut": "Ctrl+Space",
        "mcpServers": {
            "zeta": {"command": "npx", "args": ["-y", "x", 3], "env": {"T": "${TOKEN}", "N": 1, "Z": null},
                     "alwaysAllow": ["a"], "description": "d", "timeout": 60, "tools": ["*"]},
            "alpha": {"type": "streamable-http", "url": "http://h/mcp", "headers": {"A": "Bearer ${env:TOKEN}"}},
            "old one": {"type": "sse", "serverUrl": "http://h/sse"},
            "off": {"command": "x", "env": {"T": "${UNSET}"}, "disabled": true}
        }
    }"#;
    let servers = load("claude_desktop_config.json", text).unwrap().settings.servers;
    assert_eq!(servers.keys().collect::<Vec<_>>(), ["zeta", "alpha", "old_one", "off"]); // TL-5
    let zeta = &servers["zeta"];
    assert_eq!(
        (zeta.command.as_deref(), &zeta.args[..]),
        (Some("npx"), &["-y", "x", "3"].map(str::to_owned)[..])
    );
    assert_eq!(
        zeta.env.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>(),
        ["N=1", "T=secret"]
    );
    assert_eq!(servers["alpha"].headers["A"], "Bearer secret");
    assert!(servers["alpha"].kind().is_ok() && servers["old_one"].kind().is_ok());
    assert!(!servers["off"].is_enabled());
}

// MC-8
#[test]
fn vs_code_is_read_as_it_is() {
    let text = r#"{
        // What editors write.
        "inputs": [{"type": "promptString", "id": "key", "description": "Key?", "password": true},
                   {"type": "pickString", "id": "mode", "options": ["a", {"label": "B", "value": "b"}]}],
        "servers": {
            "s": {"type": "stdio", "command": "${workspaceFolder}/run", "args": ["${input:key}"],
                  "cwd": "${userHome}", "gallery": true, "dev": {"watch": "x"}, "prefix": "p"},
        },
    }"#;
    let loaded = load("/w/.vscode/mcp.json", text).unwrap();
    let server = &loaded.settings.servers["s"];
    assert_eq!(server.command.as_deref(), Some("/w/run"));
    assert_eq!(server.args, ["${input:key}"]);
    assert_eq!(server.prefix.as_deref(), Some("p"));
    let [key, mode] = &loaded.inputs[..] else { panic!("{:?}", loaded.inputs) };
    assert!(key.password && key.description.as_deref() == Some("Key?"));
    assert_eq!(mode.options, ["a", "b"]);
}

// MC-8
#[test]
fn a_server_whose_value_is_missing_is_skipped_and_no_other() {
    let text = r#"{"mcpServers": {
        "ours": {"command": "x", "env": {"T": "${UNSET}"}},
        "cursor": {"command": "x", "args": ["${env:UNSET}"]},
        "file": {"command": "x", "envFile": "/no/${env:UNSET}"},
        "fine": {"command": "x", "env": {"T": "${TOKEN}"}},
        "off": {"command": "x", "args": ["${env:UNSET}"], "disabled": true}
    }}"#;
    let loaded = load("c.json", text).unwrap();
    let reason = "the environment variable UNSET is not set";
    let skipped: Vec<_> = loaded.skipped.servers.iter().collect();
    let (ours, cursor, file) = ("ours".to_owned(), "cursor".to_owned(), "file".to_owned());
    let reason = reason.to_owned();
    assert_eq!(skipped, [(&ours, &reason), (&cursor, &reason), (&file, &reason)]);
    assert_eq!(loaded.settings.servers["file"].skipped, Some(reason));
    assert_eq!(loaded.settings.servers["fine"].skipped, None);
}

// MC-8
#[test]
fn what_is_wrong_is_named_with_its_line() {
    for (text, says) in [
        (
            "{\"mcpServers\":{\"a b\":{},\n\"a_b\":{}}}",
            ":2: `mcpServers`: two servers are called `a_b`",
        ),
        ("{\"mcpServers\":{\"a\":\n5}}", ":2: `servers.a`: expected a table, got the number 5"),
        (
            "{\"mcpServers\":{\"a\":{\"command\":\"x\",\n\"envFile\":\"/no/such\"}}}",
            ":2: `servers.a.envFile`: failed to read `/no/such`",
        ),
    ] {
        let error = load("c.json", text).unwrap_err();
        assert!(error.starts_with(says), "{error}");
    }
    let ours =
        "{\"executor\":{},\"servers\":{\"a\":{\"command\":\"x\"},\n\"a\":{\"command\":\"y\"}}}";
    assert_eq!(load("c.json", ours).unwrap_err(), ":2: `servers`: `a` is given twice");
    let strict = "{\"executor\":{},\"servers\":{\"a\":{\"command\":\"x\",\n\"alwaysAllow\":[]}}}";
    assert!(
        load("c.json", strict)
            .unwrap_err()
            .starts_with(":2: unknown key `alwaysAllow` in [servers.a]")
    );
}
