//! Runs calls under load, to be killed: the other half of the tests of crashes, full disks and shared stores.
//!
//! `load FOLDER WITNESS TASKS CALLS`: TASKS at a time, CALLS each (0: for ever). Each tool writes its call's id to the
//! file WITNESS when it starts; each result is printed when it was received, as `id outcome`.
//!
//! `load FOLDER gc GLOB`: applies retention, again and again until the input ends; calls of such tools lose their content.

use std::{
    env,
    fs::File,
    io::{Read, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use switchboard_audit::{Config, Store};
use switchboard_runtime::ToolExecutor;
use switchboard_toolcall::{CallContext, ToolCall, tool_fn};

/// Does something that others can see.
#[derive(Deserialize, JsonSchema)]
struct Act {
    number: u64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = env::args().skip(1);
    let mut next = move || arguments.next().ok_or("usage: load FOLDER WITNESS TASKS CALLS");
    let (folder, witness) = (PathBuf::from(next()?), next()?);
    if witness == "gc" {
        return collect(&folder, &next()?);
    }
    let (tasks, calls): (u64, u64) = (next()?.parse()?, next()?.parse()?);

    let store = Arc::new(Store::open(Config::default(), folder));
    let executor = ToolExecutor::builder().store(store.clone()).artifacts(store.clone()).build();
    let witness = Arc::new(File::options().create(true).append(true).open(witness)?);
    let act = move |Act { number }, cx: CallContext| {
        let witness = witness.clone();
        async move {
            let id = cx.call_id.ok_or("the executor gives every call an id")?;
            (&*witness)
                .write_all(format!("{id}\n").as_bytes())
                .map_err(|error| error.to_string())?;
            tokio::time::sleep(Duration::from_micros(number * 7919 % 2000)).await;
            // Some results are long, so that a kill can hit the middle of a line.
            Ok::<_, switchboard_toolcall::ToolError>("x".repeat(if number % 20 == 7 {
                40_000
            } else {
                10
            }))
        }
    };
    executor.tools().add(tool_fn("act", act))?;

    let printed = Arc::new(Mutex::new(std::io::stdout()));
    let work = (0..tasks).map(|task| {
        let (executor, printed) = (executor.clone(), printed.clone());
        tokio::spawn(async move {
            let cx = CallContext::for_caller(format!("task-{task}"));
            for number in 0.. {
                if calls > 0 && number >= calls {
                    break;
                }
                let args = json!({"number": number}).as_object().cloned().unwrap_or_default();
                let result = executor.execute(ToolCall::new("act", args), &cx).await;
                let line = format!("{} {}\n", result.call_id, result.outcome_code());
                // One write for each, so that a kill cannot tear it.
                let mut printed = printed.lock().unwrap_or_else(PoisonError::into_inner);
                _ = printed.write_all(line.as_bytes()).and_then(|()| printed.flush());
            }
        })
    });
    for task in work.collect::<Vec<_>>() {
        task.await?;
    }
    Ok(())
}

/// Applies retention until the input ends.
fn collect(folder: &Path, glob: &str) -> Result<(), Box<dyn std::error::Error>> {
    let config: Config = serde_json::from_value(json!({"tool_max_age": {glob: "0ms"}}))?;
    let ended = std::thread::spawn(|| std::io::stdin().read_to_end(&mut Vec::new()));
    while !ended.is_finished() {
        switchboard_audit::gc(folder, &config)?;
    }
    Ok(())
}
