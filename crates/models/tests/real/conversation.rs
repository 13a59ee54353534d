//! A conversation with everything in it that a request can hold.

use serde_json::{Value, json};
use switchboard_models::{
    AiMessage, Arguments, Audio, Image, Message, ModelCall, NativeContent, Provider, ToolReply,
};
use switchboard_toolcall::ToolSpec;

/// Tools whose names and schemas no provider takes as they are.
pub(crate) fn tools() -> Vec<ToolSpec> {
    let schemas = [
        (
            "get_weather",
            json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}),
        ),
        (
            "home.light/set",
            json!({
            "type": "object",
            "$defs": {"level": {"type": "integer", "minimum": 0, "maximum": 99}},
            "properties": {
                "level": {"$ref": "#/$defs/level"},
                "state": {"oneOf": [{"const": "on"}, {"const": "off"}]},
                "rooms": {"type": "array", "items": {"type": ["string", "null"]}},
                "when": {"type": "object", "properties": {"at": {"type": "string", "format": "time"}}, "required": ["at"]},
            }}),
        ),
        (
            "either",
            json!({"oneOf": [
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
            {"type": "object", "properties": {"b": {"type": "number"}}, "required": ["b"]}]}),
        ),
        ("nothing", json!({"type": "object"})),
    ];
    let long = "x".repeat(90);
    let mut tools: Vec<_> =
        schemas.map(|(name, schema)| ToolSpec::new(name, "What it does", schema)).into();
    tools.push(ToolSpec::new(long, "A long name", json!({"type": "object", "properties": {}})));
    tools
}

/// What was said: parallel calls, results of every kind, and thoughts of the provider's own.
pub(crate) fn messages(provider: Provider) -> Vec<Message> {
    let calls = vec![
        call("call_1", "get_weather", r#"{"city":"Oslo","n":1.0}"#),
        call("call_2", "home.light/set", r#"{"level":"#),
        call("functions.either:2", "either", ""),
        call("call_4", &"x".repeat(90), "{}"),
    ];
    let thinking = AiMessage { native: thoughts(provider), ..ai("Let me look.", calls) };
    let image = Image { media_type: "image/png".to_owned(), data: "iVBORw0KGgo=".to_owned() };
    let audio = ["audio/wav", "audio/mpeg"]
        .map(|media_type| Audio { media_type: media_type.to_owned(), data: "UklG".to_owned() });
    let pictures = ToolReply {
        images: vec![image.clone(), image],
        audio: audio.to_vec(),
        ..reply("call_4", "a chart")
    };
    let only_a_picture = ToolReply { images: pictures.images.clone(), ..reply("call_5", "") };
    vec![
        Message::System("Be brief.".to_owned()),
        Message::System("Be kind.".to_owned()),
        Message::User("Weather and light?".into()),
        Message::Ai(thinking),
        Message::Tool(reply("call_1", "15 degrees")),
        Message::Tool(ToolReply { is_error: true, ..reply("call_2", "Error: no JSON") }),
        Message::Tool(reply("functions.either:2", "")),
        Message::Tool(pictures),
        Message::System("You repeat yourself.".into()),
        Message::Ai(ai("", vec![call("call_5", "nothing", "{}")])),
        Message::Tool(only_a_picture),
        Message::Ai(ai("Fine.", Vec::new())),
        Message::User("And?".into()),
        Message::User("Well?".into()),
    ]
}

fn call(id: &str, name: &str, args: &str) -> ModelCall {
    let args = Arguments::parse(args);
    ModelCall { id: id.to_owned(), name: name.to_owned(), args, recovered: false }
}

fn ai(content: &str, tool_calls: Vec<ModelCall>) -> AiMessage {
    AiMessage { tool_calls, ..AiMessage::text(content) }
}

fn reply(id: &str, content: &str) -> ToolReply {
    let (tool_call_id, content) = (id.to_owned(), content.to_owned());
    ToolReply { content, tool_call_id, ..ToolReply::default() }
}

/// What the provider wants to see again. OpenAI's own API has no such fields; those of compatible servers are no
/// part of its types.
fn thoughts(provider: Provider) -> Option<NativeContent> {
    let content: Value = match provider {
        Provider::Anthropic => json!([
            {"type": "thinking", "thinking": "Hm", "signature": "EqQB"},
            {"type": "redacted_thinking", "data": "xyz"},
            {"type": "text", "text": "Let me look."},
            {"type": "tool_use", "id": "call_1", "name": "get_weather", "input": {"city": "Oslo", "n": 1.0}},
            {"type": "tool_use", "id": "call_2", "name": "home_light_set", "input": {}},
            {"type": "tool_use", "id": "x", "name": "either", "input": {}},
            {"type": "tool_use", "id": "call_4", "name": "xx", "input": {}}]),
        Provider::OpenAiResponses => json!([
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm"}], "encrypted_content": "gAAA"},
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "phase": "commentary",
                "content": [{"type": "output_text", "text": "Let me look.", "annotations": []}]},
            {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "get_weather", "arguments": "{\"city\":\"Oslo\",\"n\":1.0}"},
            {"type": "function_call", "id": "fc_2", "call_id": "call_2", "name": "home_light_set", "arguments": "{}"},
            {"type": "function_call", "id": "fc_3", "call_id": "x", "name": "either", "arguments": "{}"},
            {"type": "function_call", "id": "fc_4", "call_id": "call_4", "name": "xx", "arguments": "{}"}]),
        Provider::Ollama => json!({"thinking": "Hm"}),
        _ => return None,
    };
    Some(NativeContent { provider, content })
}
