//! A server under test, and a look at the processes there are.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json, value::to_raw_value};
use switchboard_mcp_client::{
    Failure, Inbox, StdioConfig, StdioTransport, Transport, TransportRequest,
};
use switchboard_mcp_wire::IncomingMessage;
use switchboard_process::guard::ProcessGuard;
pub(crate) use switchboard_testkit::parts::example;

/// Nothing here takes that long; a test that hangs says so.
pub(crate) const GENEROUS: Duration = Duration::from_secs(60);

pub(crate) async fn bounded<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(GENEROUS, work).await.expect("it hangs")
}

/// Waits until the condition holds.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..GENEROUS.as_millis() / 20 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("waited in vain until {what}");
}

pub(crate) fn guard() -> ProcessGuard {
    ProcessGuard { program: example("guard"), args: Vec::new() }
}

/// The misbehaving server, under a guard.
pub(crate) fn config(modes: &str) -> StdioConfig {
    let mut config = StdioConfig::new(example("misbehaving_server").to_str().unwrap());
    config.args = vec![modes.to_owned()];
    config.guard = Some(guard());
    config
}

/// As above, without one.
pub(crate) fn unguarded(modes: &str) -> StdioConfig {
    StdioConfig { guard: None, ..config(modes) }
}

/// A directory of its own for each test, gone afterwards.
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("stdio-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Keeps everything in order: what the inbox got, and answers where the test notes them.
#[derive(Default)]
pub(crate) struct RecordingInbox(Mutex<Vec<String>>);

impl RecordingInbox {
    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Inbox for RecordingInbox {
    fn take(&self, message: IncomingMessage) {
        let line = match message {
            IncomingMessage::Notification { method, params } => {
                format!("{method} {}", params.map_or(String::new(), |params| params.to_string()))
            }
            IncomingMessage::Request { method, .. } => format!("{method}?"),
            IncomingMessage::Response { .. } => "a response".to_owned(),
        };
        self.0.lock().unwrap().push(line);
    }
}

pub(crate) struct Server {
    pub(crate) transport: Arc<StdioTransport>,
    pub(crate) heard: Arc<RecordingInbox>,
    next: AtomicU64,
}

impl Server {
    pub(crate) fn start(modes: &str) -> Self {
        Self::start_with(&config(modes))
    }

    pub(crate) fn start_with(config: &StdioConfig) -> Self {
        let heard = Arc::new(RecordingInbox::default());
        let inbox: Arc<dyn Inbox> = Arc::clone(&heard) as _;
        let transport = StdioTransport::start("test", config, inbox).unwrap();
        Self { transport, heard, next: AtomicU64::new(1) }
    }

    /// A request with the next id.
    pub(crate) async fn request(&self, method: &str, params: &Value) -> Result<Value, Failure> {
        let params = to_raw_value(params).unwrap();
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let request = TransportRequest::new(id, method, Some(params.get()));
        let result = self.transport.request(request).await?;
        Ok(serde_json::from_str(result.get()).unwrap())
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Result<Value, Failure> {
        let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": 1}});
        self.request("tools/call", &params).await
    }

    /// What `echo` says.
    pub(crate) async fn echo(&self, text: &str) -> String {
        let result = bounded(self.call("echo", json!({"text": text}))).await.unwrap();
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// The group, once the guard has told it.
    pub(crate) async fn group(&self) -> u32 {
        until("the group is known", || self.transport.process_group().is_some()).await;
        self.transport.process_group().unwrap()
    }

    pub(crate) async fn close(&self) {
        bounded(self.transport.close()).await;
    }
}

/// A process as the system shows it.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) state: char,
    pub(crate) parent: u32,
    pub(crate) group: u32,
}

pub(crate) fn processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    entries.filter_map(|entry| process(&entry.path())).collect()
}

fn process(directory: &Path) -> Option<Process> {
    let pid = directory.file_name()?.to_str()?.parse().ok()?;
    let stat = fs::read_to_string(directory.join("stat")).ok()?;
    // The name before the last parenthesis may contain anything.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?.chars().next()?;
    let (parent, group) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(Process { pid, state, parent, group })
}

/// Those of the group who run. The dead may wait for their own parent to look at them, which need not be us.
pub(crate) fn running(group: u32) -> Vec<u32> {
    let members = processes().into_iter().filter(|process| process.group == group);
    members.filter(|process| process.state != 'Z').map(|process| process.pid).collect()
}

/// The number in a file, once it is there.
pub(crate) async fn number_in(file: &Path) -> u32 {
    let read = || fs::read_to_string(file).ok().and_then(|text| text.trim().parse().ok());
    until("the file has a number", || read().is_some()).await;
    read().unwrap()
}
