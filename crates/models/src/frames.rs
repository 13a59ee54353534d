//! Splits bytes in any chunking into messages: the data of server-sent events, or lines of JSON. The receiver limits the
//! size.

use switchboard_toolcall::sse::{SseEvent, SseParser, TooLarge};

use crate::http::LARGEST;

/// How messages are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// `data:` lines, ended by an empty one.
    Events,
    /// A message per line.
    Lines,
}

/// Reads one body.
#[derive(Debug)]
pub(crate) enum StreamFrameReader {
    /// Names of events repeat what the data says, so only the data counts.
    Events(SseParser),
    /// Holds the line that has begun but not ended.
    Lines(Vec<u8>),
}

impl StreamFrameReader {
    pub(crate) fn new(framing: Framing) -> Self {
        match framing {
            Framing::Events => Self::Events(SseParser::new(LARGEST)),
            Framing::Lines => Self::Lines(Vec::new()),
        }
    }

    /// Reads on, and appends the messages that are complete now.
    ///
    /// # Errors
    /// An event is larger than a body may be.
    pub(crate) fn feed(
        &mut self,
        chunk: &[u8],
        messages: &mut Vec<Vec<u8>>,
    ) -> Result<(), TooLarge> {
        match self {
            Self::Events(parser) => {
                let mut events = Vec::new();
                let fed = parser.feed(chunk, &mut events);
                messages.extend(events.into_iter().map(|SseEvent { data, .. }| data));
                fed
            }
            Self::Lines(line) => {
                for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
                    line.extend_from_slice(piece);
                    if piece.ends_with(b"\n") {
                        messages.push(std::mem::take(line));
                    }
                }
                Ok(())
            }
        }
    }

    /// The message that the end of the body ends; servers forget the last line feed.
    ///
    /// # Errors
    /// As [`Self::feed`].
    pub(crate) fn finish(&mut self, messages: &mut Vec<Vec<u8>>) -> Result<(), TooLarge> {
        self.feed(b"\n\n", messages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(framing: Framing, text: &str, size: usize) -> Vec<String> {
        let (mut frames, mut messages) = (StreamFrameReader::new(framing), Vec::new());
        for chunk in text.as_bytes().chunks(size) {
            frames.feed(chunk, &mut messages).unwrap();
        }
        frames.finish(&mut messages).unwrap();
        let texts = messages.iter().map(|message| str::from_utf8(message).unwrap().trim());
        texts.filter(|text| !text.is_empty()).map(str::to_owned).collect()
    }

    // ML-1
    #[test]
    fn chunking_does_not_matter() {
        // A byte order mark, bare carriage returns and `data` without a colon are the standard's, too.
        assert_eq!(read(Framing::Events, "\u{feff}data: a\r\rdata\rdata: b\n\n", 1), ["a", "b"]);
        let events = ": hi\n\nevent: x\r\ndata: {\"é\":1}\r\n\r\ndata:a\ndata: b\nid: 3\n\nevent: none\n\ndata: [DONE]";
        let lines = "{\"a\":\"ü\"}\r\n\n  \n{\"b\":2}";
        for size in [1, 2, 3, 7, 1000] {
            assert_eq!(read(Framing::Events, events, size), ["{\"é\":1}", "a\nb", "[DONE]"]);
            assert_eq!(read(Framing::Lines, lines, size), ["{\"a\":\"ü\"}", "{\"b\":2}"]);
        }
    }
}
