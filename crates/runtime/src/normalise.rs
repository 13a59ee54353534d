//! One result shape, bounded in size (SPEC RS-5, RS-6).

use std::{
    io::{self, Write},
    sync::Arc,
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;
use switchboard_toolcall::{
    Answer, Artifact, CallId, Content, Part, Reused, ToolError, ToolOutput, ToolResult,
};

use crate::{
    artifacts::{ArtifactStore, Source, Stored},
    record::CallRecord,
};

/// Puts the outcome into the one shape, with its texts cut to the tool's limit.
pub(crate) async fn shape(
    record: &CallRecord,
    outcome: Result<ToolOutput, ToolError>,
    store: &dyn ArtifactStore,
) -> ToolResult {
    let about = About {
        call_id: record.id(),
        tool_call_id: record.tool_call_id().to_owned(),
        tool_name: record.name().clone(),
        server: record.server().cloned(),
        elapsed: record.elapsed(),
        waited: record.waited(),
        reused: record.reused(),
        source: record.source(),
    };
    bound(about, outcome, record.max_output(), store).await
}

/// What a result says beside the outcome.
pub(crate) struct About {
    pub(crate) call_id: CallId,
    pub(crate) tool_call_id: String,
    pub(crate) tool_name: Arc<str>,
    pub(crate) server: Option<Arc<str>>,
    pub(crate) elapsed: Duration,
    pub(crate) waited: Duration,
    pub(crate) reused: Option<Reused>,
    /// What decides who may read what is kept of it.
    pub(crate) source: Source,
}

/// Puts the outcome into the one shape, with texts of at most `limit` characters.
pub(crate) async fn bound(
    about: About,
    outcome: Result<ToolOutput, ToolError>,
    limit: usize,
    store: &dyn ArtifactStore,
) -> ToolResult {
    let About { call_id, tool_call_id, tool_name, server, elapsed, waited, reused, source } = about;
    let mut kept = Kept { store, source, limit, truncated: false, artifacts: Vec::new() };
    let outcome = match outcome {
        Ok(output) => Ok(kept.answer(output).await),
        Err(error) => Err(kept.error(error).await),
    };
    ToolResult {
        call_id,
        tool_call_id,
        tool_name,
        server,
        elapsed,
        waited,
        outcome,
        truncated: kept.truncated,
        artifacts: kept.artifacts,
        reused,
    }
}

/// What is kept beside the result while it is shaped.
struct Kept<'a> {
    store: &'a dyn ArtifactStore,
    source: Source,
    limit: usize,
    truncated: bool,
    artifacts: Vec<Artifact>,
}

impl Kept<'_> {
    async fn answer(&mut self, output: ToolOutput) -> Answer {
        match output {
            ToolOutput::Value(value) => {
                let output = ToolOutput::Value(self.value(value).await);
                Answer { output, shown: None }
            }
            ToolOutput::Content(content) => self.content(content).await,
        }
    }

    async fn value(&mut self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text, "text/plain").await),
            value if fits(&value, self.limit) => value,
            value => Value::String(self.text(value.to_string(), "application/json").await),
        }
    }

    /// Cuts texts for every view, and for the views that show only text replaces what is none.
    async fn content(&mut self, mut content: Content) -> Answer {
        let mut shown = self.without_binaries(&content).await;
        let view = shown.as_ref().unwrap_or(&content);
        let whole = match view.only_text() {
            Some(text) => (text.len() > self.limit).then(|| (text.into_owned(), "text/plain")),
            None => (!fits(view, self.limit))
                .then(|| (serde_json::to_string(view).unwrap_or_default(), "application/json")),
        };
        let mut shown = shown.take().map(ToolOutput::Content);
        if let Some((whole, media_type)) = whole {
            let cut = self.text(whole, media_type).await;
            shown = Some(ToolOutput::Value(Value::String(cut)));
            self.artifacts.rotate_right(1);
        }
        for part in &mut content.parts {
            self.cut_part(part);
        }
        Answer { output: ToolOutput::Content(content), shown }
    }

    /// The content with each binary kept as an artifact and replaced by a line that names it.
    async fn without_binaries(&mut self, content: &Content) -> Option<Content> {
        if !content.parts.iter().any(|part| part.as_binary().is_some()) {
            return None;
        }
        let mut parts = Vec::with_capacity(content.parts.len());
        for part in &content.parts {
            let Some(binary) = part.as_binary() else {
                parts.push(part.clone());
                continue;
            };
            // What is not base64 is still what the tool sent.
            let bytes = STANDARD.decode(binary.data).unwrap_or_else(|_| binary.data.into());
            let line = self.keep(binary.kind, binary.media_type, bytes.into()).await;
            parts.push(Part::text(line));
        }
        Some(Content { parts, fields: content.fields.clone() })
    }

    async fn keep(&mut self, kind: &str, media_type: &str, bytes: Bytes) -> String {
        let size = bytes.len();
        let stored = Stored { media_type: media_type.to_owned(), bytes };
        match self.store.put(stored, self.source.clone()).await {
            Ok(id) => {
                let artifact = Artifact {
                    id,
                    kind: kind.to_owned(),
                    media_type: media_type.to_owned(),
                    size: size as u64,
                };
                let line = artifact.to_string();
                self.artifacts.push(artifact);
                line
            }
            Err(error) => format!("[{kind}: {media_type}, {size} bytes, not kept: {error}]"),
        }
    }

    async fn error(&mut self, mut error: ToolError) -> ToolError {
        error.for_model = self.text(error.for_model, "text/plain").await;
        if let Some(ToolOutput::Content(content)) = error.output.as_deref_mut() {
            for part in &mut content.parts {
                self.cut_part(part);
            }
        }
        error
    }

    /// The text, or where it is too long its head and tail with the whole kept as an artifact.
    async fn text(&mut self, text: String, media_type: &str) -> String {
        let Some(cut) = Cut::of(&text, self.limit) else {
            return text;
        };
        self.truncated = true;
        let (head, tail) = (cut.head.to_owned(), cut.tail.to_owned());
        let Cut { offset, missing, total, .. } = cut;
        self.keep("text", media_type, Bytes::from(text)).await;
        let way = match self.artifacts.last() {
            Some(Artifact { id, .. }) => format!(
                "read_result {{\"id\":\"{id}\",\"offset\":{offset},\"limit\":{}}} reads on",
                missing.min(self.limit)
            ),
            None => "they could not be kept".to_owned(),
        };
        format!("{head}\n[… {missing} of {total} characters are missing here; {way} …]\n{tail}")
    }

    /// Cuts a text part for those who take every kind of content.
    fn cut_part(&mut self, part: &mut Part) {
        let Some(cut) = part.as_text().and_then(|text| Cut::of(text, self.limit)) else {
            return;
        };
        let id = self.artifacts.first().map_or("", |artifact| &artifact.id);
        let Cut { head, tail, missing, total, .. } = cut;
        let text = format!(
            "{head}\n[… {missing} of {total} characters are missing here; read_result {{\"id\":\"{id}\"}} reads the whole …]\n{tail}"
        );
        self.truncated = true;
        part.0.insert("text".to_owned(), Value::String(text));
    }
}

/// A text that is too long, cut on character boundaries; counts are of characters.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cut<'a> {
    pub(crate) head: &'a str,
    pub(crate) tail: &'a str,
    /// Where the missing part begins.
    pub(crate) offset: usize,
    pub(crate) missing: usize,
    pub(crate) total: usize,
}

impl<'a> Cut<'a> {
    /// Cuts the text to `limit` characters, two thirds of them from its head; none if it fits.
    pub(crate) fn of(text: &'a str, limit: usize) -> Option<Self> {
        // Bytes bound characters: most texts need no counting.
        if text.len() <= limit {
            return None;
        }
        let total = text.chars().count();
        if total <= limit {
            return None;
        }
        let tail_length = limit / 3;
        let offset = limit - tail_length;
        let head_end = byte_of(text, offset);
        let tail_start = match tail_length {
            0 => text.len(),
            length => text.char_indices().rev().nth(length - 1).map_or(0, |(at, _)| at),
        };
        Some(Self {
            head: &text[..head_end],
            tail: &text[tail_start..],
            offset,
            missing: total - limit,
            total,
        })
    }
}

/// The byte where the character number `index` begins, or the end.
pub(crate) fn byte_of(text: &str, index: usize) -> usize {
    text.char_indices().nth(index).map_or(text.len(), |(at, _)| at)
}

/// Whether the compact JSON of the value has at most `limit` characters.
fn fits(value: &impl Serialize, limit: usize) -> bool {
    let mut room = Room { bytes: limit };
    if serde_json::to_writer(&mut room, value).is_ok() {
        return true;
    }
    // More bytes than the limit may still be fewer characters.
    let text = serde_json::to_string(value).unwrap_or_default();
    text.chars().count() <= limit
}

/// Takes so many bytes, then fails: measuring a value stops where it is too long.
struct Room {
    bytes: usize,
}

impl Write for Room {
    fn write(&mut self, written: &[u8]) -> io::Result<usize> {
        self.bytes = self.bytes.checked_sub(written.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(written.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
