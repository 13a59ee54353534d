//! Starts the process.

use std::{ffi::OsStr, process::Stdio};

use switchboard_toolcall::child_env;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use super::{Config, StartError};
use crate::guard;

/// Our ends of the child's pipes.
pub(super) struct Pipes {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
}

/// Starts the server, or the guard that starts it.
pub(super) fn spawn(config: &Config) -> Result<(Child, Pipes), StartError> {
    if let Some(directory) = config.cwd.as_ref().filter(|directory| !directory.is_dir()) {
        return Err(StartError::Directory(directory.clone()));
    }
    let mut command = command(config);
    let mut child = command.spawn().map_err(|error| {
        StartError::Command(guard::cannot_start(command.as_std().get_program(), &error))
    })?;
    match (child.stdin.take(), child.stdout.take(), child.stderr.take()) {
        (Some(stdin), Some(stdout), Some(stderr)) => Ok((child, Pipes { stdin, stdout, stderr })),
        // All three were asked for; without them the child sees the end of its input and leaves.
        _ => Err(StartError::Command(format!("no pipes to '{}'", config.command))),
    }
}

fn command(config: &Config) -> Command {
    let program = config
        .guard
        .as_ref()
        .map_or(OsStr::new(&config.command), |guard| guard.program.as_os_str());
    let mut command = Command::new(program);
    if let Some(guard) = &config.guard {
        command.args(&guard.args).arg(&config.command);
    }
    command.args(&config.args);
    if !config.inherit_env {
        command.env_clear();
        let is_inherited = |name: &OsStr| name.to_str().is_some_and(child_env::is_inherited);
        command.envs(std::env::vars_os().filter(|(name, _)| is_inherited(name)));
    }
    command.envs(&config.env);
    if let Some(directory) = &config.cwd {
        command.current_dir(directory);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Apart from ours, so that Ctrl-C in our terminal does not end it before we do, and all of it can be ended.
    command.process_group(0);
    command
}
