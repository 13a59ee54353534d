//! Programs that run for one call, with a guard and without (TK-1, MC-7).

#![expect(clippy::unwrap_used, reason = "tests may")]

mod ending;
mod running;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use switchboard_process::{
    CapturedOutput, FinishedProcess, ProcessEnd, ProcessGuard, Program, StartError,
};

/// The guard that these tests start.
fn guard() -> ProcessGuard {
    let test = std::env::current_exe().unwrap();
    let program = test.parent().unwrap().parent().unwrap().join("examples/program_guard");
    assert!(program.exists(), "{} is built with the tests", program.display());
    ProcessGuard { program, args: Vec::new() }
}

/// The program with a guard before it, and without.
fn both(command: &str, args: &[&str]) -> [Program; 2] {
    [Some(guard()), None].map(|guard| Program {
        command: command.to_owned(),
        args: args.iter().map(|&arg| arg.to_owned()).collect(),
        env: BTreeMap::new(),
        inherit_env: false,
        cwd: None,
        guard,
        entry: Vec::new(),
    })
}

async fn run(program: &Program, input: &[u8]) -> Result<FinishedProcess, StartError> {
    program.run(input, CapturedOutput::keeping(1000, 1000), CapturedOutput::keeping(0, 1000)).await
}

fn text(captured: CapturedOutput) -> String {
    let (head, tail) = captured.into_parts();
    String::from_utf8([head, tail].concat()).unwrap()
}

/// Whether a process of this number runs.
fn is_running(pid: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The state follows the name, which is in parentheses.
    status.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// Waits until the file holds so many whole lines, and returns them.
async fn lines_in(file: &PathBuf, count: usize) -> Vec<String> {
    for _ in 0..500 {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        if text.ends_with('\n') && text.lines().count() >= count {
            return text.lines().map(str::to_owned).collect();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{} never had {count} lines", file.display());
}

/// Waits until a guard has told which group it started: then it closes its stdout, in whose place is `/dev/null`.
async fn has_told_its_group(guard: &str) {
    let stdout = format!("/proc/{guard}/fd/1");
    for _ in 0..500 {
        if std::fs::read_link(&stdout).is_ok_and(|file| file == Path::new("/dev/null")) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the guard {guard} never told its group");
}

/// Waits until none of the processes runs.
async fn gone(pids: &[String]) {
    for _ in 0..500 {
        if !pids.iter().any(|pid| is_running(pid)) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("of {pids:?} some still run");
}

fn exited(status: i32) -> ProcessEnd {
    ProcessEnd::Exited(status)
}
