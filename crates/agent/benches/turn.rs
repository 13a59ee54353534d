//! What the loop costs beside the model and the tools: a turn with calls, run side by side, and the turn that answers.

use std::sync::Arc;

use divan::{AllocProfiler, Bencher, black_box};
use serde_json::{Value, json};
use switchboard_agent::{Agent, AgentEvents, Config, Conversation, StopCause};
use switchboard_models::{
    AiMessage, Arguments, Message, Model, ModelCall, ModelError, Provider, Request, StopReason,
    Turn, Usage, model,
};
use switchboard_runtime::ToolExecutor;
use switchboard_toolcall::{
    BoxFuture, CallContext, Tool, ToolError, ToolOutput, ToolSpec, serde_json::Map,
};
use tokio::runtime::Builder;

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

/// The argument of every call, as the peers' benchmarks have it: 200 bytes.
fn text() -> String {
    "abcdefghijklmnopqrstuvwxyz".repeat(8)[..200].to_owned()
}

/// Calls `echo` so many times, then answers; at once, so that all that is measured is ours.
struct Calls(usize);

impl Model for Calls {
    fn provider(&self) -> Provider {
        Provider::OpenAi
    }

    fn name(&self) -> &str {
        "scripted"
    }

    fn ask<'a>(
        &'a self,
        request: &'a Request<'a>,
        _events: model::ModelEvents<'a>,
    ) -> BoxFuture<'a, Result<Turn, ModelError>> {
        let answered = self.0 == 0 || matches!(request.messages.last(), Some(Message::Tool(_)));
        let calls = if answered { 0 } else { self.0 };
        let tool_calls = (0..calls).map(|number| ModelCall {
            id: format!("call_{number}"),
            name: "echo".to_owned(),
            args: Arguments::from_value(json!({"text": text(), "number": number})),
            recovered: false,
        });
        let content = if answered { "done" } else { "" };
        let message = AiMessage { tool_calls: tool_calls.collect(), ..AiMessage::text(content) };
        let stop = if answered { StopReason::Answer } else { StopReason::ToolUse };
        let usage = Usage { input_tokens: 1, output_tokens: 1 };
        Box::pin(std::future::ready(Ok(Turn { message, stop, usage })))
    }
}

/// Returns its text.
struct Echo(ToolSpec);

impl Tool for Echo {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(
        &'a self,
        mut args: Value,
        _cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let text = args.as_object_mut().and_then(|args: &mut Map<_, _>| args.remove("text"));
        Box::pin(std::future::ready(Ok(ToolOutput::Value(text.unwrap_or_default()))))
    }
}

/// A question, so many calls side by side, their results and the answer; validated, recorded in memory.
#[divan::bench(args = [0, 1, 8, 50], sample_count = 200, sample_size = 20)]
fn calls_in_a_turn(bencher: Bencher<'_, '_>, calls: usize) {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let executor = ToolExecutor::default();
    let schema = json!({"type": "object", "required": ["text"],
        "properties": {"text": {"type": "string"}, "number": {"type": "integer"}}});
    executor.tools().add(Echo(ToolSpec::new("echo", "Returns its text", schema))).expect("usable");
    let agent = Agent::new(Arc::new(Calls(calls)), executor, Config::default());
    let (events, cx): (AgentEvents, _) =
        (Arc::new(|event| drop(black_box(event))), CallContext::default());
    let question = || {
        let mut conversation = Conversation::new();
        conversation.say("go");
        conversation
    };
    bencher.with_inputs(question).bench_local_values(|mut conversation| {
        let outcome = runtime.block_on(agent.run(&mut conversation, &events, &cx));
        assert_eq!(outcome.stop, StopCause::Answer);
        assert_eq!(conversation.messages().len(), 2 + calls + usize::from(calls > 0));
        conversation
    });
}
