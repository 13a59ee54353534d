//! What goes where: results to stdout, everything else to stderr, and neither need be there.

use std::{fs::File, io::Read, process::Stdio};

use crate::test_folder::{CommandOutput, TestFolder};

#[test]
fn stdout_is_pure_at_every_level() {
    // EX-6
    for level in ["trace", "error", "off", "", "nonsense=loud=very"] {
        let place = TestFolder::new().variable("RUST_LOG", level);
        assert_eq!(place.call(&["math_eval", "expression=1+1"])["result"]["result"], 2);
        assert!(place.run(&["tools", "--json"]).json().is_array());
        assert_eq!(place.run(&["doctor", "--json"]).json()["ok"], true);
    }
}

#[test]
fn logs_go_to_stderr_each_line_with_its_level() {
    // EX-5
    let mock = "[[tools]]\nname = \"mock\"\ndescription = \"d\"\n\
                implementation = { type = \"mock\", mock_response = \"line\\nINFO forged\" }\n";
    let place = TestFolder::with_config(mock).variable("RUST_LOG", "info");
    let ran = place.run(&["call", "mock", "password=hunter2", "a=b\nINFO forged"]);
    assert!(ran.stderr.contains("call of 'mock' succeeded"), "{ran:?}");
    assert!(ran.stderr.lines().all(|line| line.contains("Z  INFO ")), "{ran:?}");
    assert!(!ran.stderr.contains("hunter2") && !ran.stderr.contains('\x1b'), "{ran:?}");
    let ran = place.run(&["call", "no\nbody", "--json"]);
    assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
    assert!(ran.stderr.lines().all(|line| line.contains(" WARN ")), "{ran:?}");
    // One-shot commands say nothing below a warning by default.
    assert_eq!(TestFolder::new().run(&["call", "echo"]).stderr, "");
    assert!(TestFolder::new().run(&["call", "nobody"]).stderr.contains(" WARN "));
    let wrong = TestFolder::new().variable("RUST_LOG", "nonsense=loud=very").run(&["call", "echo"]);
    assert!(wrong.stderr.contains("RUST_LOG is not understood"), "{wrong:?}");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let place = TestFolder::new();
    for words in [
        &["tools"][..],
        &["tools", "--json"],
        &["completions", "bash"],
        &["call", "echo"],
        &["--help"],
    ] {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let child = place.command(words).stdout(writer).spawn().unwrap();
        let _ = reader.read(&mut [0]);
        drop(reader);
        let ran = CommandOutput::of(child.wait_with_output().unwrap());
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{words:?} {ran:?}");
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let child = place.command(words).stdout(writer).spawn().unwrap();
        let ran = CommandOutput::of(child.wait_with_output().unwrap());
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{words:?} {ran:?}");
    }
}

#[test]
fn a_full_disk_is_told() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let child =
        TestFolder::new().command(&["call", "echo"]).stdout(Stdio::from(full)).spawn().unwrap();
    let ran = CommandOutput::of(child.wait_with_output().unwrap());
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.stderr.contains("failed to write to stdout"), "{ran:?}");
}

#[test]
fn colours_are_for_terminals_unless_asked_for() {
    let place = TestFolder::with_config("[executor]\nx = 1");
    assert!(!place.run(&["tools"]).stderr.contains('\x1b'));
    assert!(place.run(&["tools", "--color", "always"]).stderr.contains('\x1b'));
    assert!(TestFolder::new().run(&["doctor", "--color=always"]).stdout.contains('\x1b'));
}
