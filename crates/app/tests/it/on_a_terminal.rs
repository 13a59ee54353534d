//! On a real terminal, which `script` provides: colours, columns and the spinner.

use std::{net::TcpListener, process::Command};

use crate::place::{Place, Ran};

const COLUMNS: usize = 60;

/// Runs a command line on a terminal; its stdout and stderr come as one.
fn on_a_terminal(place: &Place, variables: &[(&str, &str)], line: &str) -> Ran {
    let binary = env!("CARGO_BIN_EXE_switchboard");
    let line = format!("stty rows 24 cols {COLUMNS}; {binary} {line}");
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).current_dir(place.path()).env_clear();
    command.env("PATH", "/usr/bin:/bin").env("TERM", "xterm").env("SHELL", "/bin/sh");
    Ran::of(command.envs(variables.iter().copied()).output().unwrap())
}

#[test]
fn envelopes_are_laid_out_in_colours() {
    let place = Place::new();
    let ran = on_a_terminal(&place, &[], "call echo a=1");
    assert!(ran.stdout.starts_with("{\r\n  \x1b[34m\"success\"\x1b[0m: \x1b[33mtrue"), "{ran:?}");
    let plain = on_a_terminal(&place, &[("NO_COLOR", "1")], "call echo a=1");
    assert!(plain.stdout.starts_with("{\r\n  \"success\": true,\r\n"), "{plain:?}");
    let line = on_a_terminal(&place, &[], "call echo a=1 --json");
    assert!(line.stdout.starts_with(r#"{"success":true,"result":{"echo":{"a":1}}"#), "{line:?}");
}

#[test]
fn the_list_fits_the_terminal() {
    let ran = on_a_terminal(&Place::new(), &[("NO_COLOR", "1")], "tools");
    assert_eq!(ran.stdout.lines().count(), 9, "{ran:?}");
    assert!(ran.stdout.lines().all(|line| line.trim_end().chars().count() <= COLUMNS), "{ran:?}");
    assert!(ran.stdout.contains('…'), "{ran:?}");
}

#[test]
fn a_call_that_takes_long_spins() {
    let provider = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = provider.local_addr().unwrap();
    let config = format!("[builtins.search_web]\nprovider = \"searxng\"\nurl = \"http://{url}\"\n");
    let place = Place::with_config(&config);
    let ran = on_a_terminal(&place, &[], "call search_web query=x --timeout 600ms");
    assert!(
        ran.stdout.contains("⠋ search_web 0.1s") || ran.stdout.contains("⠋ search_web 0.2s"),
        "{ran:?}"
    );
    assert!(ran.stdout.contains("\r\x1b[2K{\r\n"), "{ran:?}");
    let quick = on_a_terminal(&place, &[], "call echo");
    assert!(!quick.stdout.contains('⠋') && !quick.stdout.contains("\x1b[2K"), "{quick:?}");
    let json = on_a_terminal(&place, &[], "call search_web query=x --timeout 400ms --json");
    assert!(!json.stdout.contains('⠋'), "{json:?}");
}
