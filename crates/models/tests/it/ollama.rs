//! The traps of Ollama and of Qwen's templates.

use serde_json::json;
use switchboard_models::{
    FailureKind, Message, ModelConfig, ModelEvent, Provider, Request, ollama,
};
use switchboard_testkit::{Logs, ProviderServer, Reply};

use crate::common::{Setup, told, tools};

const DONE: &str = r#"{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":10,"eval_count":5}"#;

/// The turn that lines with these messages become, however they are cut into pieces.
async fn check(messages: &[&str]) -> String {
    let mut lines: Vec<String> = messages
        .iter()
        .map(|message| format!(r#"{{"model":"m","message":{message},"done":false}}"#))
        .collect();
    lines.push(DONE.to_owned());
    let mut results = Vec::new();
    for size in [1, 5, 1 << 20] {
        let setup = Setup::new(Provider::Ollama, [Reply::lines(&lines).in_pieces(size)]).await;
        let turn = setup.ask(true).await.unwrap();
        assert_eq!((turn.usage.input_tokens, turn.usage.output_tokens), (10, 5));
        results.push(told(&turn));
    }
    results.dedup();
    assert_eq!(results.len(), 1, "the pieces matter: {results:?}");
    results.remove(0)
}

// ML-1: recordings of a real Ollama.
#[tokio::test]
async fn a_real_ollama_is_understood() {
    let recordings = [
        (true, "application/x-ndjson", include_str!("../recordings/chat-tool-stream.ndjson")),
        (false, "application/json; charset=utf-8", include_str!("../recordings/chat-tool.json")),
    ];
    for (stream, content_type, body) in recordings {
        for size in [1, 100, 1 << 20] {
            let reply = Reply::new(200, content_type, body).in_pieces(size);
            let setup = Setup::new(Provider::Ollama, [reply]).await;
            let turn = setup.ask(stream).await.unwrap();
            let id = turn.message.tool_calls[0].id.clone();
            assert!(["call_odionbcs", "call_0mymffju"].contains(&&*id));
            assert_eq!(told(&turn), format!(r#"ToolUse |  | {id} get_weather {{"city":"Paris"}}"#));
            assert_eq!((turn.usage.input_tokens, turn.usage.output_tokens), (313, 31));
        }
    }
    let text = include_str!("../recordings/chat-stream.ndjson");
    let sentence = "I'm so glad you're here.";
    // 24 tokens: `num_predict` if that was the limit, otherwise `num_ctx`.
    for (max_tokens, stop) in
        [(Some(24), "MaxTokens"), (Some(25), "ContextFull"), (None, "ContextFull")]
    {
        let reply = Reply::new(200, "application/x-ndjson", text);
        let limit = |config: &mut ModelConfig| config.max_tokens = max_tokens;
        let setup = Setup::with(Provider::Ollama, [reply], limit).await;
        let turn = setup.ask(true).await.unwrap();
        assert_eq!(told(&turn), format!("{stop} | {sentence} {sentence} {sentence} | "));
    }
}

// ML-3
#[tokio::test]
async fn calls_are_appended_never_merged() {
    let call = |id: &str, city: &str| {
        format!(
            r#"{{"role":"assistant","content":"","tool_calls":[{{{id}"function":{{"index":0,"name":"get_weather","arguments":{city}}}}}]}}"#
        )
    };
    let (oslo, rome) = (r#"{"city":"Oslo"}"#, r#"{"city":"Rome"}"#);
    // Old builds: no ids, all indexes 0.
    let told = check(&[&call("", oslo), &call("", rome), &call("", oslo)]).await;
    assert_eq!(
        told,
        format!(
            "ToolUse |  | call_1_0 get_weather {oslo}; call_1_1 get_weather {rome}; call_1_2 get_weather {oslo}"
        )
    );
    // The same id twice.
    let told = check(&[&call(r#""id":"x","#, oslo), &call(r#""id":"x","#, rome)]).await;
    assert_eq!(told, format!("ToolUse |  | x get_weather {oslo}; call_1_1 get_weather {rome}"));
    let told = check(&[&call(r#""id":"x","#, oslo), &call(r#""id":"x","#, oslo)]).await;
    assert_eq!(told, format!("ToolUse |  | x get_weather {oslo}"));
    // Arguments as text, nothing at all, broken.
    for (arguments, expected) in [
        (r#""{\"city\":\"Oslo\"}""#, oslo),
        ("null", "{}"),
        (r#""""#, "{}"),
        (r#""{\"city\"""#, "broken {\"city\""),
    ] {
        let told = check(&[&call("", arguments)]).await;
        assert_eq!(told, format!("ToolUse |  | call_1_0 get_weather {expected}"));
    }
    // Everything in one chunk.
    let both = r#"{"role":"assistant","thinking":"Hm","content":"On it","tool_calls":[{"function":{"name":"home_light","arguments":{}}},{"function":{"name":"nobody","arguments":{}}}]}"#;
    assert_eq!(
        check(&[both]).await,
        "ToolUse | On it | call_1_0 home.light {}; call_1_1 nobody {}"
    );
}

// ML-2
#[tokio::test]
async fn leaked_calls_are_recovered_where_they_validate() {
    let leak = r#"{"role":"assistant","content":"<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>"}"#;
    assert_eq!(
        check(&[leak]).await,
        r#"ToolUse |  | call_1_0 get_weather {"city":"Oslo"} recovered"#
    );
    let invalid = r#"{"role":"assistant","content":"{\"name\": \"get_weather\", \"arguments\": {\"city\": 1}}"}"#;
    let text = r#"{"name": "get_weather", "arguments": {"city": 1}}"#;
    assert_eq!(check(&[invalid]).await, format!("Answer | {text} | "));
    // No tools on offer, no calls.
    let line = format!(r#"{{"message":{leak},"done":true}}"#);
    let setup = Setup::new(Provider::Ollama, [Reply::lines(&[line])]).await;
    let messages = [Message::User("x".into())];
    let request = Request::new(&messages).with_validation(&|_, _| true);
    let turn = setup.model.ask(&request, &|_| {}).await.unwrap();
    assert!(turn.message.tool_calls.is_empty());
    assert!(turn.message.content.starts_with("<tool_call>"));
}

// ML-2: Qwen's parsers swallow a call that is not closed.
#[tokio::test]
async fn an_empty_answer_is_asked_for_once_more() {
    let answer = r#"{"message":{"role":"assistant","content":"Sunny"},"done":true,"prompt_eval_count":10,"eval_count":2}"#;
    let setup =
        Setup::new(Provider::Ollama, [Reply::lines(&[DONE]), Reply::lines(&[answer])]).await;
    let turn = setup.ask(true).await.unwrap();
    assert_eq!(told(&turn), "Answer | Sunny | ");
    assert_eq!((turn.usage.input_tokens, turn.usage.output_tokens), (20, 7));
    let setup = Setup::new(Provider::Ollama, [Reply::lines(&[DONE]), Reply::lines(&[DONE])]).await;
    assert_eq!(told(&setup.ask(true).await.unwrap()), "Answer |  | ");
    assert_eq!(setup.server.captured().len(), 2);
}

// ML-1: the model's own mistake is asked for once more, in both shapes that it comes in.
#[tokio::test]
async fn broken_calls_are_the_models_mistake() {
    let text = "error parsing tool call: raw='{\"a', err=unexpected end of JSON input";
    let line = json!({"error": text}).to_string();
    let answer = r#"{"message":{"content":"Sunny"},"done":true}"#;
    for (stream, failure) in
        [(true, Reply::lines(&[line])), (false, Reply::json(500, &json!({"error": text})))]
    {
        let setup = Setup::new(Provider::Ollama, [failure.clone(), Reply::lines(&[answer])]).await;
        assert_eq!(told(&setup.ask(stream).await.unwrap()), "Answer | Sunny | ");
        let setup = Setup::new(Provider::Ollama, [failure.clone(), failure]).await;
        let error = setup.ask(stream).await.unwrap_err();
        assert_eq!(error.kind, FailureKind::BrokenCall);
        assert_eq!(setup.server.captured().len(), 2);
    }
}

// ML-1: failures that stay.
#[tokio::test]
async fn failures_say_what_the_server_said() {
    for (status, body, kind) in [
        (
            400,
            r#"{"error":"registry.ollama.ai/library/m does not support tools"}"#,
            FailureKind::Rejected,
        ),
        (404, r#"{"error":"model 'm' not found"}"#, FailureKind::Rejected),
        (
            400,
            r#"{"error":"the input length exceeds the context length"}"#,
            FailureKind::ContextFull,
        ),
    ] {
        let reply = Reply::new(status, "application/json", body);
        let error = Setup::new(Provider::Ollama, [reply]).await.ask(true).await.unwrap_err();
        assert_eq!(error.kind, kind);
        let said = body.split('"').nth(3).unwrap();
        assert_eq!(error.message, format!("ollama answered {status}: {said}"));
    }
    let start = r#"{"message":{"content":"Hi"},"done":false}"#;
    for reply in [
        Reply::lines(&[start]),
        Reply::lines(&[start]).cut(),
        Reply::new(200, "application/x-ndjson", format!("{start}\n{{\"mess")),
    ] {
        assert_eq!(
            Setup::new(Provider::Ollama, [reply]).await.ask(true).await.unwrap_err().kind,
            FailureKind::Cut
        );
    }
}

// ML-2: a prompt that was cut loses its tools without a word.
#[tokio::test]
async fn a_cut_prompt_is_noticed() {
    let long = [Message::User("word ".repeat(4000).into())];
    for (count, warned) in [(4000, false), (100, true)] {
        let line =
            format!(r#"{{"message":{{"content":"Hi"}},"done":true,"prompt_eval_count":{count}}}"#);
        let setup = Setup::new(Provider::Ollama, [Reply::lines(&[line])]).await;
        let (turn, events) = setup.ask_after(&long, true).await;
        turn.unwrap();
        let found = events
            .iter()
            .any(|event| matches!(event, ModelEvent::Warning(text) if text.contains("num_ctx")));
        assert_eq!(found, warned);
    }
}

// ML-2
#[test]
fn tools_have_exactly_the_shape_that_qwen_knows() {
    let logs = Logs::collect(tracing::Level::DEBUG);
    let specs = tools();
    let specs: Vec<_> = specs.iter().collect();
    let before = specs[0].clone();
    let converted = ollama::convert_tools(&specs);
    assert_eq!(specs[0], &before);
    assert_eq!(
        converted[0].to_string(),
        r#"{"type":"function","function":{"name":"get_weather","description":"Weather of a city","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}"#
    );
    let lines = logs.lines();
    assert!(lines[0].ends_with("🔧 Converted 2 tools from LangChain to Qwen format"), "{lines:?}");
    assert!(lines[0].starts_with("DEBUG"), "{lines:?}");
    assert!(ollama::convert_tools(&[]).is_empty());
}

// ML-10: a recording of a real Ollama; and what is no Ollama.
#[tokio::test]
async fn installed_models_are_listed() {
    let check = async |reply: Reply| {
        let server = ProviderServer::start([reply]).await;
        let mut config = ModelConfig::new(Provider::Ollama, "");
        config.base_url = Some(server.url());
        let found = ollama::installed(&config).await;
        let captured = server.captured();
        assert_eq!((&*captured[0].method, &*captured[0].path), ("GET", "/api/tags"));
        found
    };
    let tags = include_str!("../recordings/tags.json");
    let found = check(Reply::new(200, "application/json", tags)).await.unwrap();
    let names: Vec<_> = found.iter().map(|model| &*model.name).collect();
    assert_eq!(names, ["home:latest", "smol:latest"]);
    assert_eq!((found[0].calls_tools, found[0].context_length), (Some(true), Some(8192)));
    let old = check(Reply::json(200, &json!({"models": [{"name": "a"}]}))).await.unwrap();
    assert_eq!((old[0].calls_tools, old[0].context_length), (None, None));
    let other = check(Reply::json(200, &json!({"hello": "world"}))).await.unwrap_err();
    assert_eq!(other.kind, FailureKind::Unreadable);
}
