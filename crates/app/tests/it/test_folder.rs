//! A folder to run the binary in.

use std::{
    fs,
    io::{ErrorKind, Write},
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

/// A folder with files, and the variables that the binary sees.
pub(crate) struct TestFolder {
    folder: TempDir,
    /// `XDG_RUNTIME_DIR`, so that no gateway of the machine is found.
    runtime: TempDir,
    variables: Vec<(String, String)>,
    /// Whether there is a folder for what is kept.
    has_state: bool,
    /// Whether the folder's config is named, as nobody trusts one that is only found (PO-3).
    names_config: bool,
    /// Whether files are created for everybody, unless somebody says otherwise.
    umask_000: bool,
}

/// How a run ended and what it wrote.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl TestFolder {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            runtime: tempfile::tempdir().unwrap(),
            variables: Vec::new(),
            has_state: true,
            names_config: true,
            umask_000: false,
        }
    }

    pub(crate) fn with_config(text: &str) -> Self {
        Self::new().file("switchboard.toml", text)
    }

    pub(crate) fn file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same place, with a folder of its own for temporary files.
    pub(crate) fn with_own_temp(self) -> Self {
        let folder = self.path().join("tmp");
        fs::create_dir(&folder).unwrap();
        self.variable("TMPDIR", &folder.display().to_string())
    }

    /// The same place without a folder for what is kept.
    pub(crate) fn homeless(mut self) -> Self {
        self.has_state = false;
        self
    }

    /// The same place, where the config of the folder is found and not named.
    pub(crate) fn finding(mut self) -> Self {
        self.names_config = false;
        self
    }

    /// The variables that the binary sees beside `PATH`.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        let mut variables = Vec::new();
        if self.names_config && self.path().join("switchboard.toml").exists() {
            variables.push(("SWITCHBOARD_CONFIG".to_owned(), "switchboard.toml".to_owned()));
        }
        if self.has_state {
            let state = self.path().join("state").display().to_string();
            variables.push(("XDG_STATE_HOME".to_owned(), state));
        }
        variables.push(("XDG_RUNTIME_DIR".to_owned(), self.runtime().display().to_string()));
        variables.extend(self.variables.iter().cloned());
        variables
    }

    /// The same place, in which the binary runs with a umask of 000.
    pub(crate) fn with_umask_000(mut self) -> Self {
        self.umask_000 = true;
        self
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn runtime(&self) -> &Path {
        self.runtime.path()
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let program = env!("CARGO_BIN_EXE_switchboard");
        let mut command = Command::new(if self.umask_000 { "sh" } else { program });
        if self.umask_000 {
            command.args(["-c", r#"umask 000; exec "$0" "$@""#, program]);
        }
        command.args(words).current_dir(self.path()).env_clear();
        command.env("PATH", "/usr/bin:/bin");
        command.envs(self.variables());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> CommandOutput {
        CommandOutput::of(self.command(words).output().unwrap())
    }

    pub(crate) fn run_with_stdin(&self, words: &[&str], stdin: &[u8]) -> CommandOutput {
        let mut child = self.command(words).stdin(Stdio::piped()).spawn().unwrap();
        match child.stdin.take().unwrap().write_all(stdin) {
            // A program that reads nothing may have ended already.
            Err(error) if error.kind() != ErrorKind::BrokenPipe => panic!("{error}"),
            _ => {}
        }
        CommandOutput::of(child.wait_with_output().unwrap())
    }

    /// The envelope of a call, which must be all that stdout has, with the exit status that it stands for.
    pub(crate) fn call(&self, words: &[&str]) -> Value {
        let ran = self.run(&[&["call", "--json"], words].concat());
        let envelope = ran.json();
        let status = if envelope["success"] == true { 0 } else { 1 };
        assert_eq!(ran.status, status, "{ran:?}");
        assert!(envelope["execution_time_ms"].as_f64().is_some(), "{ran:?}"); // EX-7
        envelope
    }

    /// The `error` of a call that must fail.
    pub(crate) fn error(&self, words: &[&str]) -> String {
        self.call(words)["error"].as_str().unwrap().to_owned()
    }

    /// The message of a run that must end as wrong usage or config.
    pub(crate) fn refusal(&self, words: &[&str]) -> String {
        let ran = self.run(words);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{ran:?}");
        ran.stderr
    }
}

impl CommandOutput {
    pub(crate) fn of(output: std::process::Output) -> Self {
        Self {
            status: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Stdout, which must be one line of JSON.
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.stdout.trim_end().lines().count(), 1, "{self:?}");
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}
