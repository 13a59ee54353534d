//! `switchboard serve`, and what the tests around it share.

use std::{
    ffi::OsStr,
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use serde_json::Value;

/// A process that ends with the test.
pub(crate) struct Ending(pub(crate) Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A gateway that listens.
pub(crate) struct Serving {
    process: Ending,
    /// Without `http://`.
    pub(crate) address: String,
}

impl Serving {
    /// Starts it in a folder that gets this config.
    pub(crate) fn start(folder: &Path, config: &str) -> Self {
        fs::write(folder.join("switchboard.toml"), config).unwrap();
        let mut command = switchboard(folder, &["serve", "--json", "--listen", "127.0.0.1:0"]);
        let mut process =
            Ending(command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
        let mut line = String::new();
        BufReader::new(process.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let told: Value = serde_json::from_str(&line).unwrap();
        let address = told["address"].as_str().unwrap().replace("http://", "");
        Self { process, address }
    }

    /// The body of an answer to a POST.
    pub(crate) fn post(&self, path: &str, headers: &[(&str, &str)], body: &Value) -> Value {
        let headers = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
        let head = format!(
            "Content-Type: application/json\r\nAccept: application/json\r\n{}",
            headers.collect::<String>()
        );
        let text = http(&self.address, "POST", path, &head, &body.to_string());
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}"))
    }

    /// Tells it to stop, and waits until it has.
    pub(crate) fn stop(mut self) {
        let pid = self.process.0.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        assert_eq!(self.process.0.wait().unwrap().code(), Some(0));
    }
}

/// The binary, in a folder of its own.
pub(crate) fn switchboard(folder: &Path, words: &[&str]) -> Command {
    let mut command = program(env!("CARGO_BIN_EXE_switchboard"), folder);
    let config = folder.join("switchboard.toml");
    if config.exists() {
        // Nobody trusts one that is only found (PO-3).
        command.env("SWITCHBOARD_CONFIG", config);
    }
    command.args(words);
    command
}

/// A program that finds nothing of ours around it but the folder.
pub(crate) fn program(path: impl AsRef<OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(path);
    let path = format!("{}:/usr/bin:/bin", folder.join("bin").display());
    command.current_dir(folder).env_clear().env("PATH", path);
    command.env("XDG_STATE_HOME", folder.join("state"));
    command.env("XDG_CONFIG_HOME", folder.join("config")).stdin(Stdio::null());
    command
}

/// The body of an answer.
pub(crate) fn http(address: &str, method: &str, path: &str, head: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n{head}\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

/// A file among the parts that `cargo xtask parts` installs.
pub(crate) fn part(path: &str) -> PathBuf {
    let parts = std::env::var_os("SWITCHBOARD_PARTS").map(PathBuf::from);
    let path = parts.expect("SWITCHBOARD_PARTS is not set: run `cargo xtask test`").join(path);
    assert!(path.exists(), "no `{}`: run `cargo xtask parts`", path.display());
    path
}

/// A port that nobody listens on.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Looks until there is something to be seen.
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..1200 {
        if let Some(seen) = look() {
            return seen;
        }
        thread::sleep(Duration::from_millis(100));
    }
    panic!("waited two minutes for {what}");
}
