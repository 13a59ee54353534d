//! Three NATS servers, gateways and workers, all real processes, and what can happen to them.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use switchboard_testkit::{Nats, process::free_port};
use tempfile::TempDir;

use crate::caller::{CallAttempt, request};

const WITNESS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/chaos/witness.py");

/// What all nodes sign with.
const KEY: &str = "0123456789abcdef0123456789abcdef";

/// All that can be killed.
pub(crate) struct Scene {
    folder: TempDir,
    nats: [Nats; 3],
    gateways: Vec<Node>,
    workers: Vec<Node>,
}

impl Scene {
    /// Starts all of it, and waits until a call goes through each gateway.
    pub(crate) fn start(partitions: u32) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let nats = Nats::three(&parts(), &folder.path().join("nats"));
        let urls = nats.each_ref().map(Nats::url).join(",");
        let cluster = format!(
            "[cluster]\nnats = '{urls}'\nreplicas = 3\nkey = '{KEY}'\njobs.keyed = ['lab__*']\njobs.partitions = {partitions}\n"
        );
        let python = parts().join("nats/venv/bin/python");
        let tools = format!(
            "{cluster}[servers.lab]\ncommand = '{}'\nargs = ['{WITNESS}', '{}']\nprefix = ''\n",
            python.display(),
            folder.path().join("notes").display()
        );
        let node = |name: String, config: &str, words: &[&str]| {
            let own = folder.path().join(name);
            fs::create_dir_all(&own).unwrap();
            fs::write(own.join("switchboard.toml"), config).unwrap();
            Node::start(own, words)
        };
        let workers = (0..3)
            .map(|number| node(format!("worker{number}"), &tools, &["worker", "--group", "lab"]));
        let workers = workers.collect();
        let gateways = (0..2).map(|number| {
            let address = format!("127.0.0.1:{}", free_port());
            node(format!("gateway{number}"), &cluster, &["serve", "--listen", &address])
        });
        let gateways = gateways.collect();
        let scene = Self { folder, nats, gateways, workers };
        scene.wait_until_well();
        scene
    }

    /// The addresses of the gateways.
    pub(crate) fn gateways(&self) -> Vec<String> {
        self.gateways.iter().map(|gateway| gateway.address().to_owned()).collect()
    }

    /// Kills somebody, or holds somebody up for a while. What is killed is started again.
    pub(crate) fn disturb(&mut self, random: &mut Random) -> String {
        let held_up = Duration::from_millis(500 + random.below(6_000));
        let is_killed = random.below(3) < 2;
        let how = if is_killed { "killed".to_owned() } else { format!("held up for {held_up:?}") };
        let down = Duration::from_millis(random.below(1_500));
        match random.index(10) {
            0 | 1 => {
                let number = random.index(self.nats.len());
                let server = &mut self.nats[number];
                if is_killed {
                    server.kill();
                    thread::sleep(down);
                    server.restart();
                    // Two of three must be there at any time, or nothing can be promised.
                    self.wait_until_well();
                } else {
                    server.pause();
                    thread::sleep(held_up);
                    server.resume();
                }
                format!("NATS server {number} {how}")
            }
            2..=4 => {
                let number = random.index(self.gateways.len());
                self.gateways[number].disturb(is_killed, held_up, down);
                format!("gateway {number} {how}")
            }
            _ => {
                let number = random.index(self.workers.len());
                self.workers[number].disturb(is_killed, held_up, down);
                format!("worker {number} {how}")
            }
        }
    }

    /// Waits until everybody is well again.
    pub(crate) fn recover(&self) {
        self.wait_until_well();
    }

    fn wait_until_well(&self) {
        for gateway in &self.gateways {
            let path = "/api/tools/lab__look/call";
            let is_well = || {
                let body = r#"{"word": "well"}"#;
                let answer = request(gateway.address(), "POST", path, "X-Timeout: 5s\r\n", body);
                answer.is_ok_and(|(status, _)| status == 200).then_some(())
            };
            wait_for("a call that goes through", &gateway.folder, is_well);
        }
    }

    /// Waits until every call that was queued has ended, and notes what came of it.
    pub(crate) fn wait_for_queued(&self, asked: &mut [CallAttempt]) {
        for asked in asked.iter_mut() {
            let Some(id) = &asked.queued else { continue };
            let gateway = &self.gateways[0];
            let ended = || {
                let path = format!("/api/calls/{id}");
                let (_, call) = request(gateway.address(), "GET", &path, "", "").ok()?;
                call["result"].is_object().then(|| call["result"].clone())
            };
            let what = format!("the end of {asked:?}");
            asked.told = Some(wait_for(&what, &gateway.folder, ended));
        }
    }

    /// What the tools wrote down.
    pub(crate) fn notes(&self) -> String {
        fs::read_to_string(self.folder.path().join("notes")).unwrap()
    }
}

/// A `switchboard` of its own.
struct Node {
    folder: PathBuf,
    words: Vec<String>,
    process: Child,
}

impl Node {
    fn start(folder: PathBuf, words: &[&str]) -> Self {
        let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
        let process = Self::spawn(&folder, &words);
        Self { folder, words, process }
    }

    fn spawn(folder: &Path, words: &[String]) -> Child {
        let log = File::options().create(true).append(true).open(folder.join("log")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_switchboard"));
        command.args(words).current_dir(folder).env_clear().env("PATH", "/usr/bin:/bin");
        command.env("XDG_STATE_HOME", folder.join("state")).env("RUST_BACKTRACE", "1");
        command.env("SWITCHBOARD_CONFIG", folder.join("switchboard.toml"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap()
    }

    /// Where it listens.
    fn address(&self) -> &str {
        self.words.last().unwrap()
    }

    fn disturb(&mut self, is_killed: bool, held_up: Duration, down: Duration) {
        if is_killed {
            self.process.kill().unwrap();
            self.process.wait().unwrap();
            thread::sleep(down);
            self.process = Self::spawn(&self.folder, &self.words);
        } else {
            self.signal("-STOP");
            thread::sleep(held_up);
            self.signal("-CONT");
        }
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.process.id().to_string()]).status();
        assert!(sent.unwrap().success(), "kill {name}");
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Numbers that look random and come again with the same seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % end
    }

    /// A place in a list of this length.
    pub(crate) fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(u64::try_from(length).unwrap())).unwrap()
    }
}

fn parts() -> PathBuf {
    let parts = std::env::var_os("SWITCHBOARD_PARTS");
    parts.expect("SWITCHBOARD_PARTS is set: run `cargo xtask test`").into()
}

/// Looks until there is something to be seen; else shows what the node said last.
fn wait_for<T>(what: &str, folder: &Path, mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..1200 {
        if let Some(seen) = look() {
            return seen;
        }
        thread::sleep(Duration::from_millis(100));
    }
    let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
    let last: Vec<_> = log.lines().rev().take(40).collect();
    panic!("waited two minutes for {what}: {last:#?}");
}
