//! Runs a program to its end, for one call (TK-1).

mod running_process;

use std::{pin::pin, time::Duration};

use tokio::time::timeout;

use crate::{Program, StartError, capture::CapturedOutput};
use running_process::RunningProcess;

/// How long remaining output is waited for after the program's end: a process that left its group may hold the pipes.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessEnd {
    /// It exited with this status.
    Exited(i32),
    /// This signal ended it.
    Killed(i32),
    /// It could not be started, for this reason.
    Refused(String),
    /// Its guard was killed, and so was the program.
    Unguarded,
}

/// A finished program.
#[derive(Debug)]
pub struct FinishedProcess {
    /// How it ended.
    pub ending: ProcessEnd,
    /// Its stdout.
    pub stdout: CapturedOutput,
    /// Its stderr.
    pub stderr: CapturedOutput,
}

impl Program {
    /// Runs the program with this input until it ends; nothing of its process group is left then. What it writes is
    /// kept as far as `stdout` and `stderr` take it.
    ///
    /// # Errors
    /// The guard, or without one the program, cannot be started.
    ///
    /// # Cancel safety
    /// Dropping the future ends the program and its group: SIGTERM, and a second later SIGKILL.
    pub async fn run(
        &self,
        input: &[u8],
        mut stdout: CapturedOutput,
        mut stderr: CapturedOutput,
    ) -> Result<FinishedProcess, StartError> {
        let (mut running, pipes) = RunningProcess::start(self, input.len())?;
        let ending = {
            let mut read =
                pin!(async { tokio::join!(stdout.read(pipes.stdout), stderr.read(pipes.stderr)) });
            let mut ended = pin!(running.end(input));
            let mut is_read = false;
            let ending = loop {
                tokio::select! {
                    ending = &mut ended => break ending,
                    _ = &mut read, if !is_read => is_read = true,
                }
            };
            if !is_read {
                let _ = timeout(LAST_WORDS, read).await;
            }
            ending
        };
        Ok(FinishedProcess { ending, stdout, stderr })
    }
}
