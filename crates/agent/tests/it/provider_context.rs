//! What a provider leaves out of a conversation by itself is told, recorded and kept (SPEC RN-3).

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use switchboard_agent::{Agent, AgentEvent, AgentEvents, Config, Conversation, SummarisedMessages};
use switchboard_models::{ContextManagement, ModelConfig, Provider, connect};
use switchboard_runtime::ToolExecutor;
use switchboard_testkit::{Fake, ProviderServer, Reply};
use switchboard_toolcall::CallContext;

use crate::resuming::recording;

fn answer(content: Value, stop: &str, cleared: usize) -> Reply {
    let edit = json!({"type": "clear_tool_uses_20250919", "cleared_tool_uses": cleared, "cleared_input_tokens": 900});
    let applied = if cleared > 0 { json!([edit]) } else { json!([]) };
    Reply::json(
        200,
        &json!({
            "content": content, "stop_reason": stop, "usage": {"input_tokens": 10, "output_tokens": 5},
            "context_management": {"applied_edits": applied},
        }),
    )
}

fn call(id: &str) -> Value {
    json!([{"type": "tool_use", "id": id, "name": "page", "input": {"of": id}}])
}

/// An agent of a model that manages its context, whose runs are recorded.
fn agent(server: &ProviderServer, how: ContextManagement, folder: &std::path::Path) -> Agent {
    let mut config = ModelConfig::new(Provider::Anthropic, "claude-test");
    config.base_url = Some(server.url());
    // Less than the conversation takes: only the provider is to shorten it.
    config.context = std::num::NonZeroU64::new(1_000);
    config.context_management = Some(how);
    let executor = ToolExecutor::default();
    let page = Fake::new("page", |args: Value, _| {
        let text =
            format!("{} {}", args["of"].as_str().unwrap_or_default(), "ships ".repeat(2_000));
        std::future::ready(Ok(switchboard_toolcall::ToolOutput::Value(json!(text))))
    });
    executor.tools().add(page.read_only()).unwrap();
    let config = (connect(&config).unwrap(), Config { stream: false, ..Config::default() });
    Agent::new(config.0, executor, config.1).with_recording(recording(folder))
}

fn watcher() -> (Arc<Mutex<Vec<String>>>, AgentEvents) {
    let warnings = Arc::<Mutex<Vec<String>>>::default();
    let heard = warnings.clone();
    let events: AgentEvents = Arc::new(move |event| {
        if let AgentEvent::Warning(text) = event {
            heard.lock().unwrap().push(text);
        }
    });
    (warnings, events)
}

// RN-3
#[tokio::test]
async fn cleared_results_are_told_recorded_and_kept() {
    let done = json!([{"type": "text", "text": "Done."}]);
    let server = ProviderServer::start([
        answer(call("a"), "tool_use", 0),
        answer(call("b"), "tool_use", 0),
        answer(call("c"), "tool_use", 1),
        // The count is that of the whole conversation.
        answer(done, "end_turn", 2),
    ])
    .await;
    let folder = tempfile::tempdir().unwrap();
    let agent = agent(&server, ContextManagement::ClearToolUses, folder.path());
    let mut conversation = Conversation::new();
    conversation.say("Read");
    let (warnings, events) = watcher();
    let outcome = agent.run(&mut conversation, &events, &CallContext::default()).await;
    assert_eq!(outcome.answer.as_deref(), Some("Done."), "{outcome:?}");
    let ids: Vec<_> = outcome.shortened.iter().map(|entry| &*entry.tool_call_id).collect();
    assert_eq!(ids, ["a", "b"]);
    let told = "anthropic left out 1 result of a tool; what it was is kept";
    assert_eq!(*warnings.lock().unwrap(), [told, told]);
    let store = &agent.recording().unwrap().store;
    let run = store.show(outcome.run_id.unwrap()).unwrap();
    assert_eq!(run.shortened, outcome.shortened);
    // The conversation has them still: the provider is sent all of it, and leaves out what it did before.
    let sent = server.captured();
    assert_eq!(sent.len(), 4);
    let last = sent[3].body.to_string();
    assert!(last.contains("a ships") && last.contains("b ships") && last.contains("c ships"));
}

// RN-3
#[tokio::test]
async fn a_summary_of_the_provider_is_told_and_recorded() {
    let done =
        json!([{"type": "compaction", "content": "Ships."}, {"type": "text", "text": "Done."}]);
    let server =
        ProviderServer::start([answer(call("a"), "tool_use", 0), answer(done, "end_turn", 0)])
            .await;
    let folder = tempfile::tempdir().unwrap();
    let agent = agent(&server, ContextManagement::Compact, folder.path());
    let mut conversation = Conversation::new();
    conversation.say("Read");
    let (warnings, events) = watcher();
    let outcome = agent.run(&mut conversation, &events, &CallContext::default()).await;
    assert_eq!(outcome.answer.as_deref(), Some("Done."), "{outcome:?}");
    let [SummarisedMessages { messages: 3, .. }] = &outcome.summarised[..] else {
        panic!("{outcome:?}")
    };
    assert!(warnings.lock().unwrap()[0].contains("what was said before"), "{warnings:?}");
    let run = agent.recording().unwrap().store.show(outcome.run_id.unwrap()).unwrap();
    assert_eq!(run.summarised, outcome.summarised);
}
