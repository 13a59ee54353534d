//! Records that cannot be read or written: what commands say of it.

use std::{
    fs::{self, Permissions},
    os::unix::{
        fs::{MetadataExt, PermissionsExt},
        process::CommandExt,
    },
};

use crate::test_folder::{CommandOutput, TestFolder};

/// Every question about records.
const QUESTIONS: [&[&str]; 9] = [
    &["calls"],
    &["calls", "--json"],
    &["calls", "--follow"],
    &["calls", "show", "01M7"],
    &["calls", "stats"],
    &["calls", "export"],
    &["calls", "export", "--as", "mocks"],
    &["calls", "verify"],
    &["calls", "gc", "--dry-run"],
];

/// A place where a file stands in the way of the state folder, which stops even the superuser.
fn blocked() -> TestFolder {
    TestFolder::new().file("state", "in the way")
}

/// Runs `words` as somebody who may not read the records.
fn as_another_user(place: &TestFolder, words: &[&str]) -> CommandOutput {
    let set = |path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    let mut command = place.command(words);
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    if is_root {
        const NOBODY: u32 = 65534;
        set(place.path().to_owned(), 0o755);
        command.uid(NOBODY).gid(NOBODY);
    } else {
        set(place.path().join("state/switchboard"), 0o000);
    }
    let ran = CommandOutput::of(command.output().unwrap());
    if !is_root {
        set(place.path().join("state/switchboard"), 0o700);
    }
    ran
}

// RC-2
#[test]
fn records_that_cannot_be_read_are_not_no_records() {
    for words in QUESTIONS {
        let place = blocked();
        let ran = place.run(words);
        assert_eq!((ran.status, ran.stdout.as_str()), (1, ""), "{words:?} {ran:?}");
        let path = place.path().join("state/switchboard/manifest.log");
        let says = format!("error: failed to read `{}`: Not a directory", path.display());
        assert!(ran.stderr.contains(&says), "{words:?} {ran:?}");
    }
}

// RC-2
#[test]
fn another_users_records_are_not_no_records() {
    let place = TestFolder::new();
    assert_eq!(place.call(&["echo", "text=x"])["success"], true);
    for words in QUESTIONS {
        let ran = as_another_user(&place, words);
        assert_eq!((ran.status, ran.stdout.as_str()), (1, ""), "{words:?} {ran:?}");
        let path = place.path().join("state/switchboard/manifest.log");
        let says = format!("failed to read `{}`: Permission denied", path.display());
        assert!(ran.stderr.contains(&says), "{words:?} {ran:?}");
    }
    let doctor = as_another_user(&place, &["doctor"]);
    assert!(doctor.status == 1 && doctor.stdout.contains("✗ records"), "{doctor:?}");
    assert!(doctor.stdout.contains("Permission denied"), "{doctor:?}");
}

// RC-2
#[test]
fn records_that_are_not_there_are_none() {
    let ran = TestFolder::new().run(&["calls", "--json"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "[]\n"), "{ran:?}");
    let ran = TestFolder::new().variable("XDG_STATE_HOME", "/proc/nope").run(&["calls", "--json"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, "[]\n"), "{ran:?}");
}

// RC-1
#[test]
fn a_call_that_cannot_be_recorded_says_where_why_and_what_to_do() {
    let place = TestFolder::new().variable("XDG_STATE_HOME", "/proc/nope");
    let envelope = place.call(&["control_speaker_volume", "action=mute"]);
    assert_eq!(envelope["error_kind"], "unavailable", "{envelope}");
    let says = "Tool 'control_speaker_volume' is unavailable: the record store could not be reached: \
                failed to create the folder `/proc/nope/switchboard`: No such file or directory (os error 2)";
    assert_eq!(envelope["error"], says);
    let hint = envelope["hint"].as_str().unwrap_or_default();
    assert!(hint.contains("`switchboard doctor`") && hint.contains("`[audit] path`"), "{envelope}");
    assert_eq!(place.call(&["math_eval", "expression=1"])["success"], true);
}

#[test]
fn doctor_finds_a_store_that_cannot_be_written() {
    for (place, cause) in [
        (blocked(), "Not a directory"),
        (TestFolder::new().variable("XDG_STATE_HOME", "/proc/nope"), "No such file or directory"),
        (TestFolder::new().file("state/switchboard/manifest.log/x", ""), "Is a directory"),
        (TestFolder::new().file("state/switchboard/journal", ""), "File exists"),
        (TestFolder::new().homeless(), "neither XDG_STATE_HOME nor HOME is set"),
    ] {
        let ran = place.run(&["doctor"]);
        assert_eq!(ran.status, 1, "{ran:?}");
        let row = ran.stdout.lines().find(|line| line.starts_with("✗ records"));
        assert!(row.is_some_and(|row| row.contains(cause)), "{cause} {ran:?}");
        assert!(!ran.stdout.contains("all is well"), "{ran:?}");
    }
}
