//! Programs to start.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Stdio,
};

use tokio::process::{Child, Command};

use crate::{
    environment,
    guard::{self, ProcessGuard},
};

/// A program with its arguments and surroundings.
#[derive(Clone)]
pub struct Program {
    /// The program, looked for in `PATH` if it is a bare name.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Environment variables for it, besides the few that every child gets.
    pub env: BTreeMap<String, String>,
    /// Whether it gets all of our environment.
    pub inherit_env: bool,
    /// The working directory; ours if unset.
    pub cwd: Option<PathBuf>,
    /// What ends it when we are killed.
    pub guard: Option<ProcessGuard>,
    /// A program with its first arguments that becomes this one, such as one that confines itself first; none if empty. With one,
    /// a guard also ends processes that have left the program's group.
    pub entry: Vec<OsString>,
}

/// Why a program could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The program, or the guard before it, cannot be run.
    #[error("{0}")]
    Command(String),
    /// The working directory is not there.
    #[error("the working directory '{}' does not exist", .0.display())]
    Directory(PathBuf),
    /// The arguments and variables are longer than the system allows.
    #[error("the arguments and variables are longer than the system takes")]
    TooLong,
}

impl Program {
    /// Starts the program, or the guard that starts it, in its own process group, with pipes to it.
    ///
    /// # Errors
    /// Says what could not be started; with a guard that is the guard.
    pub fn spawn(&self) -> Result<Child, StartError> {
        self.spawn_with(&[], Stdio::piped())
    }

    /// Like [`spawn`](Self::spawn), with arguments for the guard and another stdin.
    pub(crate) fn spawn_with(&self, guard: &[&str], stdin: Stdio) -> Result<Child, StartError> {
        if let Some(directory) = self.cwd.as_ref().filter(|directory| !directory.is_dir()) {
            return Err(StartError::Directory(directory.clone()));
        }
        let mut command = self.command(guard);
        command.stdin(stdin);
        command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::ArgumentListTooLong => StartError::TooLong,
            _ => StartError::Command(guard::cannot_start(command.as_std().get_program(), &error)),
        })
    }

    /// Returns whether the program exists and is executable, at its path or in a folder of `PATH`.
    pub fn exists(&self) -> bool {
        let is_program = |path: &Path| {
            path.metadata()
                .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
        };
        if self.command.contains('/') {
            let folder = self.cwd.as_deref().unwrap_or(Path::new(""));
            return is_program(&folder.join(&self.command));
        }
        let own = self.env.get("PATH").map(Into::into);
        let folders = own.or_else(|| std::env::var_os("PATH")).unwrap_or_default();
        std::env::split_paths(&folders).any(|folder| is_program(&folder.join(&self.command)))
    }

    fn command(&self, for_guard: &[&str]) -> Command {
        let own = [OsStr::new(&self.command)];
        let mut words = self.entry.iter().map(OsString::as_os_str).chain(own);
        let mut command = match &self.guard {
            Some(guard) => {
                let mut command = Command::new(guard.file());
                command.args(&guard.args);
                if !self.entry.is_empty() {
                    command.arg(guard::ADOPTING);
                }
                command.args(for_guard);
                command
            }
            None => Command::new(words.next().unwrap_or_default()),
        };
        command.args(words).args(&self.args);
        if !self.inherit_env {
            command.env_clear();
            let is_inherited = |name: &OsStr| name.to_str().is_some_and(environment::is_inherited);
            command.envs(std::env::vars_os().filter(|(name, _)| is_inherited(name)));
        }
        command.envs(&self.env);
        if let Some(directory) = &self.cwd {
            command.current_dir(directory);
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        // Apart from ours, so that Ctrl-C in our terminal does not end it before we do, and all of it can be ended.
        command.process_group(0);
        command
    }
}
