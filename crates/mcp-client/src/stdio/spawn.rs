//! Starts the process.

use switchboard_process::Program;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

use super::{StartError, StdioConfig};

/// Our ends of the child's pipes.
pub(super) struct Pipes {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
}

/// Starts the server, or the guard that starts it.
pub(super) fn spawn(config: &StdioConfig) -> Result<(Child, Pipes), StartError> {
    let mut child = program(config).spawn()?;
    match (child.stdin.take(), child.stdout.take(), child.stderr.take()) {
        (Some(stdin), Some(stdout), Some(stderr)) => Ok((child, Pipes { stdin, stdout, stderr })),
        // All three were requested; without them the child sees the end of its input and ends.
        _ => Err(StartError::Command(format!("no pipes to '{}'", config.command))),
    }
}

fn program(config: &StdioConfig) -> Program {
    Program {
        command: config.command.clone(),
        args: config.args.clone(),
        env: config.env.clone(),
        inherit_env: config.inherit_env,
        cwd: config.cwd.clone(),
        guard: config.guard.clone(),
        entry: config.sandbox.iter().flat_map(|sandbox| sandbox.entry().iter().cloned()).collect(),
    }
}
