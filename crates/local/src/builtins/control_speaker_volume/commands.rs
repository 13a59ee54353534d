//! Running the mixers' commands.

use std::{collections::BTreeMap, io, process::Stdio, time::Duration};

use tokio::process::Command;

/// Mixers answer in milliseconds; one that takes this long waits for a server that hangs.
const PATIENCE: Duration = Duration::from_secs(3);

/// Why a mixer's command did not work.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(super) enum CommandProblem {
    #[error("{0} is not installed")]
    NotInstalled(String),
    #[error("{program} did not start: {reason}")]
    NotStarted { program: String, reason: String },
    #[error("{program} failed: {reason}")]
    Failed { program: String, reason: String },
    #[error("{0} does not answer")]
    Hangs(String),
    #[error("{program} gave no volume: {answer}")]
    Unreadable { program: String, answer: String },
}

/// Runs commands, one after the other, with these variables added to our own.
pub(super) struct Commands {
    env: BTreeMap<String, String>,
}

impl Commands {
    pub(super) fn new(env: BTreeMap<String, String>) -> Self {
        Self { env }
    }

    /// Runs `program` and reads its answer with `read`.
    pub(super) async fn ask<T>(
        &self,
        program: &str,
        args: &[&str],
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<T, CommandProblem> {
        let answer = self.run(program, args).await?;
        read(&answer.stdout).ok_or_else(|| CommandProblem::Unreadable {
            program: program.to_owned(),
            answer: last_line(&format!("{}\n{}", answer.stderr, answer.stdout)),
        })
    }

    /// Runs `program`; its answer does not matter.
    pub(super) async fn tell(&self, program: &str, args: &[&str]) -> Result<(), CommandProblem> {
        self.run(program, args).await.map(drop)
    }

    async fn run(&self, program: &str, args: &[&str]) -> Result<CommandAnswer, CommandProblem> {
        let output = Command::new(program)
            .args(args)
            .envs(&self.env)
            // We read what they print.
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        let output = match tokio::time::timeout(PATIENCE, output).await {
            Err(_) => return Err(CommandProblem::Hangs(program.to_owned())),
            Ok(Err(error)) => return Err(not_started(program, &error)),
            Ok(Ok(output)) => output,
        };
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() {
            let program = program.to_owned();
            let reason = last_line(&stderr);
            return Err(CommandProblem::Failed { program, reason });
        }
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(CommandAnswer { stdout, stderr })
    }
}

struct CommandAnswer {
    stdout: String,
    stderr: String,
}

fn not_started(program: &str, error: &io::Error) -> CommandProblem {
    let program = program.to_owned();
    match error.kind() {
        io::ErrorKind::NotFound => CommandProblem::NotInstalled(program),
        _ => CommandProblem::NotStarted { program, reason: error.to_string() },
    }
}

/// The last line of a program's account: the ones before it are the libraries'.
fn last_line(text: &str) -> String {
    const SHOWN: usize = 200;
    let last = text.lines().map(str::trim).rfind(|line| !line.is_empty());
    last.unwrap_or("no reason given").chars().take(SHOWN).collect()
}
