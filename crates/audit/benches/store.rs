//! What recording costs a call: the executor with its memory, and with the store, alone and beside 63 others.

use std::{path::Path, sync::Arc};

use divan::{Bencher, black_box, counter::ItemsCount};
use serde_json::{Map, Value, json};
use switchboard_audit::{Config, Durability, Store};
use switchboard_runtime::ToolExecutor;
use switchboard_toolcall::{
    BoxFuture, CallContext, Tool, ToolCall, ToolError, ToolOutput, ToolSpec,
};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

fn main() {
    divan::main();
}

/// Answers at once: all that is measured is ours.
struct Trivial(ToolSpec);

impl Trivial {
    fn new() -> Self {
        let schema = json!({
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
        });
        Self(ToolSpec::new("weather".to_owned(), "Tells the weather", schema))
    }
}

impl Tool for Trivial {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(
        &'a self,
        _args: Value,
        _cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async { Ok(ToolOutput::Value(json!({"temperature": 21, "sky": "clear"}))) })
    }
}

#[derive(Clone, Copy, Debug)]
enum Kept {
    Memory,
    Os,
    /// With the thread that feeds the index at work.
    OsFed,
    Disk,
}

/// An executor that records as asked; the folder goes when the bench ends.
fn executor(kept: Kept) -> (ToolExecutor, TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let durability = match kept {
        Kept::Disk => Durability::Disk,
        _ => Durability::Os,
    };
    let executor = match kept {
        Kept::Memory => ToolExecutor::default(),
        _ => {
            let store = Store::open(Config { durability, ..Config::default() }, folder.path());
            if matches!(kept, Kept::OsFed) {
                store.start_upkeep().expect("a thread");
            }
            let store = Arc::new(store);
            ToolExecutor::builder().store(store.clone()).artifacts(store).build()
        }
    };
    executor.tools().add(Trivial::new()).expect("usable");
    (executor, folder)
}

fn args() -> Map<String, Value> {
    match json!({"city": "Berlin", "days": 3}) {
        Value::Object(args) => args,
        _ => Map::new(),
    }
}

fn many_threads() -> Runtime {
    Builder::new_multi_thread().enable_all().build().expect("a runtime")
}

async fn calls(executor: ToolExecutor, count: u32) {
    let cx = CallContext::for_caller("bench");
    for _ in 0..count {
        black_box(executor.execute(ToolCall::new("weather", args()), &cx).await);
    }
}

/// A hundred calls one after another: a hundredth of it is one call.
#[divan::bench(args = [Kept::Memory, Kept::Os, Kept::OsFed, Kept::Disk], sample_count = 300)]
fn hundred_calls_alone(bencher: Bencher<'_, '_>, kept: Kept) {
    let (runtime, (executor, _folder)) = (many_threads(), executor(kept));
    bencher.counter(ItemsCount::new(100_u32)).bench_local(|| {
        let work = calls(executor.clone(), 100);
        runtime.block_on(async { tokio::spawn(work).await })
    });
}

/// 64 callers at once, a hundred calls each.
#[divan::bench(args = [Kept::Memory, Kept::Os, Kept::OsFed, Kept::Disk], sample_count = 50)]
fn hundred_calls_of_64_callers(bencher: Bencher<'_, '_>, kept: Kept) {
    let (runtime, (executor, _folder)) = (many_threads(), executor(kept));
    bencher.counter(ItemsCount::new(6400_u32)).bench_local(|| {
        let tasks: Vec<_> = (0..64).map(|_| runtime.spawn(calls(executor.clone(), 100))).collect();
        runtime.block_on(async {
            for task in tasks {
                task.await.expect("no panic");
            }
        });
    });
}

/// A process that makes one call: opens the store, writes a call and closes the store.
#[divan::bench(args = [true, false])]
fn one_call_of_a_new_process(bencher: Bencher<'_, '_>, stored: bool) {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let folder = tempfile::tempdir().expect("a folder");
    let once = |path: &Path| {
        let executor = match stored {
            true => {
                let store = Arc::new(Store::open(Config::default(), path));
                ToolExecutor::builder().store(store.clone()).artifacts(store).build()
            }
            false => ToolExecutor::default(),
        };
        executor.tools().add(Trivial::new()).expect("usable");
        runtime.block_on(calls(executor, 1));
    };
    bencher.bench_local(|| once(folder.path()));
}
