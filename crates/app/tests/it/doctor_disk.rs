//! `doctor`: where things are kept, and what really answers.

use std::{fs, os::unix::fs::PermissionsExt};

use crate::test_folder::TestFolder;

/// The row of doctor's table that begins with this mark and name.
fn row(place: &TestFolder, name: &str) -> (i32, String) {
    let ran = place.run(&["doctor"]);
    let is_its = |line: &&str| line.split_whitespace().nth(1) == Some(name);
    let row = ran.stdout.lines().find(is_its).unwrap_or_else(|| panic!("{name}: {ran:?}"));
    (ran.status, row.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// A place whose state folder is below its home.
fn at_home() -> TestFolder {
    let place = TestFolder::new().homeless();
    let home = place.path().display().to_string();
    place.variable("HOME", &home)
}

// RC-1
#[test]
fn records_are_told_as_they_are() {
    let place = at_home();
    let (status, none) = row(&place, "records");
    assert_eq!(none, "✓ records ~/.local/state/switchboard, no calls yet, 0 B of 1 GB, 30 days");
    assert_eq!(status, 0);
    for text in ["a", "b"] {
        place.call(&["echo", &format!("text={text}")]);
    }
    let (_, some) = row(&place, "records");
    let begins = "✓ records ~/.local/state/switchboard, 2 calls since ";
    assert!(some.starts_with(begins) && some.ends_with("kB of 1 GB, 30 days"), "{some}");
    let time = some[begins.len()..].split(',').next().unwrap_or_default();
    assert!(time.len() == 5 && time.as_bytes()[2] == b':', "{some}");
    // Nothing of the check is left behind, and the records are as they were.
    let ran = place.run(&["calls", "verify"]);
    assert!(ran.status == 0 && ran.stdout.contains("2 calls"), "{ran:?}");
}

#[test]
fn other_records_are_told_too() {
    let place = TestFolder::with_config("[audit]\nenabled = false\n");
    assert_eq!(row(&place, "records").1, "• records switched off: `[audit] enabled = false`");
    let config = "[audit]\npath = \"kept\"\nmax_age = \"36h\"\nmax_size = \"20MB\"\n";
    let place = TestFolder::with_config(config);
    assert_eq!(row(&place, "records").1, "✓ records kept, no calls yet, 0 B of 20 MB, 36 hours");
}

#[test]
fn it_says_where_everything_is_how_large_and_how_old() {
    let place = at_home().file("switchboard.toml", "[executor]\n");
    let state = "~/.local/state/switchboard";
    assert_eq!(row(&place, "tokens").1, format!("• tokens {state}/tokens.json, none yet"));
    assert_eq!(row(&place, "chats").1, format!("• chats {state}/chats, none yet"));
    assert_eq!(row(&place, "approvals").1, format!("• approvals {state}/approvals, none yet"));
    let config = row(&place, "config").1;
    let begins = "✓ config switchboard.toml was read, 11 B, changed ";
    assert!(config.starts_with(begins), "{config}");
    place.run(&["token", "new", "--name", "me"]);
    let place = place.file(".local/state/switchboard/chats/a.json", "{}");
    let place = place.file(".local/state/switchboard/chats/b.json", "{}");
    let tokens = row(&place, "tokens").1;
    assert!(tokens.contains(" B, changed ") && !tokens.contains("none yet"), "{tokens}");
    let chats = row(&place, "chats").1;
    assert!(
        chats.starts_with(&format!("• chats {state}/chats, 2 files, 4 B, changed ")),
        "{chats}"
    );
    let whole = row(&place, "state").1;
    assert!(
        whole.starts_with(&format!("• state {state}, ")) && whole.contains(" files, "),
        "{whole}"
    );
}

/// A place in which `wpctl` is this script, and there is no other mixer.
fn with_wpctl(script: &str) -> TestFolder {
    let place = TestFolder::new().file("bin/wpctl", format!("#!/bin/sh\n{script}\n"));
    let program = place.path().join("bin/wpctl");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}", place.path().join("bin").display());
    place.variable("PATH", &path)
}

// LT-3
#[test]
fn a_mixer_works_only_if_it_answers() {
    let answers = with_wpctl("echo 'Volume: 0.40'");
    assert_eq!(row(&answers, "mixer"), (0, "✓ mixer pipewire answers".to_owned()));
    // As it is where the program is installed and no sound server runs.
    let silent = with_wpctl("echo 'Could not connect to PipeWire' >&2; exit 1");
    let (status, mixer) = row(&silent, "mixer");
    assert_eq!(status, 0, "{mixer}");
    let says = "• mixer control_speaker_volume cannot be used: no mixer answers (pipewire: wpctl failed: \
                Could not connect to PipeWire; pulseaudio: pactl is not installed;";
    assert!(mixer.starts_with(says), "{mixer}");
}

// HM-1
#[test]
fn a_zwave_network_that_is_not_there_is_broken() {
    let program = env!("CARGO_BIN_EXE_switchboard");
    let config = format!(
        "[servers.home]\ncommand = {program:?}\nargs = [\"zwave\", \"--mqtt\", \"mqtt://127.0.0.1:1\"]\n"
    );
    let place = TestFolder::with_config(&config);
    let ran = place.run(&["doctor"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    let row = ran.stdout.lines().find(|line| line.starts_with("✗ server home"));
    assert!(row.is_some_and(|row| row.contains("127.0.0.1:1")), "{ran:?}");
}
