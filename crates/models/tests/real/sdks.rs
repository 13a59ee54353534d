//! What we send, judged by the request types of the official SDKs: `anthropic`, `openai` and `ollama` from `PyPI`.
//!
//! Types are laxer than the APIs behind them. They know nothing of the order of messages, of a result for each call, of the
//! characters of names and ids, or of what a schema may hold (`input_schema` and `parameters` are any object): those are
//! checked by the tests beside this one. And where the SDKs' types are laxer than they look, `sdk_types.py` is stricter;
//! it says how.

use std::{
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use switchboard_models::{
    AiMessage, Arguments, FoundTools, Message, ModelCall, ModelConfig, Provider, Request, Think,
    ToolChoice, ToolReply, connect,
};
use switchboard_testkit::{ProviderServer, Reply};
use switchboard_toolcall::ToolSpec;

use crate::conversation::{messages, tools};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real/sdk_types.py");

/// What the SDKs say of each request.
fn judge(requests: &[(Provider, Value)]) -> Vec<String> {
    let parts = std::env::var_os("SWITCHBOARD_PARTS").map(PathBuf::from);
    let parts = parts.expect("SWITCHBOARD_PARTS is not set: run `cargo xtask test`");
    let mut python = Command::new(parts.join("model-sdks/venv/bin/python"))
        .arg(SCRIPT)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the part is installed: run `cargo xtask parts`");
    let mut stdin = python.stdin.take().unwrap();
    for (provider, body) in requests {
        writeln!(stdin, "{}", json!({"provider": provider.code(), "body": body})).unwrap();
    }
    drop(stdin);
    let output = python.wait_with_output().unwrap();
    let answers: Vec<_> =
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    assert_eq!(answers.len(), requests.len(), "the checker ended early: {answers:?}");
    answers
}

/// Everything that settings can add to a request.
fn with_everything(config: &mut ModelConfig) {
    config.max_tokens = Some(100);
    config.temperature = Some(0.5);
    config.num_ctx = Some(8192);
    config.audio = true;
    config.keep_alive = Some("5m".to_owned());
    config.think = Some(Think::Level("low".to_owned()));
}

/// The bodies that the provider gets: streamed and not, with and without tools, with few settings and with all.
async fn sent(provider: Provider) -> Vec<Value> {
    // Answers for a reason that has nothing to do with images: otherwise it would be asked once more without them.
    let enough = Reply::json(401, &json!({"error": "enough"}));
    let server = ProviderServer::start(std::iter::repeat_n(enough, 8)).await;
    let (messages, tools) = (messages(provider), tools());
    for change in [|_: &mut ModelConfig| {}, with_everything] {
        for (stream, offered, choice) in [
            (true, true, ToolChoice::Auto),
            (false, true, ToolChoice::Auto),
            (true, true, ToolChoice::Never),
            (false, false, ToolChoice::Auto),
        ] {
            let mut config = ModelConfig::new(provider, "test-model");
            config.base_url = Some(server.url());
            config.images = Some(true);
            change(&mut config);
            let mut request = Request::new(&messages);
            if offered {
                request = request.with_tools(&tools);
            }
            request.stream = stream;
            request.choice = choice;
            connect(&config).unwrap().ask(&request, &|_| {}).await.unwrap_err();
        }
    }
    server.captured().into_iter().map(|captured| captured.body).collect()
}

/// What a provider gets that defers the definitions of found tools: a search, and a call of what it found.
async fn searched(provider: Provider) -> Value {
    let server = ProviderServer::start([Reply::json(401, &json!({"error": "enough"}))]).await;
    let spec = |name| ToolSpec::new(name, "What it does", json!({"type": "object"}));
    let tools = [FoundTools::SEARCH, "read_result", "home.light"].map(spec);
    let said = |id: &str, name: &str| {
        let (id, name, args) = (id.to_owned(), name.to_owned(), Arguments::parse("{}"));
        let call = ModelCall { id, name, args, recovered: false };
        Message::Ai(AiMessage { tool_calls: vec![call], ..AiMessage::default() })
    };
    let reply = |id: &str| {
        let (tool_call_id, content) = (id.to_owned(), "ok".to_owned());
        Message::Tool(ToolReply { tool_call_id, content, ..ToolReply::default() })
    };
    let searches = ["s1", "s2"].map(|id| [said(id, FoundTools::SEARCH), reply(id)]).concat();
    let called = vec![said("c1", "home.light"), reply("c1")];
    let messages = [vec![Message::User("Light!".into())], searches, called].concat();
    let mut found = FoundTools::default();
    found.add("s1".to_owned(), vec!["home.light".to_owned()], false);
    let mut config = ModelConfig::new(provider, "test-model");
    config.base_url = Some(server.url());
    let mut request = Request::new(&messages).with_tools(&tools);
    (request.fixed_tools, request.found) = (Some(2), Some(&found));
    connect(&config).unwrap().ask(&request, &|_| {}).await.unwrap_err();
    let body = server.captured().remove(0).body;
    assert!(body.to_string().contains("\"defer_loading\":true"), "{body}");
    body
}

// ML-1, ML-5, ML-6, FT-3
#[tokio::test]
async fn what_we_send_is_of_the_sdks_types() {
    let mut requests = Vec::new();
    for &provider in Provider::ALL {
        requests.extend(sent(provider).await.into_iter().map(|body| (provider, body)));
    }
    assert_eq!(requests.len(), 32);
    for provider in [Provider::Anthropic, Provider::OpenAiResponses] {
        requests.push((provider, searched(provider).await));
    }
    for ((provider, body), answer) in requests.iter().zip(judge(&requests)) {
        assert_eq!(answer, "ok", "{provider}: {body}");
    }
}

/// One way to spoil a request, and a word of what must be said about it.
struct Mistake {
    provider: Provider,
    /// Where in the first body that we sent, as a JSON pointer.
    at: &'static str,
    /// What stands there instead; nothing where `null`.
    instead: Value,
    said: &'static str,
}

fn mistakes() -> Vec<Mistake> {
    let mistake = |provider, at, instead, said| Mistake { provider, at, instead, said };
    let (anthropic, openai, ollama) = (Provider::Anthropic, Provider::OpenAi, Provider::Ollama);
    let responses = Provider::OpenAiResponses;
    vec![
        mistake(anthropic, "/max_tokens", Value::Null, "max_tokens"),
        mistake(anthropic, "/tools/0/input_schema", Value::Null, "input_schema"),
        mistake(anthropic, "/tools/0/parameters", json!({}), "parameters"),
        mistake(anthropic, "/messages/0/role", json!("tool"), "role"),
        mistake(anthropic, "/messages/1/content/0/signature", Value::Null, "signature"),
        mistake(anthropic, "/messages/2/content/0/tool_use_id", Value::Null, "tool_use_id"),
        mistake(anthropic, "/messages/2/content/1/is_error", json!("yes"), "is_error"),
        mistake(
            anthropic,
            "/messages/2/content/3/content/1/source/media_type",
            json!("image/svg+xml"),
            "media_type",
        ),
        mistake(openai, "/tools/0/function/name", Value::Null, "name"),
        mistake(openai, "/messages/3/tool_calls/0/function/arguments", json!({}), "arguments"),
        mistake(openai, "/messages/4/tool_call_id", Value::Null, "tool_call_id"),
        mistake(openai, "/messages/5/is_error", json!(true), "is_error"),
        mistake(
            openai,
            "/messages/4/content",
            json!([{"type": "image_url", "image_url": {"url": "x"}}]),
            "text",
        ),
        mistake(openai, "/stream_options", json!(true), "stream_options"),
        mistake(responses, "/store", json!("no"), "store"),
        mistake(responses, "/tools/0/strict", Value::Null, "strict"),
        mistake(responses, "/tools/0/function", json!({}), "function"),
        mistake(responses, "/input/3/id", Value::Null, "id"),
        mistake(responses, "/input/5/arguments", json!({}), "arguments"),
        mistake(responses, "/input/9/is_error", json!(true), "is_error"),
        mistake(responses, "/tools/0/type", json!("tool_search"), "Extra inputs"),
        mistake(ollama, "/messages/3/tool_calls/0/function/arguments", json!("{}"), "arguments"),
        mistake(ollama, "/messages/4/tool_name", json!(7), "tool_name"),
        mistake(ollama, "/messages/4/is_error", json!(true), "is_error"),
        mistake(ollama, "/messages/7/images", json!(["no base64!"]), "base64"),
        mistake(ollama, "/tools/0/function/parameters/type", json!("array"), "type"),
        mistake(ollama, "/options/max_tokens", json!(5), "max_tokens"),
    ]
}

/// The body with one thing in it changed.
fn spoilt(mut body: Value, mistake: &Mistake) -> Value {
    let (parent, key) = mistake.at.rsplit_once('/').unwrap();
    let parent = body.pointer_mut(parent).unwrap_or_else(|| panic!("no {} in it", mistake.at));
    let parent = parent.as_object_mut().unwrap();
    if mistake.instead.is_null() {
        assert!(parent.shift_remove(key).is_some(), "no {} in it", mistake.at);
    } else {
        parent.insert(key.to_owned(), mistake.instead.clone());
    }
    body
}

/// The judge is worth nothing unless it refuses what is wrong.
#[tokio::test]
async fn the_judge_refuses_what_is_wrong() {
    let mistakes = mistakes();
    let mut requests = Vec::new();
    for mistake in &mistakes {
        let body = sent(mistake.provider).await.remove(0);
        requests.push((mistake.provider, spoilt(body, mistake)));
    }
    for (mistake, answer) in mistakes.iter().zip(judge(&requests)) {
        assert_ne!(answer, "ok", "{} {}", mistake.provider, mistake.at);
        assert!(answer.contains(mistake.said), "{} {}: {answer}", mistake.provider, mistake.at);
    }
}
