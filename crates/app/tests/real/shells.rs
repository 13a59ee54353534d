//! Completion in the shells that are not on every machine: fish and zsh, with the scripts that people install.

use std::{fs, path::Path};

use crate::serving::{program, switchboard};

const CONFIG: &str = r#"
[servers.clock]
command = "sh"
args = ["-c", "exec sleep 1000"]

[[tools]]
name = "weather"
description = "Says how warm it is"
implementation = { type = "mock", mock_response = { ok = true } }
"#;

/// Runs a shell that finds the program under test on its PATH, and returns what it printed.
fn in_shell(folder: &Path, shell: &str, words: &[&str]) -> String {
    let bin = Path::new(env!("CARGO_BIN_EXE_switchboard")).parent().unwrap();
    let mut command = program(shell, folder);
    command.args(words).env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    command.env("SWITCHBOARD_CONFIG", folder.join("switchboard.toml"));
    command.env("HOME", folder).env("TERM", "xterm");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn fish_completes_by_the_script() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("switchboard.toml"), CONFIG).unwrap();
    let script = "switchboard completions fish | source; complete -C 'switchboard call wea'; \
        complete -C 'switchboard restart c'";
    let output = in_shell(folder.path(), "fish", &["--no-config", "-c", script]);
    assert_eq!(output, "weather\tSays how warm it is\nclock\tsh\n");
}

/// The line editor of zsh runs on a terminal of its own; the script is loaded from a folder of `fpath`, as people install
/// it, and tab completes.
#[test]
fn zsh_completes_by_the_script() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("switchboard.toml"), CONFIG).unwrap();
    let functions = folder.path().join("functions");
    fs::create_dir(&functions).unwrap();
    let printed = switchboard(folder.path(), &["completions", "zsh"]).output().unwrap();
    fs::write(functions.join("_switchboard"), printed.stdout).unwrap();
    let script = r#"
        zmodload zsh/zpty
        zpty shell zsh -f -i
        expect() {
            local seen= piece
            repeat 400; do
                if zpty -r -t shell piece; then seen+=$piece; else sleep 0.05; fi
                [[ $seen == *$1* ]] && return
            done
            print -u2 -r -- "never saw $1 in: $seen"; exit 1
        }
        zpty -w shell "PS1= fpath=($PWD/functions \$fpath); autoload -Uz compinit; compinit -u -D; print rea''dy"
        expect ready
        zpty -w -n shell $'switchboard call wea\t'
        expect 'call weather'
        zpty -w -n shell $'\C-uswitchboard restart c\t'
        expect 'restart clock'
    "#;
    assert_eq!(in_shell(folder.path(), "zsh", &["-f", "-c", script]), "");
}
