//! Parses server-sent events from bytes in any chunking, as the HTML standard says.

use std::time::Duration;

/// One event of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// Its type; empty if the stream has none, which means `message`.
    pub name: String,
    /// Its data lines, joined by line feeds.
    pub data: Vec<u8>,
}

/// The error of an event, or a line, that exceeds the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event of more than {limit} bytes")]
pub struct TooLarge {
    /// The limit in bytes.
    pub limit: usize,
}

/// Parses one stream. `last_id` and `retry` stay known after its end.
#[derive(Debug)]
pub struct SseParser {
    limit: usize,
    /// The incomplete line.
    line: Vec<u8>,
    event: SseEvent,
    has_data: bool,
    next_id: Option<String>,
    last_id: Option<String>,
    retry: Option<Duration>,
    /// Whether the last line ended in a carriage return: a line feed that follows belongs to it.
    after_return: bool,
    at_start: bool,
}

impl SseParser {
    /// Creates a parser for events of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            event: SseEvent::default(),
            has_data: false,
            next_id: None,
            last_id: None,
            retry: None,
            after_return: false,
            at_start: true,
        }
    }

    /// Parses a chunk, and appends the events that are complete now.
    ///
    /// # Errors
    /// An event is too large; the events before it were appended, and the parser must not be used again.
    pub fn feed(&mut self, mut chunk: &[u8], events: &mut Vec<SseEvent>) -> Result<(), TooLarge> {
        while !chunk.is_empty() {
            if std::mem::take(&mut self.after_return) && chunk[0] == b'\n' {
                chunk = &chunk[1..];
                continue;
            }
            let Some(end) = chunk.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.check_room(chunk.len())?;
                self.line.extend_from_slice(chunk);
                return Ok(());
            };
            self.check_room(end)?;
            self.after_return = chunk[end] == b'\r';
            if self.line.is_empty() {
                self.take_line(&chunk[..end], events);
            } else {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(&chunk[..end]);
                self.take_line(&line, events);
                line.clear();
                self.line = line;
            }
            chunk = &chunk[end + 1..];
        }
        Ok(())
    }

    /// Returns the id of the last complete event that had one: where to resume.
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// Returns how long the server wants clients to wait before reconnecting.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Prepares for the stream that resumes this one: drops the incomplete event.
    pub fn restart(&mut self) {
        self.line.clear();
        self.event = SseEvent::default();
        self.has_data = false;
        self.next_id.clone_from(&self.last_id);
        self.after_return = false;
        self.at_start = true;
    }

    fn check_room(&self, more: usize) -> Result<(), TooLarge> {
        let held = self.line.len() + self.event.data.len() + self.event.name.len();
        if held + more > self.limit { Err(TooLarge { limit: self.limit }) } else { Ok(()) }
    }

    fn take_line(&mut self, mut line: &[u8], events: &mut Vec<SseEvent>) {
        if std::mem::take(&mut self.at_start) {
            line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        }
        if line.is_empty() {
            return self.finish(events);
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (field, value) = (&line[..colon], line.get(colon + 1..).unwrap_or_default());
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push(b'\n');
                }
                self.event.data.extend_from_slice(value);
            }
            b"event" => self.event.name = String::from_utf8_lossy(value).into_owned(),
            b"id" if !value.contains(&0) => {
                self.next_id = Some(String::from_utf8_lossy(value).into_owned());
            }
            b"retry" => self.retry = milliseconds(value).or(self.retry),
            // Comments have an empty field; unknown fields are ignored.
            _ => {}
        }
    }

    fn finish(&mut self, events: &mut Vec<SseEvent>) {
        self.last_id.clone_from(&self.next_id);
        let event = std::mem::take(&mut self.event);
        if std::mem::take(&mut self.has_data) {
            events.push(event);
        }
    }
}

/// Parses digits only; a number that overflows is ignored.
fn milliseconds(value: &[u8]) -> Option<Duration> {
    let digits = str::from_utf8(value).ok().filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
    digits?.parse().ok().map(Duration::from_millis)
}

#[cfg(test)]
mod tests;
