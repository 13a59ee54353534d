//! A NATS, workers with a tool server that writes down what it did, and gateways.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    thread::{self, JoinHandle},
};

use serde_json::{Value, json};
use switchboard_testkit::Nats;
use tempfile::TempDir;

use crate::serving::{Ending, Serving, http, part, switchboard, wait_for};

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real/witness_server.py");

/// What all processes of a test share.
pub(crate) struct WorkerSetup {
    pub(crate) nats: Nats,
    folder: TempDir,
    _kept: TempDir,
}

impl WorkerSetup {
    pub(crate) fn new() -> Self {
        let kept = tempfile::tempdir().unwrap();
        let parts = part("nats");
        let nats = Nats::start(parts.parent().unwrap(), kept.path());
        Self { nats, folder: tempfile::tempdir().unwrap(), _kept: kept }
    }

    fn part_of(&self, name: &str) -> PathBuf {
        let folder = self.folder.path().join(name);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn witness(&self) -> PathBuf {
        self.folder.path().join("witness.txt")
    }

    /// What the tools wrote down, line by line.
    pub(crate) fn seen(&self) -> Vec<String> {
        let text = fs::read_to_string(self.witness()).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// How often the tools wrote this.
    pub(crate) fn count(&self, what: &str) -> usize {
        self.seen().iter().filter(|line| *line == what).count()
    }

    /// Waits until a tool has written this.
    pub(crate) fn saw(&self, what: &str) {
        wait_for(&format!("`{what}` in {:?}", self.seen()), || {
            (self.count(what) > 0).then_some(())
        });
    }

    /// Starts a worker of the group `gpu`, with further words, and waits until it is about to take calls.
    pub(crate) fn worker(&self, name: &str, words: &[&str]) -> Worker {
        self.worker_with(name, "", words)
    }

    /// As [`worker`](Self::worker), with more in its config.
    pub(crate) fn worker_with(&self, name: &str, config: &str, words: &[&str]) -> Worker {
        let folder = self.part_of(name);
        let config = format!(
            "{config}\n[servers.w]\ncommand = \"python3\"\nargs = [{SERVER:?}, {:?}]\ntimeout = \"5m\"\nmax_output = 10_000_000\n",
            self.witness()
        );
        fs::write(folder.join("switchboard.toml"), config).unwrap();
        let url = self.nats.url();
        let own = ["worker", "--json", "--nats", &url, "--group", "gpu"];
        let mut command = switchboard(&folder, &[&own, words].concat());
        let log = fs::File::create(folder.join("stderr.txt")).unwrap();
        let mut process = Ending(command.stdout(Stdio::piped()).stderr(log).spawn().unwrap());
        let mut line = String::new();
        BufReader::new(process.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let told: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}"));
        assert_eq!(told["group"], "gpu");
        Worker { id: told["worker"].as_str().unwrap().to_owned(), process }
    }

    /// Starts a gateway, and waits until it lists the tools of so many workers.
    pub(crate) fn gateway(&self, workers: usize) -> Gateway {
        self.gateway_called("gateway", workers)
    }

    /// As [`gateway`](Self::gateway), in a folder of this name.
    pub(crate) fn gateway_called(&self, name: &str, workers: usize) -> Gateway {
        let config =
            format!("[serve]\nmax_body = \"20MB\"\n[cluster]\nnats = {:?}\n", self.nats.url());
        let folder = self.part_of(name);
        let gateway = Gateway { serving: Serving::start(&folder, &config), folder };
        gateway.knows(workers);
        gateway
    }
}

pub(crate) struct Worker {
    pub(crate) id: String,
    process: Ending,
}

impl Worker {
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.process.0.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    /// Ends it without a chance to say anything.
    pub(crate) fn kill(mut self) {
        self.process.0.kill().unwrap();
        self.process.0.wait().unwrap();
    }

    /// Tells it to stop, and waits until it has.
    pub(crate) fn stop(mut self) -> ExitStatus {
        self.signal("-TERM");
        self.process.0.wait().unwrap()
    }
}

pub(crate) struct Gateway {
    pub(crate) serving: Serving,
    pub(crate) folder: PathBuf,
}

impl Gateway {
    /// Waits until the tools of so many workers are listed.
    pub(crate) fn knows(&self, workers: usize) {
        wait_for(&format!("{workers} workers"), || {
            let servers: Value = self.get("/api/servers");
            let group = servers.as_array()?.iter().find(|server| server["name"] == "gpu")?;
            let known = group["workers"].as_array()?.len();
            (known == workers && (workers == 0 || group["tools"] == 3)).then_some(())
        });
    }

    /// Waits until a worker says that it is running calls.
    pub(crate) fn sees_busy(&self, worker: &str) {
        wait_for(&format!("{worker} is busy"), || {
            let servers = self.get("/api/servers");
            let group = servers.as_array()?.iter().find(|server| server["name"] == "gpu")?.clone();
            let mut workers = group["workers"].as_array()?.iter();
            let found = workers.find(|found| found["id"] == worker)?;
            (found["running"].as_u64()? > 0).then_some(())
        });
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        let text = http(&self.serving.address, "GET", path, "", "");
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}"))
    }

    /// Calls a tool of the workers over REST.
    pub(crate) fn call(&self, tool: &str, args: &Value) -> Value {
        call(&self.serving.address, tool, args)
    }

    /// As [`call`](Self::call), in the background.
    pub(crate) fn begin(&self, tool: &str, args: Value) -> JoinHandle<Value> {
        let (address, tool) = (self.serving.address.clone(), tool.to_owned());
        thread::spawn(move || call(&address, &tool, &args))
    }

    /// A call whose answer nobody has read yet.
    pub(crate) fn open(&self, tool: &str, args: &Value) -> TcpStream {
        let (address, body) = (&self.serving.address, args.to_string());
        let mut stream = TcpStream::connect(address).unwrap();
        let request = format!(
            "POST /api/tools/gpu__w__{tool}/call HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    /// What the command prints on stdout, run beside the gateway with its config.
    pub(crate) fn run(&self, words: &[&str]) -> (Option<i32>, String) {
        run(&self.folder, words)
    }
}

/// What a command prints on stdout, run in a folder.
pub(crate) fn run(folder: &Path, words: &[&str]) -> (Option<i32>, String) {
    let output = switchboard(folder, words).output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

fn call(address: &str, tool: &str, args: &Value) -> Value {
    let head = "Content-Type: application/json\r\nAccept: application/json\r\nX-Timeout: 4m\r\n";
    let path = format!("/api/tools/gpu__w__{tool}/call");
    let text = http(address, "POST", &path, head, &args.to_string());
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}"))
}

/// The arguments of a call that takes so long.
pub(crate) fn timed(id: &str, secs: f64) -> Value {
    json!({"id": id, "secs": secs})
}
