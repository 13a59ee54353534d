//! Whatever a model, a server or a tool's author writes: no panic, and the promises hold.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use switchboard_testkit::rules;
use switchboard_toolcall::ToolSpec;

use crate::{
    AiMessage, Arguments, Image, Message, ModelCall, ModelConfig, NativeContent, Provider, Request,
    ToolReply, lower, recover, sink::Sink, turn,
};

/// JSON made of the words that the wires and schemas use, in all the wrong places.
fn nonsense() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "type",
        "properties",
        "required",
        "$ref",
        "$defs",
        "anyOf",
        "oneOf",
        "allOf",
        "const",
        "enum",
        "items",
        "message",
        "content",
        "tool_calls",
        "function",
        "name",
        "arguments",
        "id",
        "index",
        "choices",
        "delta",
        "finish_reason",
        "stop",
        "usage",
        "content_block",
        "tool_use",
        "content_block_start",
        "text",
        "content_block_delta",
        "input_json_delta",
        "partial_json",
        "done",
        "object",
        "response.output_item.added",
        "response.output_item.done",
        "response.output_text.delta",
        "response.function_call_arguments.delta",
        "response.completed",
        "response",
        "output",
        "item",
        "item_id",
        "output_index",
        "function_call",
        "tool_search_call",
        "reasoning",
        "call_id",
        "#/$defs/type",
        "#",
        "error",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        words.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((words.clone().prop_map(str::to_owned), inner), 0..5)
                .prop_map(|members| Value::Object(Map::from_iter(members))),
        ]
    })
}

/// Reads messages as one provider would, to the end.
fn read(provider: Provider, messages: &[Value]) -> Option<turn::TurnDraft> {
    let names = lower::Names::default();
    let mut sink = Sink::new(&|_| {}, &names, true, true);
    let mut reader = (provider.info().reader)(&json!({"options": {}}));
    for message in messages {
        reader.message(message, &mut sink).ok()?;
    }
    reader.whole(messages.first()?, &mut sink).ok()?;
    reader.finish().ok()
}

/// What a model says in one turn: text, calls with ids and arguments of any kind, and how each ends.
#[derive(Clone, Debug)]
struct Spoken {
    text: &'static str,
    calls: Vec<(&'static str, &'static str, &'static str, ToolReply)>,
    /// What came beside it, which any server may call what it likes.
    thought: Option<Value>,
}

fn spoken() -> impl Strategy<Value = Spoken> {
    let texts = prop::sample::select(vec!["", " ", "Hi", "{\"a\":1}"]);
    let image = Image { media_type: "image/png".to_owned(), data: "AAAA".to_owned() };
    let replies = (any::<bool>(), any::<bool>(), prop::sample::select(vec!["", "ok", "Error: no"]));
    let reply = replies.prop_map(move |(is_error, pictured, content)| {
        let images = if pictured { vec![image.clone()] } else { Vec::new() };
        ToolReply { content: content.to_owned(), is_error, images, ..ToolReply::default() }
    });
    let ids = prop::sample::select(vec!["call_", "functions.f:", "é", "toolu_"]);
    let names = prop::sample::select(vec!["f", "home.light", "gone", "ein Name"]);
    let args = prop::sample::select(vec!["{}", "{\"a\":1.0}", "{\"a", "[1]", ""]);
    let calls = prop::collection::vec((ids, names, args, reply), 0..4);
    let thoughts = prop::sample::select(vec![
        None,
        Some(json!([{"type": "thinking", "thinking": "", "signature": "s"}])),
        Some(json!([{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]}])),
        Some(json!({"message": {"reasoning_content": "Hm"}})),
        Some(json!({"thinking": "Hm"})),
    ]);
    (texts, calls, thoughts).prop_map(|(text, calls, thought)| Spoken { text, calls, thought })
}

/// A conversation as the loop keeps it: the user asks first and last, every call has its reply.
fn conversation(turns: Vec<(bool, Spoken)>, thinker: Provider) -> Vec<Message> {
    let mut messages = vec![Message::System("Obey.".to_owned()), Message::User("Go".into())];
    for (reminded, spoken) in turns {
        let place = messages.len();
        let (mut tool_calls, mut replies) = (Vec::new(), Vec::new());
        for (position, (id, name, args, reply)) in spoken.calls.into_iter().enumerate() {
            let id = format!("{id}{place}_{position}");
            replies.push(Message::Tool(ToolReply { tool_call_id: id.clone(), ..reply }));
            let args = Arguments::parse(args);
            tool_calls.push(ModelCall { id, name: name.to_owned(), args, recovered: false });
        }
        let answered = tool_calls.is_empty();
        let native = spoken.thought.map(|content| NativeContent { provider: thinker, content });
        messages.push(Message::Ai(AiMessage {
            content: spoken.text.to_owned(),
            tool_calls,
            native,
            pinned: reminded,
        }));
        messages.extend(replies);
        if reminded {
            messages.push(Message::System("Mind the time.".to_owned()));
        }
        if answered {
            messages.push(Message::User("Go on".into()));
        }
    }
    messages
}

/// The body that a provider would get.
fn body(provider: Provider, messages: &[Message]) -> Value {
    let specs = [
        ToolSpec::new("f", "", json!({"type": "object"})),
        ToolSpec::new("home.light", "", json!({"oneOf": [{"type": "object"}, {"$ref": "#/x"}]})),
    ];
    let request = Request::new(messages).with_tools(&specs);
    let lowered = lower::tools(provider, &request.tools);
    let config = ModelConfig::new(provider, "m");
    (provider.info().request)(&config, &request, &lowered)
}

proptest! {
    // ML-5, ML-6: whatever was said and whoever said it, no provider has a reason to reject it.
    #[test]
    fn any_conversation_can_be_sent_to_anybody(
        turns in prop::collection::vec((any::<bool>(), spoken()), 0..6),
        thinker in prop::sample::select(Provider::ALL.to_vec()),
    ) {
        let messages = conversation(turns, thinker);
        for &provider in Provider::ALL {
            let body = body(provider, &messages);
            prop_assert_eq!(rules::broken(provider.code(), &body), Vec::<String>::new(), "{:#}", body);
        }
    }

    // ML-1, ML-3: every call has an id of its own, and arguments that can be sent again.
    #[test]
    fn readers_bear_anything(messages in prop::collection::vec(nonsense(), 0..6)) {
        let history = [Message::User("x".into())];
        for &provider in Provider::ALL {
            let Some(draft) = read(provider, &messages) else { continue };
            let turn = turn::complete(draft, provider, &Request::new(&history), &lower::LoweredTools::default(), true);
            let mut ids: Vec<_> = turn.message.tool_calls.iter().map(|call| &call.id).collect();
            ids.sort();
            ids.dedup();
            prop_assert_eq!(ids.len(), turn.message.tool_calls.len());
            let text = serde_json::to_string(&Message::Ai(turn.message.clone())).unwrap();
            prop_assert_eq!(serde_json::from_str::<Message>(&text).unwrap(), Message::Ai(turn.message));
        }
    }

    // ML-6: what is sent is an object without references and top-level unions.
    #[test]
    fn any_schema_can_be_lowered(parameters in nonsense()) {
        let spec = ToolSpec::new("f", "", parameters);
        for &provider in Provider::ALL {
            let sent = lower::tools(provider, &[&spec]).tools.remove(0).parameters;
            prop_assert_eq!(&sent["type"], "object");
            prop_assert!(sent["properties"].is_object());
            for key in ["anyOf", "oneOf", "allOf", "enum", "not", "$ref", "$defs"] {
                prop_assert!(sent[key].is_null(), "{} has {key}: {sent}", provider);
            }
        }
    }

    // ML-6
    #[test]
    fn any_names_can_be_sent(names in prop::collection::vec("[a-c._ é]{0,3}|a{60,70}", 0..12)) {
        let map = lower::Names::new(names.iter().map(String::as_str));
        for name in &names {
            let wire = map.wire_name(name);
            prop_assert!((1..=64).contains(&wire.len()));
            prop_assert_eq!(map.tool_name(&wire), name);
        }
    }

    // ML-2
    #[test]
    fn any_text_can_be_searched_for_calls(
        parts in prop::collection::vec(prop::sample::select(vec![
            "<tool_call>", "</tool_call>", "<function=f>", "</function>", "<parameter=a>", "</parameter>", "<think>",
            "</think>", "{", "}", r#"{"name":"f","arguments":{}}"#, "é", "\n", "```", "[", "<function=", ">",
        ]), 0..12),
    ) {
        let spec = ToolSpec::new("f", "", json!({"type": "object", "properties": {"a": {"type": "integer"}}}));
        let lowered = lower::tools(Provider::Ollama, &[&spec]);
        let text = parts.concat();
        for (content, thinking) in [(&*text, ""), ("", &*text)] {
            if let Some(found) = recover::calls(content, thinking, &lowered, &|_, _| true) {
                prop_assert!(!found.is_empty());
                prop_assert!(found.iter().all(|call| call.name == "f" && call.recovered));
            }
        }
        let _ = Arguments::parse(&text);
    }
}
