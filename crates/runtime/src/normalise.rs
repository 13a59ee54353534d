//! Turns every outcome into one result shape, limited in size (SPEC RS-5, RS-6).

mod cut;

use std::{sync::Arc, time::Duration};

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde_json::Value;
use switchboard_toolcall::{
    Artifact, BoundedOutput, CallId, Content, Part, ReuseReason, ToolError, ToolOutput, ToolResult,
    text::one_line,
};

use crate::{
    artifacts::{ArtifactContent, ArtifactSource, ArtifactStore},
    record::CallRecord,
};
use cut::fits;
pub(crate) use cut::{TruncatedText, byte_of};

/// Normalises the outcome, truncating texts to the tool's limit.
pub(crate) async fn shape(
    record: &CallRecord,
    outcome: Result<ToolOutput, ToolError>,
    store: &dyn ArtifactStore,
) -> ToolResult {
    let about = ResultInfo {
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

/// What a result has besides the outcome.
pub(crate) struct ResultInfo {
    pub(crate) call_id: CallId,
    pub(crate) tool_call_id: String,
    pub(crate) tool_name: Arc<str>,
    pub(crate) server: Option<Arc<str>>,
    pub(crate) elapsed: Duration,
    pub(crate) waited: Duration,
    pub(crate) reused: Option<ReuseReason>,
    /// Decides who may read the stored artifacts.
    pub(crate) source: ArtifactSource,
}

/// Normalises the outcome, truncating texts to `limit` characters.
pub(crate) async fn bound(
    about: ResultInfo,
    outcome: Result<ToolOutput, ToolError>,
    limit: usize,
    store: &dyn ArtifactStore,
) -> ToolResult {
    let ResultInfo { call_id, tool_call_id, tool_name, server, elapsed, waited, reused, source } =
        about;
    let mut kept = ResultShaper { store, source, limit, truncated: false, artifacts: Vec::new() };
    let outcome = match outcome {
        Ok(output) => Ok(kept.answer(output).await),
        Err(error) => Err(kept.error(error, &tool_name).await),
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

/// Truncates an outcome and stores what is cut off.
struct ResultShaper<'a> {
    store: &'a dyn ArtifactStore,
    source: ArtifactSource,
    limit: usize,
    truncated: bool,
    artifacts: Vec<Artifact>,
}

impl ResultShaper<'_> {
    async fn answer(&mut self, output: ToolOutput) -> BoundedOutput {
        match output {
            ToolOutput::Value(value) => {
                let output = ToolOutput::Value(self.value(value).await);
                BoundedOutput { output, for_programs: None, text: None }
            }
            ToolOutput::Content(content) => self.content(content).await,
        }
    }

    async fn value(&mut self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text, "text/plain").await.text),
            value if fits(&value, self.limit) => value,
            value => {
                let json = self.text(value.to_string(), "application/json").await;
                Value::String(json.text)
            }
        }
    }

    /// Prepares content for its three readers (RS-3): programs, models and people, MCP clients.
    async fn content(&mut self, mut content: Content) -> BoundedOutput {
        let binaries = self.keep_binaries(&content).await;
        // The whole of `result` must be `artifacts[0]`.
        let before = self.artifacts.len();
        let without_binaries = named(&content, &binaries);
        let result = without_binaries.as_ref().unwrap_or(&content);
        let (shown, text) = match result.only_text() {
            Some(result) => {
                let whole = (result.len() > self.limit).then(|| result.into_owned());
                let bounded = match whole {
                    Some(whole) => Some(self.text(whole, "text/plain").await),
                    None => None,
                };
                self.cut_parts(&mut content, &binaries, bounded.as_ref());
                let cut = bounded.map(|bounded| ToolOutput::Value(Value::String(bounded.text)));
                (cut.or(without_binaries.map(ToolOutput::Content)), None)
            }
            None => {
                let is_text = |part: &Part| part.as_text().is_some();
                let is_whole = fits(result, self.limit);
                // The text is part of the JSON, so it fits too.
                if is_whole && content.parts.iter().all(is_text) {
                    return BoundedOutput {
                        output: ToolOutput::Content(content),
                        for_programs: None,
                        text: None,
                    };
                }
                let cut = match is_whole {
                    true => without_binaries.map(ToolOutput::Content),
                    false => {
                        let json = serde_json::to_string(result).unwrap_or_default();
                        let json = self.text(json, "application/json").await;
                        Some(ToolOutput::Value(Value::String(json.text)))
                    }
                };
                let text = self.text_of(&mut content, &binaries, !is_whole).await;
                (cut, Some(text))
            }
        };
        self.artifacts.rotate_left(before);
        BoundedOutput { output: ToolOutput::Content(content), for_programs: shown, text }
    }

    /// Returns what models and people read of the content, and truncates its parts. With `keeps`, the whole text is
    /// stored even if it is short enough: programs get a truncated form in which the text cannot be found.
    async fn text_of(&mut self, content: &mut Content, binaries: &[String], keeps: bool) -> String {
        let text = content.text(binaries);
        if keeps && TruncatedText::of(&text, self.limit).is_none() {
            self.keep("text", "text/plain", Bytes::from(text.clone())).await;
            return text;
        }
        let bounded = self.text(text, "text/plain").await;
        self.cut_parts(content, binaries, Some(&bounded));
        bounded.text
    }

    /// Stores each binary part as an artifact. Returns the lines that name them.
    async fn keep_binaries(&mut self, content: &Content) -> Vec<String> {
        let mut lines = Vec::new();
        for binary in content.parts.iter().filter_map(Part::as_binary) {
            // Invalid base64 is stored as the tool sent it.
            let bytes = STANDARD.decode(binary.data).unwrap_or_else(|_| binary.data.into());
            lines.push(self.keep(binary.kind, binary.media_type, bytes.into()).await);
        }
        lines
    }

    async fn keep(&mut self, kind: &str, media_type: &str, bytes: Bytes) -> String {
        let size = bytes.len();
        let stored = ArtifactContent { media_type: media_type.to_owned(), bytes };
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
            Err(error) => {
                let media_type = one_line(media_type);
                format!("[{kind}: {media_type}, {size} bytes, not kept: {error}]")
            }
        }
    }

    /// Truncates an error. Models and people read the text of the tool's own error content, if it has any (RS-4).
    async fn error(&mut self, mut error: ToolError, tool: &str) -> ToolError {
        let Some(mut output) = error.output.take() else {
            error.for_model = self.text(error.for_model, "text/plain").await.text;
            return error;
        };
        let content = match &mut *output {
            ToolOutput::Content(content) => Some(content),
            ToolOutput::Value(_) => None,
        };
        let binaries = match &content {
            Some(content) => self.keep_binaries(content).await,
            None => Vec::new(),
        };
        let before = self.artifacts.len();
        let text = content.as_ref().map_or(error.for_model, |content| content.text(&binaries));
        let text = match text.trim().is_empty() {
            true => format!("Tool '{tool}' failed without a message"),
            false => text,
        };
        let bounded = self.text(text, "text/plain").await;
        self.artifacts.rotate_left(before);
        if let Some(content) = content {
            self.cut_parts(content, &binaries, Some(&bounded));
        }
        error.for_model = bounded.text;
        error.output = Some(output);
        error
    }

    /// Returns the text; if it is too long, its head and tail, with the whole stored as an artifact.
    async fn text(&mut self, text: String, media_type: &str) -> BoundedText {
        let Some(cut) = TruncatedText::of(&text, self.limit) else {
            return BoundedText { text, whole: None };
        };
        self.truncated = true;
        let kept = self.artifacts.len();
        self.keep("text", media_type, Bytes::copy_from_slice(text.as_bytes())).await;
        let whole = self.artifacts.get(kept).map(|artifact| artifact.id.clone());
        BoundedText { text: cut.with_note(0, whole.as_deref(), self.limit), whole }
    }

    /// Truncates the text parts for MCP clients; `bounded` is the whole text, which is stored.
    fn cut_parts(
        &mut self,
        content: &mut Content,
        binaries: &[String],
        bounded: Option<&BoundedText>,
    ) {
        let Some(bounded) = bounded else { return };
        let is_long = |part: &Part| part.as_text().is_some_and(|text| text.len() > self.limit);
        if !content.parts.iter().any(is_long) {
            return;
        }
        // Where each part begins in the whole text, in which parts are joined by newlines.
        let lengths = content.part_texts(binaries).into_iter().map(|text| text.chars().count());
        let starts: Vec<_> = lengths
            .scan(0, |next, length| Some(std::mem::replace(next, *next + length + 1)))
            .collect();
        for (part, start) in content.parts.iter_mut().zip(starts) {
            let Some(cut) = part.as_text().and_then(|text| TruncatedText::of(text, self.limit))
            else {
                continue;
            };
            let shown = cut.with_note(start, bounded.whole.as_deref(), self.limit);
            self.truncated = true;
            part.0.insert("text".to_owned(), Value::String(shown));
        }
    }
}

/// Returns the content with each binary part replaced by the line that names it, if there are any.
fn named(content: &Content, binaries: &[String]) -> Option<Content> {
    let mut lines = binaries.iter();
    if lines.len() == 0 {
        return None;
    }
    let part = |part: &Part| match part.as_binary().and_then(|_| lines.next()) {
        Some(line) => Part::text(line),
        None => part.clone(),
    };
    let parts = content.parts.iter().map(part).collect();
    Some(Content { parts, fields: content.fields.clone() })
}

/// A text of at most `limit` characters, not counting the note about what is missing.
struct BoundedText {
    text: String,
    /// The artifact that holds the whole, if it was truncated and could be stored.
    whole: Option<String>,
}

#[cfg(test)]
mod tests;
