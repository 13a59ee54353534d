//! On a real terminal, which `script` provides: colours, columns and the spinner.

use std::{
    io::{Read, Write},
    net::TcpListener,
    process::{Command, Output, Stdio},
};

use serde_json::json;

use crate::{
    fixture::{misbehaving, section},
    test_folder::{CommandOutput, TestFolder},
};

const COLUMNS: usize = 60;

/// Runs a command line on a terminal; its stdout and stderr come as one.
fn on_a_terminal(place: &TestFolder, variables: &[(&str, &str)], line: &str) -> CommandOutput {
    typing(place, variables, line, &[])
}

/// As [`on_a_terminal`], while somebody answers these questions, each with a line.
fn typing(
    place: &TestFolder,
    variables: &[(&str, &str)],
    line: &str,
    answers: &[(&str, &str)],
) -> CommandOutput {
    let binary = env!("CARGO_BIN_EXE_switchboard");
    let line = format!("stty rows 24 cols {COLUMNS}; {binary} {line}");
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).current_dir(place.path()).env_clear();
    command.env("PATH", "/usr/bin:/bin").env("TERM", "xterm").env("SHELL", "/bin/sh");
    command.envs(place.variables()).envs(variables.iter().copied());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut keyboard = child.stdin.take().unwrap();
    let mut screen = child.stdout.take().unwrap();
    let mut shown = Vec::new();
    for (question, answer) in answers {
        // Nobody types before the question is there; echo is switched off before it.
        read_until(question, &mut screen, &mut shown);
        writeln!(keyboard, "{answer}").unwrap();
    }
    screen.read_to_end(&mut shown).unwrap();
    let output = child.wait_with_output().unwrap();
    drop(keyboard);
    CommandOutput::of(Output { stdout: shown, ..output })
}

/// Reads what the terminal shows until the text is there once more.
fn read_until(text: &str, screen: &mut impl Read, shown: &mut Vec<u8>) {
    let start = shown.len();
    while !shown[start..].ends_with(text.as_bytes()) {
        let mut byte = [0];
        let has_ended = screen.read(&mut byte).unwrap() == 0;
        assert!(!has_ended, "never asked {text:?}: {}", String::from_utf8_lossy(shown));
        shown.push(byte[0]);
    }
}

// TL-6
#[test]
fn a_misspelt_bare_name_gets_a_hint_before_the_servers_are_waited_for() {
    let place = TestFolder::with_config(&section("slow", "slow-start=1500"));
    let ran = on_a_terminal(&place, &[], "call math_evl");
    let hint =
        "`math_evl` is not a local tool (did you mean `math_eval`?); looking for it on the server";
    let (before, after) = ran.stdout.split_once(hint).unwrap_or_else(|| panic!("{ran:?}"));
    assert!(!before.contains("connecting to slow"), "{ran:?}");
    assert!(after.contains("connecting to slow…"), "{ran:?}");
    // The log would say the same again.
    assert_eq!(after.matches("Tool 'math_evl' not found").count(), 1, "{ran:?}");
    // Programs get the result alone.
    let piped = place.run(&["call", "math_evl"]);
    assert!(!piped.stderr.contains("looking for it"), "{piped:?}");
}

// RS-3, VA-3
#[test]
fn a_call_on_a_terminal_is_its_text_and_one_dim_line() {
    let place = TestFolder::new();
    let ran = on_a_terminal(&place, &[], "call math_eval expression=2+2");
    let (text, line) = ran.stdout.split_once("\r\n").unwrap();
    assert_eq!(text, r#"{"result":4}"#, "{ran:?}");
    assert!(line.starts_with("\x1b[2m✓ math_eval ") && line.ends_with("\x1b[0m\r\n"), "{ran:?}");
    let words: Vec<_> = line.split_whitespace().collect();
    assert_eq!((words.len(), words[3]), (5, "ms"), "{ran:?}");
    assert!(words[4].starts_with("01") && words[4].len() > 26, "the id of the record: {ran:?}");
    let plain = on_a_terminal(&place, &[("NO_COLOR", "1")], "call math_eval expression=2+2");
    assert!(plain.stdout.starts_with("{\"result\":4}\r\n✓ math_eval "), "{plain:?}");
    // What fails is red, and says the way out.
    let ran = on_a_terminal(&place, &[("RUST_LOG", "off")], "call ecko");
    let red = "\x1b[31mTool 'ecko' not found\x1b[0m\r\nDid you mean: echo\r\n\x1b[2m✗ ecko ";
    assert!(ran.stdout.starts_with(red), "{ran:?}");
    assert_eq!(ran.status, 1);
    let ran = on_a_terminal(&place, &[("NO_COLOR", "1")], "call math_eval");
    let missing =
        "Invalid parameters: missing 'expression'. Required parameters: expression (string)\r\n";
    assert!(ran.stdout.starts_with(missing), "{ran:?}");
    // A misspelt optional argument would be passed on without a word.
    let ran = on_a_terminal(&place, &[], "call math_eval expression=2+2 precision=3");
    assert!(
        ran.stdout.starts_with("unknown parameter 'precision'; the tool has 'expression'\r\n"),
        "{ran:?}"
    );
    let zone = "call get_current_datetime timezone=UTC tmezone=UTC";
    let ran = on_a_terminal(&place, &[], zone);
    let near = "unknown parameter 'tmezone'; did you mean 'timezone'?\r\n";
    assert!(ran.stdout.starts_with(near), "{ran:?}");
    let line = on_a_terminal(&place, &[], "call echo a=1 --json");
    assert!(line.stdout.starts_with(r#"{"success":true,"result":{"echo":{"a":1}}"#), "{line:?}");
    assert_eq!(line.stdout.matches('\n').count(), 1, "{line:?}");
}

// The marks have an ASCII form; TERM=dumb has neither colours nor a line that moves.
#[test]
fn a_plain_terminal_gets_plain_text() {
    let provider = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = provider.local_addr().unwrap();
    let config = format!("[builtins.search_web]\nprovider = \"searxng\"\nurl = \"http://{url}\"\n");
    let place = TestFolder::with_config(&config);
    let ascii = [("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")];
    let ran = on_a_terminal(&place, &ascii, "call math_eval expression=2+2");
    assert!(ran.stdout.contains("\x1b[2m+ math_eval "), "{ran:?}");
    let ran = on_a_terminal(&place, &ascii, "call search_web query=x --timeout 600ms");
    assert!(ran.stdout.contains("| search_web 0.") && ran.stdout.contains("\x1b[2mx search_web "));
    let ran = on_a_terminal(&place, &ascii, "doctor");
    assert!(ran.stdout.contains("\x1b[32m+\x1b[0m "), "{ran:?}");
    for line in ["tools", "calls stats", "doctor", "call echo text=Grüße…"] {
        let ran = on_a_terminal(&place, &ascii, line);
        let foreign = |c: char| !c.is_ascii() && !"üß".contains(c);
        assert!(!ran.stdout.contains(foreign), "{line}: {ran:?}");
    }
    let dumb = [("TERM", "dumb")];
    let ran = on_a_terminal(&place, &dumb, "call search_web query=x --timeout 400ms");
    assert!(ran.stdout.contains("✗ search_web ") && !ran.stdout.contains('\x1b'), "{ran:?}");
    assert!(!ran.stdout.contains('⠋'), "{ran:?}");
}

#[test]
fn the_list_fits_the_terminal() {
    let ran = on_a_terminal(&TestFolder::new(), &[("NO_COLOR", "1")], "tools");
    assert_eq!(ran.stdout.lines().count(), 9, "{ran:?}");
    assert!(ran.stdout.lines().all(|line| line.trim_end().chars().count() <= COLUMNS), "{ran:?}");
    assert!(ran.stdout.contains('…'), "{ran:?}");
}

#[test]
fn a_call_that_takes_long_spins() {
    let provider = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = provider.local_addr().unwrap();
    let config = format!("[builtins.search_web]\nprovider = \"searxng\"\nurl = \"http://{url}\"\n");
    let place = TestFolder::with_config(&config);
    let ran = on_a_terminal(&place, &[], "call search_web query=x --timeout 600ms");
    assert!(
        ran.stdout.contains("⠋ search_web 0.1s") || ran.stdout.contains("⠋ search_web 0.2s"),
        "{ran:?}"
    );
    assert!(
        ran.stdout.contains("\r\x1b[2K\x1b[31mTool 'search_web' timed out after 0.6s"),
        "{ran:?}"
    );
    let quick = on_a_terminal(&place, &[], "call echo");
    assert!(!quick.stdout.contains('⠋') && !quick.stdout.contains("\x1b[2K"), "{quick:?}");
    let json = on_a_terminal(&place, &[], "call search_web query=x --timeout 400ms --json");
    assert!(!json.stdout.contains('⠋'), "{json:?}");
}

#[test]
fn waiting_for_servers_is_shown() {
    // TL-6
    let config = format!("{}{}", section("slow", "slow-start=700"), section("quick", ""));
    let place = TestFolder::with_config(&config);
    for line in ["tools", "doctor"] {
        let ran = on_a_terminal(&place, &[("NO_COLOR", "1")], line);
        assert!(ran.stdout.contains(" connecting to slow… 0."), "{ran:?}");
    }
    let tools = on_a_terminal(&place, &[("NO_COLOR", "1")], "tools");
    assert!(tools.stdout.contains("\x1b[2Klocal, 9 tools\r\n"), "{tools:?}");
    assert!(tools.stdout.contains("\r\n\r\nserver slow, 2 tools\r\nslow__echo  "), "{tools:?}");
    assert!(tools.stdout.contains("\r\n\r\nserver quick, 2 tools\r\nquick__echo  "), "{tools:?}");
}

#[test]
fn inputs_are_asked_for_and_passwords_not_shown() {
    // MC-8
    let config = json!({
        "inputs": [{"id": "key", "type": "promptString", "description": "The key", "password": true},
                   {"id": "mode", "type": "pickString", "options": ["env", "modern"], "default": "env"}],
        "servers": {"s": {"command": misbehaving(), "args": ["${input:mode}"],
                          "env": {"A": "${input:key}", "B": "${input:key}"}}},
    });
    let place = TestFolder::new().file("mcp.json", config.to_string());
    let line = "call s__environment --json --config mcp.json";
    let mode = "(env, modern) [env]: ";
    let answers = [(mode, "wrong"), (mode, ""), ("The key: ", "hunter2")];
    let ran = typing(&place, &[], line, &answers);
    assert_eq!(ran.stdout.matches("(env, modern) [env]: ").count(), 2, "{ran:?}");
    assert_eq!(ran.stdout.matches("The key: ").count(), 1, "{ran:?}");
    let (questions, result) = ran.stdout.split_once("{\"success\":true").unwrap();
    assert!(!questions.contains("hunter2") && result.contains("hunter2"), "{ran:?}");
}

#[test]
fn duplicates_are_asked_about() {
    // MC-8
    let theirs = json!({"mcpServers": {"a": {"command": "new"}, "b": {"command": "newer"}}});
    let ours = "# mine\n[servers.a] # first\ncommand = \"old\"\n[servers.b]\ncommand = \"old\"\n";
    let place = TestFolder::with_config(ours).file("c.json", theirs.to_string());
    let question = "Replace it? [y/N] ";
    let answers = [(question, "y"), (question, "n")];
    let ran = typing(&place, &[("NO_COLOR", "1")], "import c.json --here", &answers);
    assert!(
        ran.stdout.contains("replaced  a\r\n") && ran.stdout.contains("left      b: "),
        "{ran:?}"
    );
    let written = std::fs::read_to_string(place.path().join("switchboard.toml")).unwrap();
    let expected =
        "# mine\n[servers.a] # first\ncommand = \"new\"\n[servers.b]\ncommand = \"old\"\n";
    assert_eq!(written, expected);
}

#[test]
fn calls_fit_the_terminal() {
    // RC-2
    let place = TestFolder::new();
    let state = place.path().join("state").display().to_string();
    place.call(&["echo", &format!(r#"{{"text":"{}"}}"#, "long ".repeat(50))]);
    place.call(&["math_eval", "{}"]);
    let run = |colour: &str, line: &str| {
        on_a_terminal(&place, &[("XDG_STATE_HOME", &state), (colour, "1")], line)
    };
    for line in ["calls", "calls stats"] {
        let plain = run("NO_COLOR", line);
        assert!(!plain.stdout.contains('\x1b'), "{plain:?}");
        let fits = |line: &str| line.trim_end().chars().count() <= COLUMNS;
        assert!(plain.stdout.lines().all(fits), "{plain:?}");
    }
    let list = run("NO_COLOR", "calls").stdout;
    assert!(list.contains("  echo       ok  "), "{list}");
    let coloured = run("COLOUR", "calls").stdout;
    assert!(coloured.contains("\x1b[31minvalid_parameters"), "{coloured}");
}
