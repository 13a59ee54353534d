//! Help, versions, completions, and what is no command.

use crate::place::Place;

#[test]
fn wrong_usage_ends_with_2() {
    let place = Place::new();
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
fn help_and_version_are_results() {
    let place = Place::new();
    let version = place.run(&["--version"]);
    assert_eq!(version.stdout, format!("switchboard {}\n", env!("CARGO_PKG_VERSION")));
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
    let place = Place::with_config("not = \"read\"");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = place.run(&["completions", shell]);
        assert_eq!(ran.status, 0, "{ran:?}");
        assert!(ran.stdout.contains("switchboard") && ran.stdout.contains("doctor"), "{shell}");
    }
}
