//! `add`, `remove`, `enable`, `disable`, `init` and `connect`: servers and clients without an editor.

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::{Value, json};

use crate::{fixture::misbehaving, test_folder::TestFolder};

/// A place with a home folder, whose own config is in `config/switchboard`.
fn home() -> TestFolder {
    let place = TestFolder::new().finding();
    let folder = place.path().display().to_string();
    place.variable("HOME", &folder).variable("XDG_CONFIG_HOME", &format!("{folder}/config"))
}

fn read(place: &TestFolder, file: &str) -> String {
    fs::read_to_string(place.path().join(file)).unwrap()
}

const OWN: &str = "config/switchboard/switchboard.toml";

#[test]
fn a_server_is_tried_and_then_written() {
    let place = home();
    let ran = place.run(&["add", "lib", "--json", "--", misbehaving()]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let report = ran.json();
    assert_eq!(report["name"], "lib");
    let tools = report["tools"].as_array().unwrap();
    assert!(tools.iter().all(|tool| tool.as_str().unwrap().starts_with("lib__")), "{report}");
    assert_eq!(read(&place, OWN), format!("[servers.lib]\ncommand = \"{}\"\n", misbehaving()));
    let listed = place.run(&["tools", "--json"]).json();
    let is_there = |tool: &Value| listed.as_array().unwrap().iter().any(|t| t["name"] == *tool);
    assert!(tools.iter().all(is_there), "{listed}");
    // A second one of the same name is not written over it.
    let says = place.refusal(&["add", "lib", "--", "true"]);
    assert!(says.contains("`lib` is in") && says.contains("--replace"), "{says}");
}

#[test]
fn what_does_not_answer_is_not_written() {
    let place = home();
    for (words, says) in [
        (&["add", "no", "--", "/nonexistent/program"][..], "after 1 attempt: "),
        (&["add", "no", "http://127.0.0.1:9/mcp"], "after 2 attempts: "),
        (&["add", "no", "http://127.0.0.1:9/mcp"], "connection refused"),
        (&["add", "no", "--", "sh", "-c", "echo no key >&2; exit 3"], "\nstderr: no key\n"),
    ] {
        let ran = place.run(words);
        assert_eq!((ran.status, ran.stdout.as_str()), (1, ""), "{ran:?}");
        assert!(ran.stderr.contains(says) && ran.stderr.contains("nothing was written"), "{ran:?}");
        assert!(!place.path().join(OWN).exists());
    }
    let ran = place.run(&["add", "no", "--no-check", "--", "/nonexistent/program"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(read(&place, OWN).contains("/nonexistent/program"));
}

#[test]
fn wrong_words_are_named() {
    let place = home();
    for (words, says) in [
        (&["add", "x"][..], "say what server `x` is"),
        (&["add", "x", "uvx"], "a command stands after `--`: switchboard add x -- uvx"),
        (&["add", "x", "http://a/mcp", "--", "y"], "a URL or a command, not both"),
        (&["add", "a__b", "--", "y"], "`a__b` cannot be a server's name"),
        (
            &["add", "x", "--header", "A: b", "--", "y"],
            "--header and --sse are for servers with a URL",
        ),
        (&["add", "x", "http://a/mcp", "--env", "A=b"], "--env is for servers that are started"),
        (
            &["add", "x", "http://a/mcp", "--header", "nonsense"],
            "--header takes NAME: VALUE, not `nonsense`",
        ),
        (&["add", "x", "--here", "--config", "c.toml", "--", "y"], "--here and --config"),
        (
            &["add", "x", "--", "uvx mcp-server-time"],
            "without the quotes it is one with arguments: switchboard add x -- uvx mcp-server-time",
        ),
        (&["remove", "x"], "there is no server `x`"),
        (&["connect", "cursor", "--url", "ftp://a"], "not `ftp://a`"),
        (&["connect", "claude", "--url", "http://a/mcp"], "leave --url out"),
    ] {
        let said = place.refusal(words);
        assert!(said.contains(says), "{words:?}: {said}");
    }
}

#[test]
fn secrets_go_into_the_vault() {
    let place = home();
    let words = [
        "add",
        "docs",
        "https://docs.example/mcp",
        "--no-check",
        "--header",
        "Authorization: Bearer s3cr3t-0123456789",
    ];
    let ran = place.run(&words);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(ran.stderr.contains("DOCS_AUTHORIZATION"), "{ran:?}");
    let config = read(&place, OWN);
    assert!(
        config.contains("Bearer ${secret:DOCS_AUTHORIZATION}") && !config.contains("s3cr3t"),
        "{config}"
    );
    let stored = place.run(&["secret", "list"]);
    assert!(stored.stdout.contains("DOCS_AUTHORIZATION"), "{stored:?}");
    let doctor = place.run(&["doctor", "--json"]).json();
    assert!(!doctor.to_string().contains("is skipped"), "{doctor}");
}

#[test]
fn a_file_of_secrets_is_read_only_if_nobody_else_may_read_it() {
    let config = "[servers.docs]\nurl = \"https://docs.example/mcp\"\nenabled = false\n\
                  headers = { Authorization = \"Bearer ${DOCS_AUTHORIZATION}\" }\n";
    let secrets = "config/switchboard/secrets.env";
    let place = home().file(OWN, config).file(secrets, "DOCS_AUTHORIZATION='s3cr3t'\n");
    let file = place.path().join(secrets);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let tools = place.run(&["tools"]);
    assert!(tools.status == 0 && !tools.stderr.contains("is not set"), "{tools:?}");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let says = place.refusal(&["tools"]);
    assert!(says.contains("others may read") && says.contains("chmod 600"), "{says}");
}

#[test]
fn servers_are_switched_off_and_on_and_removed() {
    let config = "# mine\n[servers.a] # first\ncommand = \"x\"\n\n[servers.b]\ncommand = \"y\"\n";
    let place = home().file(OWN, config);
    assert_eq!(place.run(&["disable", "a"]).status, 0);
    assert_eq!(read(&place, OWN), config.replace("\"x\"\n", "\"x\"\nenabled = false\n"));
    assert_eq!(place.run(&["enable", "a"]).status, 0);
    assert_eq!(read(&place, OWN), config);
    assert_eq!(place.run(&["disable", "b"]).status, 0);
    // One that is disabled is listed, and whoever looks for its tools is told.
    assert_eq!(place.run(&["disable", "a"]).status, 0);
    let listed = place.run(&["servers"]).stdout;
    assert_eq!(
        listed,
        "a\tdisabled\tstdio\t0 tools\t0 calls\t\nb\tdisabled\tstdio\t0 tools\t0 calls\t\n"
    );
    for words in [&["call", "a__x"][..], &["tools", "a__x"]] {
        let ran = place.run(words);
        assert!(ran.stderr.contains("`switchboard enable a` uses it again"), "{ran:?}");
    }
    assert_eq!(place.run(&["enable", "a"]).status + place.run(&["enable", "b"]).status, 0);
    assert!(place.refusal(&["remove", "bb"]).contains("did you mean `b`?"));
    assert_eq!(place.run(&["remove", "b"]).status, 0);
    assert_eq!(read(&place, OWN), "# mine\n[servers.a] # first\ncommand = \"x\"\n");
    let place = place.file("switchboard.toml", "[servers.here]\ncommand = \"x\"\n");
    assert!(place.refusal(&["remove", "here"]).contains("--here changes"));
}

#[test]
fn init_writes_a_config_that_loads() {
    let place = home();
    assert_eq!(place.run(&["init"]).status, 0);
    assert!(place.refusal(&["init"]).contains("is there already"));
    // A server is written to the others, and all comments stay where they are.
    let before = read(&place, OWN);
    assert_eq!(place.run(&["add", "a", "--no-check", "--", "x"]).status, 0);
    let added = before.replace("[servers]\n", "[servers]\n\n[servers.a]\ncommand = \"x\"\n");
    assert_eq!(read(&place, OWN), added);
    assert_eq!(place.run(&["remove", "a"]).status, 0);
    assert_eq!(read(&place, OWN), before);
    // What it shows as comments is a config, too.
    let template = read(&place, OWN);
    let shown = template.lines().map(|line| {
        let code = line.strip_prefix("# ").unwrap_or(line);
        let is_code = code.starts_with('[')
            || code.split_once(" = ").is_some_and(|(key, _)| !key.contains(' '));
        if is_code { format!("{code}\n") } else { String::new() }
    });
    let shown: String = shown.collect();
    let whole = home().file(OWN, shown).variable("DOCS_TOKEN", "x");
    let ran = whole.run(&["call", "disk_usage"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert_eq!(place.run(&["tools"]).status, 0);
    assert_eq!(place.run(&["init", "--here"]).status, 0);
    assert_eq!(place.run(&["tools"]).status, 0, "what a person wrote by a command is trusted");
}

#[test]
fn clients_get_a_line_of_ours() {
    let place = home()
        .file(OWN, "[policy]\n")
        .file(".cursor/mcp.json", "{\n  // mine\n  \"mcpServers\": {}\n}\n");
    let config = fs::canonicalize(place.path().join(OWN)).unwrap().display().to_string();
    for (client, file, section) in [
        ("claude", "config/Claude/claude_desktop_config.json", "mcpServers"),
        ("claude-code", ".claude.json", "mcpServers"),
        ("cursor", ".cursor/mcp.json", "mcpServers"),
        ("vscode", "config/Code/User/mcp.json", "servers"),
        ("gemini", ".gemini/settings.json", "mcpServers"),
        ("zed", "config/zed/settings.json", "context_servers"),
        ("windsurf", ".codeium/windsurf/mcp_config.json", "mcpServers"),
    ] {
        let printed = place.run(&["connect", client, "--print"]);
        assert!(printed.status == 0 && printed.stdout.contains("serve"), "{printed:?}");
        let ran = place.run(&["connect", client]);
        assert_eq!(ran.status, 0, "{ran:?}");
        let written = read(&place, file).replace("  // mine\n", "");
        let written: Value = serde_json::from_str(&written).unwrap();
        let entry = &written[section]["switchboard"];
        assert_eq!(
            entry["args"],
            json!(["serve", "--stdio", "--config", config]),
            "{client}: {written}"
        );
        let again = place.run(&["connect", client]);
        assert!(again.stdout.contains("has it already"), "{again:?}");
    }
    assert!(read(&place, ".cursor/mcp.json").contains("// mine"));
    assert!(read(&place, ".cursor/mcp.json.bak").contains("\"mcpServers\": {}"));
    assert_eq!(
        place
            .run(&["connect", "codex", "--url", "http://127.0.0.1:7300/mcp", "--token", "sb_x"])
            .status,
        0
    );
    let codex = read(&place, ".codex/config.toml");
    assert!(
        codex.contains("[mcp_servers.switchboard]") && codex.contains("Bearer sb_x"),
        "{codex}"
    );
    for (client, file) in
        [("claude", "config/Claude/claude_desktop_config.json"), ("codex", ".codex/config.toml")]
    {
        let printed = place.run(&["connect", client, "--remove", "--print"]);
        assert!(printed.status == 0 && printed.stdout.contains("- "), "{printed:?}");
        assert!(read(&place, file).contains("switchboard"), "{client}");
        assert_eq!(place.run(&["connect", client, "--remove"]).status, 0);
        assert!(!read(&place, file).contains("switchboard"), "{client}");
        let again = place.run(&["connect", client, "--remove"]);
        assert!(again.stdout.contains("does not have it"), "{again:?}");
    }
    fs::remove_file(place.path().join(".claude.json")).unwrap();
    let none = place.run(&["connect", "claude-code", "--remove"]);
    assert!(none.status == 0 && none.stdout.contains("does not have it"), "{none:?}");
    assert!(!place.path().join(".claude.json").exists());
    // A config that is not understood is left alone.
    let place = place.file(".gemini/settings.json", "{ broken");
    assert!(place.refusal(&["connect", "gemini", "--remove"]).contains("was not changed"));
    assert!(place.refusal(&["connect", "gemini"]).contains("was not changed"));
    assert_eq!(read(&place, ".gemini/settings.json"), "{ broken");
}

// SB-2: with what its launcher needs; the rights of root are for a person to give.
#[test]
fn a_server_is_added_in_a_sandbox() {
    let place = home();
    let preset = |name: &str| format!("sandbox_allow = {{ preset = [\"{name}\"] }}\n");
    for (name, mode, command, allow) in [
        ("a", "on", &["npx", "-y", "x"][..], preset("npx")),
        ("b", "try", &["uvx", "x"], preset("uvx")),
        ("c", "learn", &["npx", "x"], String::new()),
        ("d", "on", &["docker", "run", "x"], String::new()),
        ("e", "off", &["npx", "x"], String::new()),
    ] {
        let words = [&["add", name, "--sandbox", mode, "--no-check", "--"], command].concat();
        let ran = place.run(&words);
        assert_eq!(ran.status, 0, "{ran:?}");
        let config = read(&place, OWN);
        let (_, section) = config.split_once(&format!("[servers.{name}]\n")).unwrap();
        let sandbox =
            if mode == "off" { String::new() } else { format!("sandbox = \"{mode}\"\n{allow}") };
        assert!(section.ends_with(&format!("]\n{sandbox}")), "{config}");
        assert_eq!(ran.stderr.contains("switchboard sandbox learn"), mode != "off", "{ran:?}");
    }
    let ran = place.run(&["add", "u", "http://127.0.0.1:9/mcp", "--sandbox", "on"]);
    assert!(ran.status == 2 && ran.stderr.contains("servers that are started"), "{ran:?}");
}

// SB-2
#[cfg(target_os = "linux")]
#[test]
fn somebody_at_a_terminal_is_asked_for_the_sandbox() {
    for (typed, expected) in
        [("learn", "sandbox = \"learn\"\n"), ("", ""), ("on", "sandbox = \"on\"\n")]
    {
        let place = home();
        let add = place.command(&["add", "x", "--no-check", "--", "true"]);
        let shown = crate::pty::run(add, &[("[on/learn/N]", &format!("{typed}\n"))]);
        assert_eq!(shown.status, 0, "{shown:?}");
        assert_eq!(read(&place, OWN), format!("[servers.x]\ncommand = \"true\"\n{expected}"));
    }
}
