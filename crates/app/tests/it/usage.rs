//! Help, versions, completions, and what is no command.

use crate::test_folder::TestFolder;

#[test]
fn wrong_usage_ends_with_2() {
    let place = TestFolder::new();
    for words in [
        &[][..],
        &["nonsense"],
        &["call"],
        &["call", "echo", "--nonsense"],
        &["call", "echo", "--timeout", "soon"],
        &["call", "echo", "--json", "--text"],
        &["completions", "nonsense"],
        &["tools", "--config"],
    ] {
        let ran = place.run(words);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{words:?} {ran:?}");
        assert!(!ran.stderr.is_empty(), "{words:?}");
    }
    let says = place.refusal(&["call", "echo", "--timeout", "5"]);
    assert!(says.contains("write it like 500ms, 30s, 5m"), "{says}");
}

#[test]
fn what_other_programs_call_it_leads_to_what_it_is_called_here() {
    let place = TestFolder::new();
    for (words, says) in [
        (&["list"][..], "there is no command `list`: `switchboard tools` lists the tools"),
        (&["ps"], "there is no command `ps`: `switchboard servers` shows how the servers are"),
        (&["mcp", "list"], "`switchboard add`, `servers` and `remove` manage MCP servers"),
        (&["help", "start"], "`switchboard serve` runs the gateway"),
        (&["time__now", "x"], "`switchboard call time__now` calls a tool"),
        (
            &["call", "math_eval", "--expression", "2+2"],
            "arguments of a tool have no dashes: expression=2+2",
        ),
        (&["init", "--replay", "x"], "--replay does nothing for `switchboard init`"),
    ] {
        let refusal = place.refusal(words);
        assert!(refusal.contains(says), "{words:?}: {refusal}");
    }
}

#[test]
fn help_and_version_are_results() {
    let place = TestFolder::new();
    let version = place.run(&["--version"]);
    // Such as `switchboard 0.1.0 (c9615555 2026-11-18)`; an archive without a repository has no commit.
    let of_package = format!("switchboard {}", env!("CARGO_PKG_VERSION"));
    let commit = version.stdout.trim_end().strip_prefix(&of_package);
    let is_commit = |text: &str| {
        let text = text.strip_prefix(" (").and_then(|text| text.strip_suffix(")"));
        let parts = text.and_then(|text| text.split_once(' '));
        parts.is_some_and(|(hash, date)| {
            let has_digits = hash.len() >= 8 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
            has_digits && date.len() == 10 && date.matches('-').count() == 2
        })
    };
    assert!(commit.is_some_and(|text| text.is_empty() || is_commit(text)), "{version:?}");
    assert_eq!(place.run(&["version"]).stdout, version.stdout);
    for words in [&["--help"][..], &["call", "--help"], &["tools", "--help"], &["doctor", "-h"]] {
        let help = place.run(words);
        assert_eq!((help.status, help.stderr.as_str()), (0, ""), "{help:?}");
        assert!(
            help.stdout.contains("Exit status") || help.stdout.contains("Examples"),
            "{help:?}"
        );
    }
}

#[test]
fn every_shell_gets_its_completions() {
    let place = TestFolder::with_config("not = \"read\"");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = place.run(&["completions", shell]);
        assert_eq!(ran.status, 0, "{ran:?}");
        assert!(ran.stdout.contains("SWITCHBOARD_COMPLETE"), "{shell}");
    }
}

#[test]
fn the_manual_has_a_page_for_each_command() {
    let place = TestFolder::new();
    let page = place.run(&["man"]).stdout;
    assert!(page.contains(".TH switchboard 1") && page.contains("switchboard\\-call(1)"), "{page}");
    let written = place.run(&["man", "--output", "man"]);
    assert_eq!(written.status, 0, "{written:?}");
    for page in ["switchboard.1", "switchboard-call.1", "switchboard-calls-show.1"] {
        let page = std::fs::read_to_string(place.path().join("man").join(page)).unwrap();
        assert!(page.contains(".SH SYNOPSIS"), "{page}");
    }
    let says = place.file("taken", "").refusal(&["man", "--output", "taken"]);
    assert!(says.contains("failed to write manual pages to `taken`"), "{says}");
}
