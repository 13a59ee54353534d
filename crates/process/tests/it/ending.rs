//! MC-7: nothing of a program is left, however it ends.

use std::{process::Command, time::Duration};

use switchboard_process::ProcessEnd;
use tokio::time::timeout;

use crate::{both, exited, gone, has_told_its_group, is_running, lines_in, run, text};

// TK-1, MC-7: also a program, and its children, that ignore SIGTERM.
#[tokio::test]
async fn a_run_that_is_dropped_ends_the_whole_group() {
    let folder = tempfile::tempdir().unwrap();
    for (number, ignore) in ["", "trap '' TERM; "].into_iter().enumerate() {
        for (kind, program) in both("sh", &[]).into_iter().enumerate() {
            let file = folder.path().join(format!("{number}-{kind}"));
            let script = format!(
                "{ignore}sleep 1000 & echo $! >{0}; echo $$ >>{0}; while :; do sleep 1000; done",
                file.display()
            );
            let mut program = program;
            program.args = vec!["-c".to_owned(), script];
            let running = tokio::spawn(async move { run(&program, b"").await.map(drop) });
            let pids = lines_in(&file, 2).await;
            assert!(pids.iter().all(|pid| is_running(pid)));
            running.abort();
            gone(&pids).await;
        }
    }
}

// MC-7: what a program leaves behind in its group ends with it, and does not keep us.
#[tokio::test]
async fn what_a_program_starts_in_the_background_ends_with_it() {
    for program in both("sh", &["-c", "trap '' TERM; sleep 1000 & echo $!"]) {
        let finished = timeout(Duration::from_secs(30), run(&program, b"")).await.unwrap().unwrap();
        assert_eq!(finished.ending, exited(0));
        gone(&[text(finished.stdout).trim().to_owned()]).await;
    }
}

// TK-1: somebody who has left the group keeps the pipes, but not us.
#[tokio::test]
async fn a_daemon_does_not_hold_the_call() {
    for program in both("sh", &["-c", "setsid sleep 60 & echo $!; sleep 0.2"]) {
        let finished = timeout(Duration::from_secs(30), run(&program, b"")).await.unwrap().unwrap();
        let daemon = text(finished.stdout);
        assert!(Command::new("kill").arg(daemon.trim()).status().unwrap().success());
    }
}

// MC-7
#[tokio::test]
async fn a_program_whose_guard_is_killed_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pids");
    let script = format!("echo $$ >{0}; echo $PPID >>{0}; sleep 1000", file.display());
    let [guarded, _] = both("sh", &["-c", &script]);
    let running = tokio::spawn(async move { run(&guarded, b"").await });
    let pids = lines_in(&file, 2).await;
    has_told_its_group(&pids[1]).await;
    assert!(Command::new("kill").args(["-9", &pids[1]]).status().unwrap().success());
    assert_eq!(running.await.unwrap().unwrap().ending, ProcessEnd::Unguarded);
    gone(&pids).await;
}

// SB-1, MC-7: a process with a session of its own, whose parent has ended, has no limits but those of its sandbox.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn nothing_of_a_confined_program_is_left_that_has_left_its_group() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = "(trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$; exec sleep 1000' & )";
    for (number, rest) in ["", "sleep 1000"].into_iter().enumerate() {
        let file = folder.path().join(number.to_string());
        let path = file.display();
        // A program that ends before its daemon has begun would take it along.
        let begun = format!("while [ ! -s {path} ]; do sleep 0.01; done");
        let script = format!("{daemon} > {path}; {begun}; {rest}");
        let [mut program, _] = both("sh", &["-c", &script]);
        program.entry = vec!["env".into()];
        let running = tokio::spawn(async move { run(&program, b"").await });
        let pids = lines_in(&file, 1).await;
        if rest.is_empty() {
            assert_eq!(running.await.unwrap().unwrap().ending, exited(0));
        } else {
            assert!(is_running(&pids[0]));
            running.abort();
        }
        gone(&pids).await;
    }
}

// SB-1: orphans that have ended count as processes until somebody waits for them.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn orphans_of_a_confined_program_are_reaped_while_it_runs() {
    let orphan = "(sh -c 'echo $$; exec sleep 0.05' &)";
    let script = format!(
        "pid=$( {orphan} ); while [ -e /proc/$pid ]; do sleep 0.02; done; echo reaped; exit 3"
    );
    let [mut program, _] = both("sh", &["-c", &script]);
    program.entry = vec!["env".into()];
    let finished = timeout(Duration::from_secs(60), run(&program, b"")).await.unwrap().unwrap();
    assert_eq!((finished.ending, text(finished.stdout).as_str()), (exited(3), "reaped\n"));
}
