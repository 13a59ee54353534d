//! Reads a stream that was kept somewhere, as if it came from a provider: for benchmarks, and to look at recordings.

use serde_json::json;

use crate::{
    ModelConfig, ModelError, Provider, Request, Turn,
    exchange::{ResponseStream, complete},
    lower,
    model::ModelEvents,
    sink::Sink,
    turn,
};

/// The turn that these pieces of a streamed answer become. Leaked calls are recovered, as clients do by default.
///
/// # Errors
/// As a client's: the pieces end too early, are not the provider's protocol, or say that the provider failed.
pub fn read<'p>(
    provider: Provider,
    pieces: impl IntoIterator<Item = &'p [u8]>,
    request: &Request<'_>,
    events: ModelEvents<'_>,
) -> Result<Turn, ModelError> {
    let config = ModelConfig::new(provider, "");
    let info = provider.info();
    let config = ModelConfig { recover_calls: info.leaks_calls, ..config };
    let lowered = lower::tools(provider, &request.tools);
    let wary = turn::is_wary(request, config.recover_calls);
    let mut sink = Sink::new(events, &lowered.names, true, wary);
    let mut reader = (info.reader)(&json!({"options": {}}));
    let mut stream = ResponseStream::new(info.framing);
    for piece in pieces.into_iter().map(Some).chain([None]) {
        if stream.take(piece, &mut *reader, &mut sink)? {
            break;
        }
    }
    complete(reader, &config, request, &lowered, &mut sink)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FailureKind, Message};

    #[test]
    fn a_kept_stream_is_read_as_it_came() {
        let messages = [Message::User("x".into())];
        let read = |text: &str| {
            let pieces = text.as_bytes().chunks(5);
            read(Provider::Ollama, pieces, &Request::new(&messages), &|_| {})
        };
        let text = include_str!("../tests/recordings/chat-tool-stream.ndjson");
        let turn = read(text).unwrap();
        assert_eq!(turn.message.tool_calls[0].name, "get_weather");
        let half = &text[..text.len() / 2];
        assert_eq!(read(half).unwrap_err().kind, FailureKind::Cut);
    }
}
