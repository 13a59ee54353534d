//! Injected faults, to see how callers bear them: `zwave__*: 10% timeout, 5% error`.

mod parse;

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde_json::Value;
use switchboard_toolcall::{
    BoxFuture, CallContext, CallId, ErrorKind, Tool, ToolError, ToolOutput, ToolPattern, ToolSpec,
};

pub use parse::FaultError;

/// What goes wrong with calls of certain tools, and how often.
#[derive(Clone, Debug)]
pub struct FaultRule {
    tools: ToolPattern,
    /// How many of a hundred calls each fault meets.
    faults: Vec<(f64, Fault)>,
}

/// Something that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The tool never answers.
    Timeout,
    /// The tool fails.
    Error,
    /// What the tool needs cannot be reached.
    Unavailable,
    /// The tool responds with this delay.
    Slow(Duration),
    /// The tool answers, but nothing that makes sense.
    Garbage,
}

/// The faults of a run: the same seed gives the same faults to the same calls of a tool.
#[derive(Clone, Debug)]
pub struct Faults {
    rules: Vec<FaultRule>,
    seed: u64,
}

impl Faults {
    /// The first rule that knows a tool decides what becomes of its calls.
    pub fn new(rules: Vec<FaultRule>, seed: u64) -> Self {
        Self { rules, seed }
    }

    /// Returns the tool with the faults of the rules for its full name; unchanged if there are none.
    pub fn wrap(&self, name: &str, tool: Arc<dyn Tool>) -> Arc<dyn Tool> {
        let knows =
            |rule: &&FaultRule| rule.tools.matches(name) || rule.tools.matches(&tool.spec().name);
        match self.rules.iter().find(knows) {
            Some(rule) => {
                let seed = name.bytes().fold(self.seed, |seed, byte| mixed(seed ^ u64::from(byte)));
                let faults = rule.faults.clone();
                Arc::new(FaultyTool { tool, faults, seed, calls: AtomicU64::new(0) })
            }
            None => tool,
        }
    }
}

/// A tool that does not always work.
struct FaultyTool {
    tool: Arc<dyn Tool>,
    faults: Vec<(f64, Fault)>,
    seed: u64,
    /// How often the tool was called.
    calls: AtomicU64,
}

impl FaultyTool {
    /// Returns the fault of the next call; `None` if it is passed on.
    fn next(&self) -> Option<Fault> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        // 53 bits are what a float holds; all of them together are a number from 0 to 100.
        let drawn = (mixed(self.seed.wrapping_add(call)) >> 11) as f64 / (1u64 << 53) as f64;
        let mut rest = drawn * 100.0;
        self.faults.iter().find_map(|(percent, fault)| {
            rest -= percent;
            (rest < 0.0).then_some(*fault)
        })
    }

    async fn run(&self, args: Value, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        let name = &self.spec().name;
        let Some(fault) = self.next() else { return self.tool.call(args, cx).await };
        tracing::debug!(tool = %name, ?fault, "a fault is injected");
        match fault {
            // The executor's deadline ends it.
            Fault::Timeout => pending().await,
            Fault::Error => Err(ToolError::failed(format_args!("injected fault: '{name}' failed"))),
            Fault::Unavailable => {
                let text = format!("Tool '{name}' is unavailable: injected fault");
                Err(ToolError::new(ErrorKind::Unavailable, text))
            }
            Fault::Slow(by) => {
                tokio::time::sleep(by).await;
                self.tool.call(args, cx).await
            }
            Fault::Garbage => Ok(ToolOutput::Value("{\"resu\u{fffd}\u{0}lt\":[,,<html>".into())),
        }
    }
}

impl Tool for FaultyTool {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    fn call<'a>(
        &'a self,
        args: Value,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(self.run(args, cx))
    }

    /// Faults happen when a call runs, not when it is queued.
    fn enqueue<'a>(
        &'a self,
        args: Value,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<CallId, ToolError>> {
        self.tool.enqueue(args, cx)
    }
}

/// Spreads a number over all 64 bits (SplitMix64).
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests;
