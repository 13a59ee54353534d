//! A directory, and the daemons that live in it, ended with the test.

use std::{collections::BTreeMap, ffi::OsStr, path::PathBuf, process::Stdio, time::Duration};

use tempfile::TempDir;
use tokio::process::{Child, Command};

/// Daemons with a home and a runtime directory of their own.
pub(crate) struct Session {
    directory: TempDir,
    env: BTreeMap<String, String>,
    daemons: Vec<Child>,
}

impl Session {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().to_str().unwrap().to_owned();
        let names =
            ["HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "PULSE_RUNTIME_PATH"];
        let mut env: BTreeMap<_, _> = names.map(|name| (name.to_owned(), home.clone())).into();
        // Nothing of the machine's own sound, not even of other sessions.
        env.insert("PULSE_SERVER".to_owned(), format!("unix:{home}/pulse.socket"));
        env.insert("DBUS_SESSION_BUS_ADDRESS".to_owned(), format!("unix:path={home}/bus"));
        Self { directory, env, daemons: Vec::new() }
    }

    /// The path of a file in the session's directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.env.insert(name.to_owned(), value.into());
    }

    /// The variables that lead to the daemons.
    pub(crate) fn env(&self) -> BTreeMap<String, String> {
        self.env.clone()
    }

    /// Starts a daemon.
    pub(crate) fn start<S: AsRef<OsStr>>(&mut self, program: &str, args: &[S]) {
        let daemon = self
            .command(program, args)
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|error| panic!("{program} must be installed for this test: {error}"));
        self.daemons.push(daemon);
    }

    /// Runs a command and gives what it prints, where it succeeds and prints something.
    pub(crate) async fn run<S: AsRef<OsStr>>(&self, program: &str, args: &[S]) -> Option<String> {
        let output = self.command(program, args).output().await;
        let output = output.unwrap_or_else(|error| panic!("{program} must be installed: {error}"));
        let text = String::from_utf8(output.stdout).unwrap();
        (output.status.success() && !text.is_empty()).then_some(text)
    }

    /// Runs a command until it succeeds and prints something.
    pub(crate) async fn wait_for<S: AsRef<OsStr>>(&self, program: &str, args: &[S]) -> String {
        for _ in 0..200 {
            if let Some(text) = self.run(program, args).await {
                return text;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{program} does not get an answer from its server");
    }

    /// Waits until a daemon has made its socket.
    pub(crate) async fn wait_for_file(&self, name: &str) {
        for _ in 0..200 {
            if self.path(name).exists() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{name} does not appear");
    }

    /// Ends the daemons.
    pub(crate) async fn end(&mut self) {
        while let Some(mut daemon) = self.daemons.pop() {
            daemon.kill().await.unwrap();
        }
    }

    fn command<S: AsRef<OsStr>>(&self, program: &str, args: &[S]) -> Command {
        let mut command = Command::new(program);
        command.args(args).envs(&self.env).env("LC_ALL", "C").stdin(Stdio::null());
        command
    }
}
