//! OpenAI's own search for tools, which is run here: what it finds is defined where it was found (SPEC FT-3).

use serde_json::{Value, json};
use switchboard_models::{
    FoundTools, Message, ModelConfig, Provider, Request, ToolChoice, ToolReply, connect,
};
use switchboard_testkit::{ProviderServer, Reply, rules};
use switchboard_toolcall::ToolSpec;

use crate::common::{call, said, told};

fn specs() -> Vec<ToolSpec> {
    let spec = |name: &str| {
        ToolSpec::new(name, "What it does", json!({"type": "object", "properties": {}}))
    };
    ["tool_search", "read_result", "home.light", "called_before"].map(spec).to_vec()
}

fn reply(id: &str, content: &str, is_error: bool) -> Message {
    let (tool_call_id, content) = (id.to_owned(), content.to_owned());
    Message::Tool(ToolReply { content, tool_call_id, is_error, ..ToolReply::default() })
}

/// A search that finds a light, its call, and searches that find nothing new.
fn conversation() -> (Vec<Message>, FoundTools) {
    let search = |id: &str| call(id, FoundTools::SEARCH, r#"{"query":"light"}"#);
    let messages = vec![
        Message::User("Light!".into()),
        said("", vec![search("s1"), search("s2")]),
        reply("s1", "one tool", false),
        reply("s2", "the index is gone", true),
        said("I see.", vec![call("c1", "home.light", "{}"), call("c2", "called_before", "{}")]),
        reply("c1", "on", false),
        reply("c2", "ok", false),
        said("", vec![search("s3")]),
        reply("s3", "two tools, of which you know one", false),
    ];
    let mut found = FoundTools::default();
    found.add("s1".to_owned(), vec!["home.light".to_owned()], false);
    found.add("s2".to_owned(), vec!["home.light".to_owned()], false);
    found.add("s3".to_owned(), vec!["home.light".to_owned()], true);
    (messages, found)
}

/// What is sent, which is nothing that the API would reject.
async fn sent(messages: &[Message], found: Option<&FoundTools>, choice: ToolChoice) -> Value {
    let server = ProviderServer::start([Reply::json(400, &json!({"error": "enough"}))]).await;
    let mut config = ModelConfig::new(Provider::OpenAiResponses, "gpt-5.4");
    config.base_url = Some(format!("{}/v1", server.url()));
    let specs = specs();
    let mut request = Request::new(messages).with_tools(&specs);
    (request.fixed_tools, request.found, request.choice) = (Some(2), found, choice);
    connect(&config).unwrap().ask(&request, &|_| {}).await.unwrap_err();
    let body = server.captured().remove(0).body;
    assert_eq!(rules::broken("openai-responses", &body), Vec::<String>::new(), "{body:#}");
    body
}

// FT-3
#[tokio::test]
async fn found_tools_are_defined_where_they_were_found() {
    let (messages, found) = conversation();
    let body = sent(&messages, Some(&found), ToolChoice::Auto).await;
    insta::assert_snapshot!(crate::common::pretty(&json!([body["tools"], body["input"]])));
    // A turn without calls has the same tools: the searches need theirs, and the cache is kept.
    let last = sent(&messages, Some(&found), ToolChoice::Never).await;
    assert_eq!((&last["tools"], &last["tool_choice"]), (&body["tools"], &json!("none")));
    let demanded = ToolChoice::One(FoundTools::SEARCH.to_owned());
    assert_eq!(sent(&messages, Some(&found), demanded).await["tool_choice"], "required");
}

// FT-3: what is sent never changes what was sent before.
#[tokio::test]
async fn a_longer_conversation_begins_as_the_shorter_one_did() {
    let (messages, found) = conversation();
    let whole = sent(&messages, Some(&found), ToolChoice::Auto).await;
    let items = |body: &Value| body["input"].as_array().unwrap().clone();
    for length in [1, 4, 7, 9] {
        let body = sent(&messages[..length], Some(&found), ToolChoice::Auto).await;
        assert!(items(&whole).starts_with(&items(&body)), "{body:#}");
        assert_eq!(body["tools"], whole["tools"]);
    }
}

// FT-3: without the API's own search, the same conversation is one of functions.
#[tokio::test]
async fn a_model_without_search_gets_functions() {
    let (messages, _) = conversation();
    let body = sent(&messages, None, ToolChoice::Auto).await;
    assert_eq!(body["tools"].as_array().map(Vec::len), Some(4));
    let text = body.to_string();
    for word in ["\"tool_search_call\"", "namespace", "defer_loading"] {
        assert!(!text.contains(word), "{text}");
    }
}

/// The turn of a response with these items, and what the next request has in their place, with search and without.
async fn replayed(items: &Value) -> (String, [Value; 2]) {
    let answer = json!({"status": "completed", "output": items, "usage": {}});
    let enough = || Reply::json(400, &json!({"error": "enough"}));
    let server = ProviderServer::start([Reply::json(200, &answer), enough(), enough()]).await;
    let mut config = ModelConfig::new(Provider::OpenAiResponses, "gpt-5.4");
    config.base_url = Some(format!("{}/v1", server.url()));
    let (model, specs) = (connect(&config).unwrap(), specs());
    let mut found = FoundTools::default();
    found.add("s1".to_owned(), vec!["home.light".to_owned()], false);
    let mut messages = vec![
        Message::User("Light!".into()),
        said("", vec![call("s1", FoundTools::SEARCH, "{}")]),
        reply("s1", "", false),
    ];
    let ask = async |messages: &[Message], found| {
        let mut request = Request::new(messages).with_tools(&specs).in_one_piece();
        (request.fixed_tools, request.found) = (Some(2), found);
        model.ask(&request, &|_| {}).await
    };
    let turn = ask(&messages, Some(&found)).await.unwrap();
    let told = told(&turn);
    let calls = turn.message.tool_calls.clone();
    messages.push(Message::Ai(turn.message));
    messages.extend(calls.iter().map(|call| reply(&call.id, "ok", false)));
    let mut next = Vec::new();
    for found in [Some(&found), None] {
        ask(&messages, found).await.unwrap_err();
        let body = server.captured().pop().unwrap().body;
        assert_eq!(rules::broken("openai-responses", &body), Vec::<String>::new(), "{body:#}");
        next.push(body["input"][3].clone());
    }
    (told, next.try_into().unwrap())
}

// FT-3: the model's own items, which name what it was given by a search.
#[tokio::test]
async fn searches_and_calls_of_found_tools_go_back() {
    let search = json!({"type": "tool_search_call", "id": "tsc_1", "execution": "client", "call_id": "s2",
        "status": "completed", "arguments": {"query": "light", "limit": 1.0}});
    let (told, [native, plain]) = replayed(&json!([search])).await;
    assert_eq!(told, r#"ToolUse |  | s2 tool_search {"query":"light","limit":1.0}"#);
    assert_eq!(native, search);
    let arguments = r#"{"query":"light","limit":1.0}"#;
    let function = json!({"type": "function_call", "call_id": "s2", "name": "tool_search", "arguments": arguments});
    assert_eq!(plain, function);

    let named = json!({"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "home_light",
        "namespace": "home_light", "arguments": "{}"});
    let mut unnamed = named.clone();
    unnamed.as_object_mut().unwrap().shift_remove("namespace");
    let (told, [native, plain]) = replayed(&json!([named])).await;
    assert_eq!(told, "ToolUse |  | c1 home.light {}");
    assert_eq!((native, plain), (named, unnamed));
}

// ML-3: arguments of a search that are none.
#[tokio::test]
async fn a_search_with_other_arguments_is_a_call_all_the_same() {
    let search = |arguments: Value| json!([{"type": "tool_search_call", "call_id": "s2", "arguments": arguments}]);
    for (arguments, expected) in [
        (json!("{\"query\":\"x\"}"), r#"{"query":"x"}"#),
        (Value::Null, "{}"),
        (json!([1]), "broken [1]"),
    ] {
        let (told, [native, _]) = replayed(&search(arguments)).await;
        assert_eq!(told, format!("ToolUse |  | s2 tool_search {expected}"));
        assert!(native["arguments"].is_object(), "{native}");
    }
}
