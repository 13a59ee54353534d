//! What programs are given and what is read of them.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use switchboard_process::{CapturedOutput, ProcessEnd, StartError};

use crate::{both, exited, run, text};

// TK-1
#[tokio::test]
async fn input_output_and_status_are_the_programs() {
    let script = "cat; echo problem >&2; exit 3";
    for program in both("sh", &["-c", script]) {
        for input in ["", "one\ntwo\u{0}three"] {
            let finished = run(&program, input.as_bytes()).await.unwrap();
            assert_eq!(finished.ending, exited(3));
            assert_eq!(text(finished.stdout), input);
            assert_eq!(text(finished.stderr), "problem\n");
        }
    }
}

// TK-1: as shells tell it, a status of 137 would be signal 9.
#[tokio::test]
async fn a_signal_is_no_status() {
    for (script, ending) in [
        ("exit 137", exited(137)),
        ("kill -9 $$", ProcessEnd::Killed(9)),
        ("exit 127", exited(127)),
        ("echo group 1; echo signal 9; echo refused x; exit 0", exited(0)),
    ] {
        for program in both("sh", &["-c", script]) {
            assert_eq!(run(&program, b"").await.unwrap().ending, ending, "{script}");
        }
    }
}

// TK-1
#[tokio::test]
async fn what_cannot_be_started_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plain.txt");
    fs::write(&file, "text").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let file = file.display().to_string();
    for (command, reason) in
        [("no-such-program", "No such file or directory"), (&file, "Permission denied")]
    {
        let expected = format!("cannot start '{command}': {reason}");
        let [guarded, plain] = both(command, &[]);
        assert!(!guarded.exists() && !plain.exists());
        let ending = run(&guarded, b"input").await.unwrap().ending;
        assert_eq!(ending, ProcessEnd::Refused(expected.clone()));
        assert_eq!(run(&plain, b"input").await.unwrap_err().to_string(), expected);
    }
    for mut program in both("true", &[]) {
        assert!(program.exists());
        program.cwd = Some(PathBuf::from("/no/such/folder"));
        let error = run(&program, b"").await.unwrap_err().to_string();
        assert_eq!(error, "the working directory '/no/such/folder' does not exist");
    }
    let long = "x".repeat(3_000_000);
    for program in both("true", &[&long]) {
        let error = run(&program, b"").await.unwrap_err();
        assert!(matches!(error, StartError::TooLong), "{error}");
    }
}

// MC-7
#[tokio::test]
async fn a_program_sees_few_variables_and_those_that_are_set() {
    for mut program in both("sh", &["-c", "echo $NAMED; env | grep -c CARGO; pwd"]) {
        program.env.insert("NAMED".to_owned(), "yes".to_owned());
        program.cwd = Some(PathBuf::from("/"));
        let finished = run(&program, b"").await.unwrap();
        assert_eq!(text(finished.stdout), "yes\n0\n/\n", "cargo's variables are there for us");
    }
}

// TK-1
#[tokio::test]
async fn what_a_program_writes_takes_no_more_than_it_may() {
    for program in both("head", &["-c", "100000000", "/dev/zero"]) {
        let finished = program
            .run(b"", CapturedOutput::keeping(1000, 2000), CapturedOutput::default())
            .await
            .unwrap();
        assert_eq!(
            (finished.stdout.written(), finished.stdout.missing()),
            (100_000_000, 99_997_000)
        );
    }
}

// TK-1
#[tokio::test]
async fn input_that_nobody_reads_holds_nothing_up() {
    let input = vec![b'x'; 5_000_000];
    for program in both("true", &[]) {
        assert_eq!(run(&program, &input).await.unwrap().ending, exited(0));
    }
    for program in both("wc", &["-c"]) {
        assert_eq!(text(run(&program, &input).await.unwrap().stdout).trim(), "5000000");
    }
}
