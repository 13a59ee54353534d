//! What a call costs on so many threads: processor time, and how often a thread waited for another.
//!
//! `cores THREADS CLIENTS CALLS [FOLDER]`: CALLS calls by CLIENTS clients at once, recorded in memory, or in FOLDER. Build it
//! with `--profile bench`. The counts say the same on a busy machine as on an idle one.

use std::{env, fs, sync::Arc, time::Duration};

use serde_json::{Value, json};
use switchboard_audit::{Config, Store};
use switchboard_runtime::ToolExecutor;
use switchboard_toolcall::{
    BoxFuture, CallContext, Tool, ToolCall, ToolError, ToolOutput, ToolSpec,
};
use tokio::{runtime::Builder, time::Instant};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Answers at once: all that is measured is ours.
struct Trivial(ToolSpec);

impl Tool for Trivial {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(
        &'a self,
        _args: Value,
        _cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async { Ok(ToolOutput::Value(Value::Bool(true))) })
    }
}

fn main() -> Result<(), Failure> {
    let mut arguments = env::args().skip(1);
    let usage = "usage: cores THREADS CLIENTS CALLS [FOLDER]";
    let mut number = || arguments.next().ok_or(usage).map(|number| number.parse::<usize>());
    let (threads, clients, calls) = (number()??, number()??, number()??);
    let executor = match arguments.next() {
        Some(folder) => {
            let store = Arc::new(Store::open(Config::default(), folder));
            ToolExecutor::builder().store(store.clone()).artifacts(store).build()
        }
        None => ToolExecutor::default(),
    };
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    executor.tools().add(Trivial(ToolSpec::new("weather", "Tells the weather", schema)))?;
    let runtime = Builder::new_multi_thread().worker_threads(threads).enable_all().build()?;
    runtime.block_on(run(&executor, clients, clients * 1000))?;
    let (before, started) = (Costs::now()?, Instant::now());
    runtime.block_on(run(&executor, clients, calls))?;
    let (after, took) = (Costs::now()?, started.elapsed());
    let per_call = |count: u64| count as f64 / calls as f64;
    println!(
        "{threads} threads, {clients} clients: {:.0} calls/s; per call {:.2} µs of processor, {:.4} waits, {:.4} preemptions",
        calls as f64 / took.as_secs_f64(),
        per_call((after.processor - before.processor).as_nanos() as u64) / 1e3,
        per_call(after.waits - before.waits),
        per_call(after.preemptions - before.preemptions),
    );
    Ok(())
}

async fn run(executor: &ToolExecutor, clients: usize, calls: usize) -> Result<(), Failure> {
    let client = || {
        let executor = executor.clone();
        async move {
            let cx = CallContext::default();
            for _ in 0..calls / clients {
                let args = json!({"city": "Berlin"}).as_object().cloned().unwrap_or_default();
                executor.execute(ToolCall::new("weather", args), &cx).await;
            }
        }
    };
    let clients: Vec<_> = (0..clients).map(|_| tokio::spawn(client())).collect();
    for client in clients {
        client.await?;
    }
    Ok(())
}

/// What the threads of this process have used so far.
#[derive(Default)]
struct Costs {
    processor: Duration,
    /// How often a thread slept until another woke it.
    waits: u64,
    /// How often the system took a thread its core.
    preemptions: u64,
}

impl Costs {
    fn now() -> Result<Self, Failure> {
        let mut costs = Self::default();
        for thread in fs::read_dir("/proc/self/task")? {
            let thread = thread?.path();
            let ran = fs::read_to_string(thread.join("schedstat"))?;
            let ran = ran.split(' ').next().unwrap_or_default().parse()?;
            costs.processor += Duration::from_nanos(ran);
            let status = fs::read_to_string(thread.join("status"))?;
            let count = |name: &str| {
                let line = status.lines().find_map(|line| line.strip_prefix(name));
                line.map_or(Ok(0), |count| count.trim().parse::<u64>())
            };
            costs.waits += count("voluntary_ctxt_switches:")?;
            costs.preemptions += count("nonvoluntary_ctxt_switches:")?;
        }
        Ok(costs)
    }
}
