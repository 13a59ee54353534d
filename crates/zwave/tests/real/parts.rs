//! Starts, stops and kills the parts.

use std::{
    io::{BufRead, BufReader},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use switchboard_runtime::ToolExecutor;
use switchboard_zwave::{Config, connect, tools};
use tempfile::TempDir;

/// The two ways to the devices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Way {
    Mqtt,
    Server,
}

/// A process that ends with us.
pub(crate) struct Part(Child);

impl Part {
    /// Starts it and waits until it says `word`.
    fn start(mut command: Command, word: &str) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                // Nobody reads on once it has started.
                let _ = sender.send(line);
            }
        });
        let part = Self(child);
        let limit = Duration::from_secs(60);
        while !lines.recv_timeout(limit).expect("the part starts").contains(word) {}
        part
    }

    /// Lets it neither go on nor end.
    pub(crate) fn pause(&self) {
        self.signal("-STOP");
    }

    /// Lets it go on.
    pub(crate) fn resume(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, name: &str) {
        let pid = self.0.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    pub(crate) fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A household of three simulated devices.
pub(crate) struct House {
    way: Way,
    folder: TempDir,
    stick_port: u16,
    /// Of the broker, or of the server.
    port: u16,
    pub(crate) stick: Part,
    pub(crate) broker: Option<Part>,
    pub(crate) network: Part,
}

impl House {
    pub(crate) fn start(way: Way) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (stick_port, port) = (free_port(), free_port());
        let stick = stick(stick_port);
        let broker = (way == Way::Mqtt).then(|| broker(port));
        let network = network(way, stick_port, port, folder.path());
        Self { way, folder, stick_port, port, stick, broker, network }
    }

    /// An executor with the tools over this household.
    pub(crate) fn executor(&self) -> ToolExecutor {
        let mut config = Config::default();
        match self.way {
            Way::Mqtt => config.mqtt = Some(format!("mqtt://127.0.0.1:{}", self.port)),
            Way::Server => config.server = Some(format!("ws://127.0.0.1:{}", self.port)),
        }
        let executor = ToolExecutor::default();
        for tool in tools(connect(&config).unwrap(), &config) {
            executor.tools().add_shared(tool).unwrap();
        }
        executor
    }

    pub(crate) fn restart_broker(&mut self) {
        self.broker = Some(broker(self.port));
    }

    pub(crate) fn restart_network(&mut self) {
        self.network = network(self.way, self.stick_port, self.port, self.folder.path());
    }

    pub(crate) fn restart_stick(&mut self) {
        self.stick = stick(self.stick_port);
    }
}

/// Calls a tool and returns the envelope.
pub(crate) async fn call(executor: &ToolExecutor, tool: &str, args: Value) -> Value {
    serde_json::to_value(executor.call(tool, args).await).unwrap()
}

/// Calls until it works again; it must, soon.
pub(crate) async fn call_until_it_works(executor: &ToolExecutor, tool: &str, args: Value) -> Value {
    for _ in 0..200 {
        let envelope = call(executor, tool, args.clone()).await;
        if envelope["success"] == true {
            return envelope;
        }
        assert_eq!(envelope["error_kind"], "unavailable", "{envelope}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    panic!("{tool} does not work again");
}

pub(crate) fn order(device: &str, action: &str) -> Value {
    json!({"deviceName": device, "action": action})
}

fn stick(port: u16) -> Part {
    let mut node = node("stick.cjs");
    node.arg(port.to_string());
    Part::start(node, "listening")
}

fn network(way: Way, stick_port: u16, port: u16, cache: &Path) -> Part {
    let mut node = node("network.cjs");
    node.arg(stick_port.to_string()).arg(cache);
    match way {
        Way::Mqtt => node.args(["mqtt", &format!("mqtt://127.0.0.1:{port}"), "zwave", "our home"]),
        Way::Server => node.args(["server", &port.to_string()]),
    };
    Part::start(node, "ready")
}

fn broker(port: u16) -> Part {
    let mut mosquitto = Command::new("/usr/sbin/mosquitto");
    mosquitto.args(["-p", &port.to_string()]).stdout(Stdio::null()).stderr(Stdio::null());
    let part = Part(mosquitto.spawn().unwrap());
    for _ in 0..500 {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return part;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("mosquitto does not listen");
}

/// A script of `parts/zwave`, with the packages of the installed part.
fn node(script: &str) -> Command {
    #[expect(clippy::disallowed_methods, reason = "`cargo xtask test` says where the parts are")]
    let parts = std::env::var("SWITCHBOARD_PARTS").expect("`cargo xtask test` sets it");
    let scripts = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../parts/zwave");
    let mut node = Command::new("node");
    node.arg(scripts.join(script)).current_dir(PathBuf::from(parts).join("zwave"));
    node
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
