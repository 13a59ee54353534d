//! How fast long streams are read: ten thousand messages each, of every provider, in pieces as servers send them.

use divan::{Bencher, black_box, counter::BytesCount};
use serde_json::{Value, json};
use switchboard_models::{Message, Provider, Request, Turn, replay};
use switchboard_toolcall::ToolSpec;

fn main() {
    divan::main();
}

const MESSAGES: usize = 10_000;

/// What the ten thousand messages hold.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Words of an answer.
    Text,
    /// Fragments of one call's arguments, each ending in a brace: a list of small objects.
    Arguments,
    /// The same from servers that repeat the call's id in every fragment.
    ArgumentsWithId,
}

/// A stream, and in how many bytes each of its messages comes.
struct Stream {
    pieces: Vec<Vec<u8>>,
}

impl Stream {
    fn events(messages: Vec<Value>) -> Self {
        let event = |message: Value| format!("data: {message}\n\n").into_bytes();
        Self { pieces: messages.into_iter().map(event).collect() }
    }

    fn lines(messages: Vec<Value>) -> Self {
        let line = |message: Value| format!("{message}\n").into_bytes();
        Self { pieces: messages.into_iter().map(line).collect() }
    }

    fn bytes(&self) -> usize {
        self.pieces.iter().map(Vec::len).sum()
    }
}

/// What the message at `index` brings.
fn content(kind: Kind, index: usize) -> &'static str {
    match (kind, index) {
        (Kind::Text, _) => "word < ",
        (_, 0) => "{\"list\":[{\"n\":1}",
        (_, index) if index == MESSAGES - 1 => "]}",
        _ => ",{\"n\":1}",
    }
}

fn openai(kind: Kind) -> Stream {
    let delta = |index: usize| {
        let content = content(kind, index);
        let mut call = json!({"index": 0, "function": {"arguments": content}});
        if index == 0 || matches!(kind, Kind::ArgumentsWithId) {
            call["id"] = json!("call_1");
        }
        if index == 0 {
            call["function"]["name"] = json!("f");
        }
        let delta = match kind {
            Kind::Text => json!({"content": content}),
            _ => json!({"tool_calls": [call]}),
        };
        json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_794_744_301, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
    };
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    Stream::events((0..MESSAGES).map(delta).chain([end]).collect())
}

fn anthropic(kind: Kind) -> Stream {
    let block = match kind {
        Kind::Text => json!({"type": "text", "text": ""}),
        _ => json!({"type": "tool_use", "id": "t", "name": "f", "input": {}}),
    };
    let delta = |index: usize| {
        let content = content(kind, index);
        let delta = match kind {
            Kind::Text => json!({"type": "text_delta", "text": content}),
            _ => json!({"type": "input_json_delta", "partial_json": content}),
        };
        json!({"type": "content_block_delta", "index": 0, "delta": delta})
    };
    let start = json!({"type": "content_block_start", "index": 0, "content_block": block});
    let end = [
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
        json!({"type": "message_stop"}),
    ];
    Stream::events([start].into_iter().chain((0..MESSAGES).map(delta)).chain(end).collect())
}

/// Ollama sends whole calls, so here a call is one message of its own.
fn ollama(kind: Kind) -> Stream {
    let line = |index: usize| {
        let message = match kind {
            Kind::Text => json!({"role": "assistant", "content": content(kind, index)}),
            _ => json!({"role": "assistant", "content": "", "tool_calls": [
                {"id": format!("call_{index}"), "function": {"index": 0, "name": "f", "arguments": {"n": index}}}]}),
        };
        json!({"model": "m", "created_at": "2026-11-15T12:00:00.000000000Z", "message": message, "done": false})
    };
    let end = json!({"message": {"content": ""}, "done": true, "done_reason": "stop"});
    Stream::lines((0..MESSAGES).map(line).chain([end]).collect())
}

/// Reads a stream with a tool on offer, so that text is watched for leaked calls.
fn read(provider: Provider, stream: &Stream) -> Turn {
    let messages = [Message::User("x".into())];
    let tools = [ToolSpec::new("f", "", json!({"type": "object"}))];
    let request = Request::new(&messages).with_tools(&tools).with_validation(&|_, _| true);
    let pieces = stream.pieces.iter().map(Vec::as_slice);
    replay::read(provider, pieces, &request, &|event| drop(black_box(event))).expect("a turn")
}

fn measure(bencher: Bencher<'_, '_>, provider: Provider, stream: &Stream) {
    let turn = read(provider, stream);
    assert!(turn.message.content.len() > MESSAGES || !turn.message.tool_calls.is_empty());
    bencher.counter(BytesCount::new(stream.bytes())).bench_local(|| read(provider, stream));
}

#[divan::bench(name = "openai", args = [Kind::Text, Kind::Arguments, Kind::ArgumentsWithId], sample_count = 20)]
fn of_openai(bencher: Bencher<'_, '_>, kind: Kind) {
    measure(bencher, Provider::OpenAi, &openai(kind));
}

#[divan::bench(name = "anthropic", args = [Kind::Text, Kind::Arguments], sample_count = 20)]
fn of_anthropic(bencher: Bencher<'_, '_>, kind: Kind) {
    measure(bencher, Provider::Anthropic, &anthropic(kind));
}

#[divan::bench(name = "ollama", args = [Kind::Text, Kind::Arguments], sample_count = 20)]
fn of_ollama(bencher: Bencher<'_, '_>, kind: Kind) {
    measure(bencher, Provider::Ollama, &ollama(kind));
}
