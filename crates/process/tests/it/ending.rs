//! MC-7: nothing of a program is left, however it ends.

use std::{process::Command, time::Duration};

use switchboard_process::ProcessEnd;
use tokio::time::{sleep, timeout};

use crate::{both, exited, gone, is_running, lines_in, run, text};

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
    // The guard has to say which group it started before it is killed.
    sleep(Duration::from_millis(300)).await;
    assert!(Command::new("kill").args(["-9", &pids[1]]).status().unwrap().success());
    assert_eq!(running.await.unwrap().unwrap().ending, ProcessEnd::Unguarded);
    gone(&pids).await;
}
