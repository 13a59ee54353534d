//! Bytes in any chunking become messages: the data of server-sent events, or lines of JSON. How much may come is
//! bounded where it is received.

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
pub(crate) struct FrameReader {
    framing: Framing,
    /// The line that has begun but not ended.
    line: Vec<u8>,
    /// The data of the event that has begun but not ended.
    data: Vec<u8>,
    has_data: bool,
}

impl FrameReader {
    pub(crate) fn new(framing: Framing) -> Self {
        Self { framing, line: Vec::new(), data: Vec::new(), has_data: false }
    }

    /// Reads on, and appends the messages that are complete now.
    pub(crate) fn feed(&mut self, chunk: &[u8], messages: &mut Vec<Vec<u8>>) {
        let mut rest = chunk;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.line.extend_from_slice(&rest[..end]);
            rest = &rest[end + 1..];
            self.take_line(messages);
        }
        self.line.extend_from_slice(rest);
    }

    /// The message that the end of the body ends; servers forget the last line feed.
    pub(crate) fn finish(&mut self, messages: &mut Vec<Vec<u8>>) {
        self.take_line(messages);
        self.dispatch(messages);
    }

    fn take_line(&mut self, messages: &mut Vec<Vec<u8>>) {
        let mut line = std::mem::take(&mut self.line);
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        match self.framing {
            Framing::Lines if line.trim_ascii().is_empty() => {}
            Framing::Lines => messages.push(line),
            Framing::Events if line.is_empty() => self.dispatch(messages),
            Framing::Events => {
                // Names of events repeat what the data says, and comments keep the connection alive.
                if let Some(value) = line.strip_prefix(b"data:") {
                    if std::mem::replace(&mut self.has_data, true) {
                        self.data.push(b'\n');
                    }
                    self.data.extend_from_slice(value.strip_prefix(b" ").unwrap_or(value));
                }
            }
        }
    }

    fn dispatch(&mut self, messages: &mut Vec<Vec<u8>>) {
        if std::mem::take(&mut self.has_data) {
            messages.push(std::mem::take(&mut self.data));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(framing: Framing, text: &str, size: usize) -> Vec<String> {
        let (mut frames, mut messages) = (FrameReader::new(framing), Vec::new());
        for chunk in text.as_bytes().chunks(size) {
            frames.feed(chunk, &mut messages);
        }
        frames.finish(&mut messages);
        messages.into_iter().map(|message| String::from_utf8(message).unwrap()).collect()
    }

    // ML-1
    #[test]
    fn chunking_does_not_matter() {
        let events = ": hi\n\nevent: x\r\ndata: {\"é\":1}\r\n\r\ndata:a\ndata: b\nid: 3\n\nevent: none\n\ndata: [DONE]";
        let lines = "{\"a\":\"ü\"}\r\n\n  \n{\"b\":2}";
        for size in [1, 2, 3, 7, 1000] {
            assert_eq!(read(Framing::Events, events, size), ["{\"é\":1}", "a\nb", "[DONE]"]);
            assert_eq!(read(Framing::Lines, lines, size), ["{\"a\":\"ü\"}", "{\"b\":2}"]);
        }
    }
}
