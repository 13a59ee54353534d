//! What it costs to feed the index: processor time for each call, as the thread `audit-upkeep` spends it.
//!
//! `feed [CALLS]`, built with `--profile bench`: calls of 64 callers at once, with arguments and results of about 200
//! bytes, and the index fed after every ten thousand.

use std::{env, fs, sync::Arc, thread};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use switchboard_audit::{Config, Filter, Reader, Store, verify};
use switchboard_runtime::ToolExecutor;
use switchboard_toolcall::{CallContext, ToolCall, tool_fn};

/// Says what it is told.
#[derive(Deserialize, JsonSchema)]
struct Echo {
    text: String,
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

const CALLERS: usize = 64;
/// How many calls a busy gateway makes between two feedings.
const ROUND: usize = 10_000;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let calls: usize = env::args().nth(1).as_deref().unwrap_or("200000").parse()?;
    let folder = tempfile::tempdir()?;
    let store = Arc::new(Store::open(Config::default(), folder.path()));
    let executor = ToolExecutor::builder().store(store.clone()).artifacts(store).build();
    executor.tools().add(tool_fn("echo", |Echo { text }, _: CallContext| async move { text }))?;
    write(&executor, CALLERS).await?;
    let mut reader = Reader::open(folder.path())?;
    let (mut spent, mut made) = (0, 0);
    for _ in 0..calls.div_ceil(ROUND) {
        made += write(&executor, ROUND).await?;
        spent += feed(&mut reader)?;
    }
    assert_eq!(reader.count(&Filter::default())?, (made + CALLERS) as u64);
    assert!(verify(folder.path())?.is_clean());
    let index = fs::metadata(folder.path().join("index.db"))?.len();
    println!(
        "{:.2} µs a call, {} bytes of index",
        spent as f64 / 1e3 / made as f64,
        index / made as u64
    );
    Ok(())
}

/// Brings the index up to date in a thread of its own, which a profiler can tell from the rest; returns how long that took
/// the processor, in nanoseconds.
fn feed(reader: &mut Reader) -> Result<u64, Failure> {
    let feed = || {
        let before = processor_time()?;
        // Nothing begins like this: what it takes is to be up to date.
        reader.beginning_with("Z", 1)?;
        Ok::<_, Failure>(processor_time()? - before)
    };
    let spent = thread::scope(|scope| {
        let thread = thread::Builder::new().name("feeds".to_owned()).spawn_scoped(scope, feed)?;
        thread.join().map_err(|_| "it panicked")?
    })?;
    Ok(spent)
}

/// Makes about so many calls, and returns how many.
async fn write(executor: &ToolExecutor, calls: usize) -> Result<usize, Failure> {
    let each = calls / CALLERS;
    let tasks = (0..CALLERS).map(|_| {
        let executor = executor.clone();
        tokio::spawn(async move {
            let cx = CallContext::for_caller("feed");
            for number in 0..each {
                executor.execute(ToolCall::new("echo", arguments(number)), &cx).await;
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await?;
    }
    Ok(each * CALLERS)
}

fn arguments(number: usize) -> Map<String, Value> {
    let text = format!("{number:>6} {}", "plain text ".repeat(17));
    json!({ "text": text }).as_object().cloned().unwrap_or_default()
}

/// How long this thread has run, in nanoseconds, as the system says.
fn processor_time() -> Result<u64, Failure> {
    let figures = fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(figures.split(' ').next().ok_or("no time")?.parse()?)
}
