//! Real NATS servers with JetStream, one or three of them, from the part `nats`.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::process::{Process, free_port};

/// A server that is stopped when dropped; its data is in a folder of the owner.
#[derive(Debug)]
pub struct Nats {
    process: Process,
    program: PathBuf,
    words: Vec<String>,
    port: u16,
}

impl Nats {
    /// Starts one server that keeps what it keeps in `folder`.
    ///
    /// # Panics
    /// The part is not installed, or the server does not start.
    pub fn start(parts: &Path, folder: &Path) -> Self {
        Self::with(parts, folder, &[])
    }

    /// As [`start`](Self::start), with further words for the server.
    ///
    /// # Panics
    /// As [`start`](Self::start).
    pub fn with(parts: &Path, folder: &Path, words: &[&str]) -> Self {
        let port = free_port();
        let folder = folder.to_str().expect("tests have plain paths");
        let own =
            ["-a", "127.0.0.1", "-p", &port.to_string(), "-js", "-sd", folder].map(str::to_owned);
        let words = own.into_iter().chain(words.iter().map(|word| (*word).to_owned()));
        Self::run(parts.join("nats/venv/bin/nats-server"), words.collect(), port)
    }

    /// Starts one server with a config of its own, which says that it listens on this port of this machine.
    ///
    /// # Panics
    /// As [`start`](Self::start).
    pub fn configured(parts: &Path, file: &Path, port: u16) -> Self {
        let file = file.to_str().expect("tests have plain paths").to_owned();
        Self::run(parts.join("nats/venv/bin/nats-server"), vec!["-c".to_owned(), file], port)
    }

    /// Three servers that know each other, each with a folder of its own below `folder`.
    ///
    /// # Panics
    /// As [`start`](Self::start).
    pub fn three(parts: &Path, folder: &Path) -> [Self; 3] {
        let routes = [free_port(), free_port(), free_port()];
        let all = routes.map(|port| format!("nats://127.0.0.1:{port}")).join(",");
        [0, 1, 2].map(|place| {
            let (name, own) = (format!("n{place}"), format!("nats://127.0.0.1:{}", routes[place]));
            let folder = folder.join(&name);
            let words =
                ["--name", &name, "--cluster_name", "three", "--cluster", &own, "--routes", &all];
            Self::with(parts, &folder, &words)
        })
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Lets it neither go on nor end.
    pub fn pause(&self) {
        self.process.pause();
    }

    /// Lets it go on.
    pub fn resume(&self) {
        self.process.resume();
    }

    /// Ends it at once.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Starts it again, at the same address and with its data.
    ///
    /// # Panics
    /// It does not start.
    pub fn restart(&mut self) {
        let (program, words) = (self.program.clone(), self.words.clone());
        self.process.kill();
        *self = Self::run(program, words, self.port);
    }

    fn run(program: PathBuf, words: Vec<String>, port: u16) -> Self {
        let mut command = Command::new(&program);
        command.args(&words);
        Self { process: Process::listening(command, port), program, words, port }
    }
}
