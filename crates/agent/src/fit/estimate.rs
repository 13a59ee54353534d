//! How many tokens texts have, roughly: close enough to act in time, and corrected by what the provider counts.

use switchboard_models::{Arguments, Message};
use switchboard_toolcall::ToolSpec;

/// What every message costs beside its text.
const MESSAGE: u64 = 5;

/// What an image costs, whatever its size.
const IMAGE: u64 = 1_000;

/// Returns about how many tokens a text has, for any of the usual tokenizers.
pub(crate) fn text(text: &str) -> u64 {
    let hundredths: u64 = text.chars().map(hundredths).sum();
    hundredths.div_ceil(100)
}

/// Returns about how many hundredths of a token a character is.
fn hundredths(c: char) -> u64 {
    match c {
        ' ' => 5,
        'a'..='z' | 'A'..='Z' => 24,
        '0'..='9' => 45,
        _ if c.is_ascii() => 55,
        // Alphabets take two or three characters for a token, other writing systems one.
        '\u{80}'..='\u{5ff}' => 45,
        _ => 90,
    }
}

/// Returns about how many tokens a message takes.
pub(crate) fn message(message: &Message) -> u64 {
    let content = match message {
        Message::System(content) => text(content),
        Message::User(said) => text(&said.content) + said.images.len() as u64 * IMAGE,
        Message::Tool(reply) => text(&reply.content) + reply.images.len() as u64 * IMAGE,
        Message::Ai(said) => {
            let calls = said.tool_calls.iter().map(|call| {
                let args = match &call.args {
                    Arguments::Object(args) => serde_json::to_string(args).unwrap_or_default(),
                    Arguments::Unparsable(args) => args.raw.clone(),
                };
                2 * MESSAGE + text(&call.name) + text(&args)
            });
            let native = said.native.as_ref().map(|native| text(&native.content.to_string()));
            // What the provider wants to see again repeats the text and the calls.
            native.unwrap_or(0).max(text(&said.content) + calls.sum::<u64>())
        }
    };
    MESSAGE + content
}

/// Returns how many tokens messages take at most. Cheaper than [`messages`].
pub(crate) fn most(messages: &[Message]) -> u64 {
    let bytes = messages.iter().map(|message| match message {
        Message::System(content) => content.len(),
        Message::User(said) => said.content.len() + said.images.len() * 2 * IMAGE_BYTES,
        Message::Tool(reply) => reply.content.len() + reply.images.len() * 2 * IMAGE_BYTES,
        // Calls and what the provider wants to see again have to be counted.
        Message::Ai(said) => {
            let calls = said.tool_calls.iter().map(|call| match &call.args {
                Arguments::Object(args) => 40 + 40 * args.len() + text_bytes(args),
                Arguments::Unparsable(args) => 40 + args.raw.len(),
            });
            let native = said.native.as_ref().map_or(0, |native| native.content.to_string().len());
            said.content.len() + calls.sum::<usize>() + native
        }
    });
    let bytes: usize = bytes.map(|bytes| bytes + 10).sum();
    bytes as u64 * 55 / 100
}

/// As many bytes of text take as many tokens as an image.
const IMAGE_BYTES: usize = 1_000;

/// Returns the bytes of the texts in arguments.
fn text_bytes(args: &serde_json::Map<String, serde_json::Value>) -> usize {
    args.values()
        .map(|value| value.as_str().map_or_else(|| value.to_string().len(), str::len))
        .sum()
}

/// Returns about how many tokens messages take.
pub(crate) fn messages(messages: &[Message]) -> u64 {
    messages.iter().map(message).sum()
}

/// Returns about how many tokens the definition of a tool takes.
pub(crate) fn definition(spec: &ToolSpec) -> u64 {
    MESSAGE + text(&spec.name) + text(&spec.description) + text(&spec.parameters.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    // RN-3
    #[test]
    fn texts_have_about_as_many_tokens_as_tokenizers_say() {
        // About what o200k_base makes of them.
        for (said, tokens) in [
            ("The quick brown fox jumps over the lazy dog.", 10),
            (r#"{"id": 12, "name": "lamp", "state": {"on": true, "level": 40}}"#, 24),
            ("Die Küche ist heute kälter als gestern.", 10),
            ("今日は天気がいいですね。", 8),
        ] {
            let estimate = text(said);
            assert!((tokens * 2 / 3..=tokens * 2).contains(&estimate), "{said}: {estimate}");
        }
        assert_eq!(text(""), 0);
    }
}
