//! What the tests share: a store in a folder of its own, an executor that writes to it, a child process under load.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::{Duration, SystemTime},
};

use schemars::JsonSchema;
use serde_json::{Value, json};
use switchboard_audit::{Config, Filter, Reader, Record, Store};
use switchboard_runtime::{CallEnd, CallStart, RecordOpen, Recorder, ToolExecutor, record::Stages};
use switchboard_toolcall::{
    Annotations, CallContext, CallId, ErrorKind, HumanSize, Json, ToolCall, ToolError, ToolResult,
    tool_fn,
};
use tempfile::TempDir;

/// A folder for a store; it goes with the test.
pub(crate) struct Folder(pub(crate) TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Where the store is: not there yet.
    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().join("store")
    }

    pub(crate) fn store(&self) -> Store {
        Store::open(Config::default(), self.path())
    }

    /// Makes some calls with a store that is closed again.
    pub(crate) async fn write(&self, calls: usize) -> Vec<CallId> {
        let executor = executor(self.store());
        let mut ids = Vec::new();
        for number in 0..calls {
            ids.push(call(&executor, "answer", json!({"with": number})).await.call_id);
        }
        ids
    }

    pub(crate) fn records(&self) -> Vec<Record> {
        Reader::open(self.path()).unwrap().list(&Filter::default()).unwrap()
    }

    /// `id outcome` of every record, newest first.
    pub(crate) fn outcomes(&self) -> Vec<(CallId, &'static str)> {
        self.records().iter().map(|record| (record.id, record.outcome.code())).collect()
    }

    pub(crate) fn segment(&self, number: u64) -> PathBuf {
        self.path().join(format!("journal/{number:08}.log"))
    }

    /// The damage that `verify` finds: file, line and what.
    pub(crate) fn damage(&self) -> Vec<(String, Option<u64>, String)> {
        let report = switchboard_audit::verify(self.path()).unwrap();
        report.damage.into_iter().map(|found| (found.file, found.line, found.what)).collect()
    }

    /// Rewrites a file of the store.
    pub(crate) fn rewrite(&self, file: &Path, change: impl FnOnce(Vec<u8>) -> Vec<u8>) {
        let text = fs::read(file).unwrap();
        fs::write(file, change(text)).unwrap();
    }
}

/// Answers with what it is given.
#[derive(serde::Deserialize, JsonSchema)]
struct Answer {
    with: Value,
}

/// Fails with what it is given.
#[derive(serde::Deserialize, JsonSchema)]
struct Fail {
    with: String,
}

/// Arguments of tools that take none.
#[derive(serde::Deserialize, JsonSchema)]
struct NoArguments {}

/// An executor with a few tools that records there.
pub(crate) fn executor(store: Store) -> ToolExecutor {
    let store = Arc::new(store);
    let executor = ToolExecutor::builder().store(store.clone()).artifacts(store).build();
    let answer = tool_fn("answer", |Answer { with }, _: CallContext| async move { Json(with) });
    let fail = tool_fn("fail", |Fail { with }, _: CallContext| async move {
        Err::<String, _>(ToolError::failed(with))
    });
    let look = tool_fn("look", |NoArguments {}, _: CallContext| async move { "seen" });
    let hang = tool_fn("hang", |NoArguments {}, _: CallContext| async move {
        std::future::pending::<()>().await;
        "never"
    });
    executor.tools().add(answer).unwrap();
    executor.tools().add(fail).unwrap();
    executor.tools().add(look.annotate(Annotations::READ_ONLY)).unwrap();
    executor.tools().add(hang).unwrap();
    executor
}

/// The beginning of a call, for tests that record by themselves.
pub(crate) fn start(tool: &str, arguments: String) -> Arc<CallStart> {
    let now = SystemTime::now();
    let (id, tool) = (CallId::generate_at(now), tool.into());
    let (caller, client, conversation) = (None, None, None);
    let (profile, shown_as) = (None, None);
    Arc::new(CallStart {
        id,
        tool,
        shown_as,
        profile,
        arguments,
        caller,
        client,
        conversation,
        run: None,
        turn_sha256: None,
        started: now,
    })
}

/// Settings for stores that may have so many bytes: texts of tests take next to none once they are compressed.
pub(crate) fn uncompressed(max_size: u64) -> Config {
    Config { max_size: HumanSize(max_size), compress: false, ..Config::default() }
}

/// Records the beginning of a call, and waits until it is written. If the segment was full, waits for the next one, too:
/// that is begun beside the callers.
pub(crate) async fn open(store: &Store, start: &Arc<CallStart>) {
    let is_full = || {
        let files = fs::read_dir(store.path().join("journal")).ok()?;
        let last = files.map(|file| file.unwrap().path()).max()?;
        Some(fs::metadata(last).unwrap().len() >= 16 << 20)
    };
    let was_full = is_full() == Some(true);
    let opened = match store.open(start.clone()) {
        RecordOpen::Done(opened) => opened,
        RecordOpen::Batched(opened) | RecordOpen::Pending(opened) => opened.await,
    };
    opened.unwrap();
    until(async || !(was_full && is_full() == Some(true))).await;
}

/// Waits until `holds` returns true; fails after a minute.
pub(crate) async fn until(mut holds: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting).await.expect("it comes within a minute");
}

/// The end of a call whose caller walked away.
pub(crate) fn cancelled(start: &Arc<CallStart>) -> CallEnd<'_> {
    CallEnd {
        start,
        tool: None,
        server: None,
        spec: None,
        trace: None,
        error_kind: Some(ErrorKind::Cancelled),
        duration: Duration::from_millis(1),
        stages: Stages::default(),
        approval: None,
        result: None,
        redacted: Box::leak(Box::default()),
    }
}

pub(crate) async fn call(executor: &ToolExecutor, tool: &str, args: Value) -> ToolResult {
    let args = args.as_object().cloned().unwrap_or_default();
    executor.execute(ToolCall::new(tool, args), &CallContext::for_caller("test")).await
}

/// The example `load`, which cargo builds with the tests.
pub(crate) fn load() -> Command {
    let test = std::env::current_exe().unwrap();
    let program = test.parent().unwrap().parent().unwrap().join("examples/load");
    assert!(program.exists(), "no `{}`: run `cargo build --examples`", program.display());
    Command::new(program)
}
