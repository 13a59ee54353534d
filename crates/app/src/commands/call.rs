//! `switchboard call`: one call through the executor, the envelope on stdout.

use std::{
    io::{self, IsTerminal},
    process::ExitCode,
};

use anyhow::Context;
use serde_json::{Map, Value};
use switchboard_toolcall::{CallContext, CancellationToken, ToolCall, ToolResult};
use tokio::runtime;

use crate::{
    arguments,
    cli::{Call, Cli},
    house::House,
    settings,
    terminal::{self, Paint, spinner},
};

pub(super) fn run(call: &Call, cli: &Cli) -> anyhow::Result<ExitCode> {
    let house = House::build(&settings::load(cli.config.as_deref())?)?;
    let tool = house.executor.tools().lookup(&call.name).ok();
    let schema = tool.as_ref().map(|tool| &tool.spec().parameters);
    let args = arguments::read(&call.arguments, schema, &mut io::stdin().lock())?;

    // A worker beside the tool's, so that one that blocks cannot hold up its deadline.
    let runtime = runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.context("failed to start the runtime")?;
    let result = runtime.block_on(execute(&house, call, args));
    // A tool that goes on after its deadline must not keep us.
    runtime.shutdown_background();

    print(&result, call, cli)?;
    Ok(if result.is_success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn execute(house: &House, call: &Call, args: Map<String, Value>) -> ToolResult {
    let mut cx = CallContext::for_caller("command line");
    cx.timeout = call.timeout.map(|timeout| timeout.0);
    tokio::spawn(cancel_on_interrupt(cx.cancel.clone()));
    let work = house.executor.execute(ToolCall::new(&call.name, args), &cx);
    let is_watched = !call.json && io::stdout().is_terminal() && io::stderr().is_terminal();
    if is_watched { spinner::watch(&call.name, work).await } else { work.await }
}

/// The first Ctrl-C cancels the call; the second one does not wait for that.
async fn cancel_on_interrupt(cancel: CancellationToken) {
    while tokio::signal::ctrl_c().await.is_ok() {
        if cancel.is_cancelled() {
            std::process::exit(1);
        }
        cancel.cancel();
    }
}

fn print(result: &ToolResult, call: &Call, cli: &Cli) -> anyhow::Result<()> {
    if call.text {
        let text = result.text();
        match result.is_success() {
            true => terminal::print(&text)?,
            false => terminal::tell(&text),
        }
    } else if call.json || !io::stdout().is_terminal() {
        terminal::print(&serde_json::to_string(result)?)?;
    } else {
        let envelope = serde_json::to_value(result)?;
        terminal::print(&terminal::json::pretty(&envelope, Paint::stdout(cli.color)))?;
    }
    Ok(())
}
