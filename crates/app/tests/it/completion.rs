//! What a shell gets when somebody presses tab: names and ids, at once and without a trace.

use std::process::{Command, Stdio};

use crate::{fixture::misbehaving, serving::Serving, test_folder::TestFolder};

/// Returns the candidates for the last of `words`, as fish gets them: one a line, with what they are.
fn candidates(place: &TestFolder, words: &[&str]) -> Vec<String> {
    let mut command = place.command(&[&["--", "switchboard"], words].concat());
    let output = command.env("SWITCHBOARD_COMPLETE", "fish").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// The candidates without what they are.
fn values(place: &TestFolder, words: &[&str]) -> Vec<String> {
    let first = |line: String| line.split('\t').next().unwrap_or_default().to_owned();
    candidates(place, words).into_iter().map(first).collect()
}

const CONFIG: &str = r#"
[servers.clock]
command = "sh"
args = ["-c", "touch started; exec sleep 1000"]

[servers.docs]
url = "http://127.0.0.1:9/mcp"
enabled = false

[profiles.desk]
tools = ["math_*"]

[models.local]
provider = "ollama"
model = "qwen3:0.6b"

[[tools]]
name = "weather"
description = "Says how warm it is"
implementation = { type = "mock", mock_response = { ok = true } }
"#;

#[test]
fn names_of_the_config_are_completed_and_no_server_is_started() {
    let place = TestFolder::with_config(CONFIG);
    assert_eq!(candidates(&place, &["call", "weat"]), ["weather\tSays how warm it is"]);
    assert!(values(&place, &["tools", ""]).contains(&"math_eval".to_owned()));
    for command in ["restart", "logs", "remove", "enable", "disable"] {
        assert_eq!(values(&place, &[command, ""])[..2], ["clock", "docs"], "{command}");
    }
    assert_eq!(values(&place, &["calls", "--server", "cl"]), ["clock"]);
    assert_eq!(values(&place, &["ask", "-m", ""])[..2], ["demo", "local"]);
    assert_eq!(candidates(&place, &["tools", "--profile", ""])[0], "desk\tmath_*");
    assert_eq!(values(&place, &["connect", "claude"]), ["claude", "claude-code"]);
    assert_eq!(values(&place, &["import", "cu"]), ["cursor"]);
    assert!(!place.path().join("started").exists());
}

#[test]
fn the_config_that_the_line_names_is_the_one_that_is_read() {
    let other = "[servers.elsewhere]\nurl = \"http://127.0.0.1:9/mcp\"\n";
    let place = TestFolder::with_config(CONFIG).file("other.toml", other);
    for line in
        [&["--config", "other.toml", "restart", ""][..], &["--config=other.toml", "logs", ""]]
    {
        assert_eq!(values(&place, line)[0], "elsewhere", "{line:?}");
    }
    // One that cannot be read has no candidates, and no message.
    let place = TestFolder::with_config("wrong");
    assert!(!values(&place, &["restart", ""]).contains(&"clock".to_owned()));
}

// PO-3
#[test]
fn a_config_that_nobody_trusts_is_neither_used_nor_asked_about() {
    let place = TestFolder::with_config(CONFIG).finding();
    assert!(!values(&place, &["restart", ""]).contains(&"clock".to_owned()));
    assert!(!values(&place, &["call", ""]).contains(&"weather".to_owned()));
    assert!(!place.path().join("state/switchboard/trust").exists());
}

#[test]
fn ids_of_calls_and_names_of_tokens_and_of_recorded_tools_are_completed() {
    let place = TestFolder::with_config(CONFIG);
    place.call(&["weather"]);
    let shown = candidates(&place, &["calls", "show", "0"]);
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert!(shown[0].contains("\tweather ok"), "{shown:?}");
    assert!(values(&place, &["approve", ""]).iter().all(|value| value.starts_with('-')));
    place.run(&["token", "new", "--name", "agent-7"]);
    assert_eq!(values(&place, &["token", "revoke", "a"]), ["agent-7"]);
}

#[test]
fn tools_of_servers_are_those_of_the_running_gateway() {
    let config = format!("[servers.s]\ncommand = {:?}\n", misbehaving());
    let runtime = tempfile::tempdir().unwrap();
    let place = TestFolder::with_config(&config)
        .variable("XDG_RUNTIME_DIR", runtime.path().to_str().unwrap());
    assert!(values(&place, &["call", "s__"]).is_empty());
    let gateway = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    // The gateway has connected once it has called a tool of the server.
    place.call(&["s__echo"]);
    assert!(values(&place, &["call", "s__"]).contains(&"s__echo".to_owned()));
    drop(gateway);
    // Without it, the records still know the tool.
    assert_eq!(values(&place, &["call", "s__"]), ["s__echo"]);
}

#[test]
fn an_unknown_shell_gets_nothing() {
    let place = TestFolder::new();
    let mut command = place.command(&["--", "switchboard", "ca"]);
    let output = command.env("SWITCHBOARD_COMPLETE", "tcsh").output().unwrap();
    assert_eq!(
        (output.status.code(), &output.stdout[..], &output.stderr[..]),
        (Some(1), &b""[..], &b""[..])
    );
}

/// A real bash, with the script that people install.
#[test]
fn bash_completes_by_the_script() {
    let place = TestFolder::with_config(CONFIG);
    let script = "eval \"$(switchboard completions bash)\"; \
        COMP_WORDS=(switchboard call wea); COMP_CWORD=2; COMP_TYPE=9; \
        _clap_complete_switchboard switchboard wea call; echo \"${COMPREPLY[@]}\"";
    assert_eq!(in_shell(&place, "bash", &["--norc", "-c", script]), "weather\n");
}

/// Runs a shell that finds the program under test on its PATH, and returns what it printed.
fn in_shell(place: &TestFolder, shell: &str, words: &[&str]) -> String {
    let folder = std::path::Path::new(env!("CARGO_BIN_EXE_switchboard")).parent().unwrap();
    let mut command = Command::new(shell);
    command.args(words).current_dir(place.path()).envs(place.variables()).env("TERM", "xterm");
    command.env("PATH", format!("{}:/usr/bin:/bin", folder.display())).stdin(Stdio::null());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    String::from_utf8(output.stdout).unwrap()
}
