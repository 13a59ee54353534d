//! The providers' own context management: how it is asked for, what it says, and that a summary goes back as it came.

use std::num::NonZeroU64;

use serde_json::{Value, json};
use switchboard_models::{
    ContextEdits, ContextManagement, FailureKind, Message, ModelConfig, ModelEvent, Provider,
    Secret, connect,
};
use switchboard_testkit::Reply;

use crate::common::{Setup, told};

fn managed(how: ContextManagement) -> impl FnOnce(&mut ModelConfig) {
    move |config| config.context_management = Some(how)
}

fn edits(events: &[ModelEvent]) -> Vec<ContextEdits> {
    let edits = events.iter().filter_map(|event| match event {
        ModelEvent::ContextEdited(edits) => Some(*edits),
        _ => None,
    });
    edits.collect()
}

fn events(events: &[Value]) -> Reply {
    Reply::events(&events.iter().map(Value::to_string).collect::<Vec<_>>())
}

const APPLIED: &str = r#"{"applied_edits":[{"type":"clear_tool_uses_20250919","cleared_tool_uses":8,"cleared_input_tokens":50000},{"type":"of_the_future"}]}"#;

// RN-3
#[tokio::test]
async fn cleared_results_are_asked_for_and_told() {
    let applied: Value = serde_json::from_str(APPLIED).unwrap();
    let usage = json!({"input_tokens": 7, "output_tokens": 5});
    let streamed = events(&[
        json!({"type": "message_start", "message": {"content": [], "usage": usage}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hi"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage, "context_management": applied}),
        json!({"type": "message_stop"}),
    ]);
    let whole = json!({
        "content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn", "usage": usage,
        "context_management": applied,
    });
    let nothing = json!({
        "content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn", "usage": usage,
        "context_management": {"applied_edits": []},
    });
    let replies = [streamed, Reply::json(200, &whole), Reply::json(200, &nothing)];
    let setup =
        Setup::with(Provider::Anthropic, replies, managed(ContextManagement::ClearToolUses));
    let setup = setup.await;
    assert!(setup.model.manages_context());
    let expected =
        ContextEdits { cleared_tool_uses: 8, cleared_input_tokens: 50_000, compacted: false };
    for (stream, expected) in [(true, vec![expected]), (false, vec![expected]), (false, vec![])] {
        let (turn, heard) = setup.ask_after(&[Message::User("Weather?".into())], stream).await;
        assert_eq!(told(&turn.unwrap()), "Answer | Hi | ");
        assert_eq!(edits(&heard), expected);
    }
    for request in setup.server.captured() {
        assert_eq!(request.header("anthropic-beta"), Some("context-management-2025-06-27"));
        let wanted = json!({"edits": [{"type": "clear_tool_uses_20250919"}]});
        assert_eq!(request.body["context_management"], wanted);
    }
}

// RN-3
#[tokio::test]
async fn a_summary_goes_back_as_it_came() {
    let usage = json!({"input_tokens": 10, "output_tokens": 4, "iterations": [
        {"type": "compaction", "input_tokens": 1000, "output_tokens": 50},
        {"type": "message", "input_tokens": 10, "output_tokens": 4},
    ]});
    let delta = |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let streamed = events(&[
        json!({"type": "message_start", "message": {"content": [], "usage": {"input_tokens": 10, "output_tokens": 0}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "compaction", "content": null}}),
        delta(
            0,
            json!({"type": "compaction_delta", "content": "They talked ", "encrypted_content": "old"}),
        ),
        delta(
            0,
            json!({"type": "compaction_delta", "content": "of ships.", "encrypted_content": "xyz"}),
        ),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}),
        delta(1, json!({"type": "text_delta", "text": "Hi"})),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}),
        json!({"type": "message_stop"}),
    ]);
    let answer = json!({"content": [{"type": "text", "text": "Yes"}], "stop_reason": "end_turn", "usage": {}});
    for pieces in [1, 1 << 20] {
        let replies = [streamed.clone().in_pieces(pieces), Reply::json(200, &answer)];
        let change = |config: &mut ModelConfig| {
            managed(ContextManagement::Compact)(config);
            config.context = NonZeroU64::new(100_000);
            config.headers.insert("Anthropic-Beta".to_owned(), Secret::new("mine-2026-01-01"));
        };
        let setup = Setup::with(Provider::Anthropic, replies, change).await;
        let asked = Message::User("Weather?".into());
        let (turn, heard) = setup.ask_after(std::slice::from_ref(&asked), true).await;
        let turn = turn.unwrap();
        assert_eq!(told(&turn), "Answer | Hi | ");
        assert_eq!(edits(&heard), [ContextEdits { compacted: true, ..ContextEdits::default() }]);
        // What the summary cost is counted, which the totals of the API leave out.
        assert_eq!((turn.usage.input_tokens, turn.usage.output_tokens), (1010, 54));
        let block = json!({"type": "compaction", "content": "They talked of ships.", "encrypted_content": "xyz"});
        let messages = [asked, Message::Ai(turn.message), Message::User("Sure?".into())];
        setup.ask_after(&messages, false).await.0.unwrap();
        let [first, second] = &setup.server.captured()[..] else { panic!() };
        assert_eq!(first.header("anthropic-beta"), Some("mine-2026-01-01,compact-2026-01-12"));
        let trigger = json!({"type": "input_tokens", "value": 60_000});
        let wanted = json!({"edits": [{"type": "compact_20260112", "trigger": trigger}]});
        assert_eq!(first.body["context_management"], wanted);
        assert_eq!(
            second.body["messages"][1]["content"],
            json!([block, {"type": "text", "text": "Hi"}])
        );
    }
}

// RN-3: OpenAI's summary is encrypted, and goes back as it came.
#[tokio::test]
async fn openai_makes_a_summary() {
    let summary = json!({"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA"});
    let text = json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "Hi", "annotations": []}]});
    let answer = json!({"status": "completed", "output": [summary, text], "usage": {}});
    for (context, entry) in [
        (None, json!({"type": "compaction"})),
        (NonZeroU64::new(100_000), json!({"type": "compaction", "compact_threshold": 60_000})),
        (NonZeroU64::new(100), json!({"type": "compaction", "compact_threshold": 1_000})),
    ] {
        let replies = [Reply::json(200, &answer), Reply::json(200, &answer)];
        let change = |config: &mut ModelConfig| {
            managed(ContextManagement::Compact)(config);
            config.context = context;
        };
        let setup = Setup::with(Provider::OpenAiResponses, replies, change).await;
        assert!(setup.model.manages_context());
        let asked = Message::User("Weather?".into());
        let (turn, heard) = setup.ask_after(std::slice::from_ref(&asked), false).await;
        assert_eq!(edits(&heard), [ContextEdits { compacted: true, ..ContextEdits::default() }]);
        let messages = [asked, Message::Ai(turn.unwrap().message), Message::User("Sure?".into())];
        setup.ask_after(&messages, false).await.0.unwrap();
        let [first, second] = &setup.server.captured()[..] else { panic!() };
        assert_eq!(first.body["context_management"], json!([entry]));
        let input = second.body["input"].as_array().unwrap();
        assert_eq!(input[1..3], [summary.clone(), text.clone()]);
    }
}

// RN-3: one that failed is no summary, and goes back all the same.
#[tokio::test]
async fn a_summary_that_failed_is_none() {
    let content = json!([{"type": "compaction", "content": null}, {"type": "text", "text": "Hi"}]);
    let answer = json!({"content": content, "stop_reason": "end_turn", "usage": {}});
    let setup = Setup::with(
        Provider::Anthropic,
        [Reply::json(200, &answer)],
        managed(ContextManagement::Compact),
    );
    let (turn, heard) = setup.await.ask_after(&[Message::User("Hi".into())], false).await;
    assert_eq!(turn.unwrap().message.native.unwrap().content, content);
    assert_eq!(edits(&heard), []);
}

#[test]
fn it_is_read_from_a_config_and_few_have_it() {
    let text = "provider = 'openai'\nmodel = 'm'\ncontext_management = 'clear_tool_uses'";
    let config: ModelConfig = toml::from_str(text).unwrap();
    let error = connect(&config).err().unwrap();
    assert_eq!(error.kind, FailureKind::Config);
    assert!(error.to_string().contains("is for anthropic"), "{error}");
    let text = "provider = 'openai-responses'\nmodel = 'm'\ncontext_management = 'clear_tool_uses'";
    let error = connect(&toml::from_str(text).unwrap()).err().unwrap();
    assert_eq!(error.kind, FailureKind::Config);
    assert!(error.to_string().contains("has `compact` only"), "{error}");
    let text = "provider = 'anthropic'\nmodel = 'm'\ncontext_management = 'compact'";
    assert!(connect(&toml::from_str(text).unwrap()).is_ok());
    let wrong = "provider = 'anthropic'\nmodel = 'm'\ncontext_management = 'provider'";
    assert!(toml::from_str::<ModelConfig>(wrong).is_err());
}
