//! Anthropic's models that search: found definitions are deferred, so that the provider's cache of what was said before the
//! search still hits (SPEC FT-3).

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_agent::{Agent, Config, Conversation, RequestOptions};
use switchboard_models::{ModelConfig, Provider, ToolChoice, connect};
use switchboard_runtime::{PolicyConfig, RulePolicy, ToolExecutor, services};
use switchboard_testkit::{Fake, ProviderServer, Reply, rules};
use switchboard_toolcall::{CallContext, ToolPatterns};

pub(crate) const WEATHER: &str = "weather__forecast";
pub(crate) const LAMP: &str = "lamp.switch_on";

/// A stream of these blocks, as Anthropic sends them.
fn stream(blocks: &[Value], reason: &str) -> Reply {
    let usage = json!({"input_tokens": 3, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 5, "output_tokens": 1});
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5",
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage});
    let mut events = vec![json!({"type": "message_start", "message": message})];
    for (index, block) in blocks.iter().enumerate() {
        let (start, delta) = match block["type"].as_str() {
            Some("tool_use") => {
                let mut start = block.clone();
                let input = std::mem::replace(&mut start["input"], json!({})).to_string();
                (start, json!({"type": "input_json_delta", "partial_json": input}))
            }
            _ => (
                json!({"type": "text", "text": ""}),
                json!({"type": "text_delta", "text": block["text"]}),
            ),
        };
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let delta = json!({"stop_reason": reason, "stop_sequence": null});
    events.push(json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 9}}));
    events.push(json!({"type": "message_stop"}));
    let named = |event: &Value| {
        format!("event: {}\ndata: {event}", event["type"].as_str().unwrap_or_default())
    };
    Reply::events(&events.iter().map(named).collect::<Vec<_>>())
}

/// A turn that calls tools: id, name on the wire, arguments.
fn calls(calls: &[(&str, &str, Value)]) -> Reply {
    let block = |(id, name, input): &(&str, &str, Value)| json!({"type": "tool_use", "id": id, "name": name, "input": input});
    stream(&calls.iter().map(block).collect::<Vec<_>>(), "tool_use")
}

fn search(id: &str, query: &str) -> Reply {
    calls(&[(id, "tool_search", json!({"query": query, "limit": 1}))])
}

fn says(text: &str) -> Reply {
    stream(&[json!({"type": "text", "text": text})], "end_turn")
}

/// Two tools among thirty, and one that nobody may call.
pub(crate) fn executor() -> ToolExecutor {
    let rules = PolicyConfig { deny: vec!["mine__*".to_owned()], ..PolicyConfig::default() };
    let executor = ToolExecutor::builder().policy(RulePolicy::new(rules).unwrap()).build();
    let tool =
        |name: &str, text: &str| Fake::echoes(name).with(|spec| spec.description = text.to_owned());
    for service in services::all(&executor) {
        executor.tools().add_shared(service).unwrap();
    }
    let tools = [
        tool(WEATHER, "Tells tomorrow's weather: rain, wind, temperature"),
        tool(LAMP, "Turns a lamp on"),
        tool("mine__weather", "Tells the weather too, but nobody may call it"),
    ];
    let archive = (0..30).map(|number| {
        let text = format!("Converts the ledger number {number} of the archive into another form");
        tool(&format!("archive__convert_{number}"), &text)
    });
    for tool in tools.into_iter().chain(archive) {
        executor.tools().add(tool).unwrap();
    }
    executor
}

/// What Anthropic was sent, request by request; each body is one that it takes.
async fn sent(replies: Vec<Reply>, change: impl FnOnce(Agent) -> Agent) -> Vec<Value> {
    let server = ProviderServer::start(replies).await;
    let mut config = ModelConfig::new(Provider::Anthropic, "claude-opus-5");
    config.base_url = Some(server.url());
    config.deferral = Some(true);
    let settings: Config = toml::from_str("tool_budget = 300").unwrap();
    let agent = change(Agent::new(connect(&config).unwrap(), executor(), settings));
    let mut conversation = Conversation::with_system("Be brief.");
    conversation.say("Go");
    let outcome =
        agent.run(&mut conversation, &(Arc::new(|_| ()) as _), &CallContext::default()).await;
    assert_eq!(outcome.answer.as_deref(), Some("Done."), "{:?}", outcome.error);
    let bodies: Vec<_> = server.captured().into_iter().map(|captured| captured.body).collect();
    for body in &bodies {
        assert_eq!(rules::broken("anthropic", body), Vec::<String>::new(), "{body:#}");
    }
    for pair in bodies.windows(2) {
        let items = |body: &Value, key: &str| body[key].as_array().unwrap().clone();
        assert_eq!(pair[0]["system"], pair[1]["system"]);
        for key in ["tools", "messages"] {
            assert!(items(&pair[1], key).starts_with(&items(&pair[0], key)), "{pair:#?}");
        }
    }
    bodies
}

/// The names of a request's tools, those of deferred ones in brackets.
fn tools(body: &Value) -> Vec<String> {
    let name = |tool: &Value| match tool["defer_loading"].as_bool() {
        Some(true) => format!("({})", tool["name"].as_str().unwrap()),
        _ => tool["name"].as_str().unwrap().to_owned(),
    };
    body["tools"].as_array().unwrap().iter().map(name).collect()
}

/// What the result of this call says, in a request.
fn result<'b>(body: &'b Value, id: &str) -> &'b Value {
    let messages = body["messages"].as_array().unwrap().iter();
    let mut blocks = messages.flat_map(|message| message["content"].as_array().unwrap());
    &blocks.rfind(|block| block["tool_use_id"] == id).unwrap()["content"]
}

fn reference(name: &str) -> Value {
    json!({"type": "tool_reference", "tool_name": name})
}

// FT-3: definitions come behind the search that found them; those that are read before the conversation stay the same.
#[tokio::test]
async fn found_definitions_are_deferred() {
    let replies = vec![
        search("toolu_1", "weather tomorrow"),
        calls(&[("toolu_2", WEATHER, json!({"city": "Graz"}))]),
        search("toolu_3", "turn the lamp on"),
        calls(&[("toolu_4", "lamp_switch_on", json!({}))]),
        says("Done."),
    ];
    let sent = sent(replies, |agent| agent).await;
    let first = ["tool_search", "read_result"];
    assert_eq!(tools(&sent[0]), first);
    let (weather, lamp) = (format!("({WEATHER})"), "(lamp_switch_on)");
    assert_eq!(tools(&sent[1]), [&first[..], &[&weather]].concat());
    assert_eq!(tools(&sent[4]), [&first[..], &[&weather, lamp]].concat());
    // The name in the reference is the one on the wire.
    assert_eq!(result(&sent[4], "toolu_1"), &json!([reference(WEATHER)]));
    assert_eq!(result(&sent[4], "toolu_3"), &json!([reference("lamp_switch_on")]));
    assert_eq!(result(&sent[4], "toolu_2"), r#"{"city":"Graz"}"#);
    assert!(sent[4]["tools"][1]["cache_control"].is_object(), "{:#}", sent[4]["tools"]);
}

// FT-3: a tool that was called, or demanded, before it was found is offered as any other, also after a search finds it.
#[tokio::test]
async fn what_was_called_before_it_was_found_is_not_deferred() {
    let replies = vec![
        calls(&[("toolu_1", WEATHER, json!({}))]),
        search("toolu_2", "weather tomorrow"),
        calls(&[(
            "toolu_3",
            "tool_search",
            json!({"query": "weather or a lamp that is turned on", "limit": 2}),
        )]),
        says("Done."),
    ];
    let sent = sent(replies, |agent| {
        let choice = ToolChoice::One(WEATHER.to_owned());
        agent.with_options(RequestOptions { choice, ..RequestOptions::default() })
    })
    .await;
    let expected = ["tool_search", "read_result", WEATHER, "(lamp_switch_on)"];
    assert_eq!(tools(&sent[0]), expected[..3]);
    assert_eq!(tools(&sent[3]), expected);
    let text = result(&sent[3], "toolu_2").as_str().unwrap();
    assert!(text.contains(WEATHER) && text.contains("You can call these tools now"), "{text}");
    // Both were found, and a reference can only stand for one of them.
    let both = result(&sent[3], "toolu_3").as_array().unwrap();
    assert!(both[0]["text"].as_str().unwrap().contains(WEATHER), "{both:?}");
    assert_eq!(both[1..], [reference("lamp_switch_on")]);
}

// FT-3: what the model may not call, or policy denies, is neither defined nor referred to.
#[tokio::test]
async fn nothing_hidden_is_referred_to() {
    let everything = json!({"query": "weather tomorrow", "limit": 100});
    let replies = vec![calls(&[("toolu_1", "tool_search", everything)]), says("Done.")];
    let offered = ToolPatterns::new(&["archive__*", "mine__*"]).unwrap();
    let sent = sent(replies, |agent| agent.offering(offered)).await;
    let told = sent[1].to_string();
    assert!(!told.contains(WEATHER) && !told.contains("mine__weather"), "{told}");
}
