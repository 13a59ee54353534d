//! Writes lines.

use std::{
    io::Write,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use jiff::Timestamp;
use serde::Serialize;
use switchboard_runtime::{
    Approval, CallEnd, CallStart,
    record::{RedactedResult, Stages},
    redact,
};
use switchboard_toolcall::{Artifact, ErrorKind, ToolError, ToolOutput, ToolResult};

use crate::{config::Results, error::causes};

/// A line without its tick, its hash and its last brace: those are known when it is written.
pub(crate) struct LineBody(pub(crate) Vec<u8>);

impl LineBody {
    /// A line of the given kind about `subject`.
    pub(crate) fn new(kind: &str, subject: impl Serialize) -> Self {
        let mut body = Self(Vec::with_capacity(512));
        body.0.push(b'{');
        body.key(kind);
        body.value(&subject);
        body
    }

    /// Adds a key with any value.
    pub(crate) fn with(mut self, key: &str, value: impl Serialize) -> Self {
        self.next(key);
        self.value(&value);
        self
    }

    /// Adds a key where there is a value.
    pub(crate) fn with_some(self, key: &str, value: Option<impl Serialize>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// Adds the time.
    pub(crate) fn at(mut self, time: SystemTime) -> Self {
        self.next("at");
        // Writing to a vector cannot fail.
        _ = write!(self.0, "\"{}\"", Timestamp::try_from(time).unwrap_or_default());
        self
    }

    /// Adds a key with a text that needs no escaping.
    fn with_text(mut self, key: &str, text: &str) -> Self {
        self.next(key);
        self.0.push(b'"');
        self.0.extend_from_slice(text.as_bytes());
        self.0.push(b'"');
        self
    }

    /// Adds how long each stage took.
    fn stages(mut self, stages: &Stages) -> Self {
        let Stages { open, lookup, check, wait, run, shape } = *stages;
        self.next("stages_ns");
        self.0.push(b'{');
        self.key("open");
        self.value(&nanoseconds(open));
        let others = [lookup, check, wait, run, shape];
        for (key, stage) in ["lookup", "check", "wait", "run", "shape"].into_iter().zip(others) {
            self.next(key);
            self.value(&nanoseconds(stage));
        }
        self.0.push(b'}');
        self
    }

    /// Adds a key with a value that is JSON already.
    pub(crate) fn with_json(mut self, key: &str, json: &str) -> Self {
        self.next(key);
        let start = self.0.len();
        self.0.extend_from_slice(json.as_bytes());
        // A newline within JSON is white space, and would end our line.
        if memchr::memchr2(b'\n', b'\r', json.as_bytes()).is_some() {
            for byte in &mut self.0[start..] {
                if matches!(*byte, b'\n' | b'\r') {
                    *byte = b' ';
                }
            }
        }
        self
    }

    /// Adds the tick, which is known when the line is written.
    pub(crate) fn tick(line: &mut Vec<u8>, tick: u64) {
        line.extend_from_slice(b",\"tick\":");
        // Writing a number to a vector cannot fail.
        _ = serde_json::to_writer(line, &tick);
    }

    /// Writes a key that is not the first. Keys are ours, and need no escaping.
    fn next(&mut self, key: &str) {
        self.0.push(b',');
        self.key(key);
    }

    fn key(&mut self, key: &str) {
        self.0.push(b'"');
        self.0.extend_from_slice(key.as_bytes());
        self.0.extend_from_slice(b"\":");
    }

    fn value(&mut self, value: &impl Serialize) {
        if serde_json::to_writer(&mut self.0, value).is_err() {
            self.0.extend_from_slice(b"null");
        }
    }
}

/// The line that a call begins with.
pub(crate) fn opened(start: &CallStart) -> LineBody {
    LineBody::new("open", start.id)
        .at(start.started)
        .with("tool", &*start.tool)
        .with_json("arguments", if start.arguments.is_empty() { "{}" } else { &start.arguments })
        .with_some("caller", start.caller.as_deref())
        .with_some("client", start.client.as_deref())
        .with_some("conversation", start.conversation.as_deref())
        .with_some("run", start.run.map(|turn| turn.run))
        .with_some("turn", start.run.map(|turn| turn.turn))
        .with_some("turn_sha256", start.turn_sha256.as_deref())
        .with_some("profile", start.profile.as_deref())
        .with_some("shown_as", start.shown_as.as_deref())
}

/// How much of a result a record holds; what is longer is kept whole beside it.
const MOST_SHOWN: usize = 64 << 10;

/// The line that a call ends with. `keep` is given results that are too long for a line.
pub(crate) fn ended(
    end: &CallEnd<'_>,
    results: Results,
    keep: impl FnOnce(String) -> Option<Artifact>,
) -> LineBody {
    let found = end.tool.filter(|tool| **tool != end.start.tool);
    let body = LineBody::new("end", end.start.id)
        .with_text("outcome", end.error_kind.map_or("ok", ErrorKind::code))
        .with("duration_ns", nanoseconds(end.duration))
        .stages(&end.stages)
        .with_some("found", found.map(|tool| &**tool))
        .with_some("server", end.server.map(|server| &**server))
        .with_some("approval", end.approval.map(Approval::redacted));
    match end.result {
        Some(result) => with_result(body, result, end.redacted, results, keep),
        None => body,
    }
}

fn with_result(
    body: LineBody,
    result: &ToolResult,
    redacted: &RedactedResult<'_>,
    results: Results,
    keep: impl FnOnce(String) -> Option<Artifact>,
) -> LineBody {
    let mut kept = None;
    let body = match &result.outcome {
        Ok(answer) => {
            let is_content = matches!(answer.for_programs(), ToolOutput::Content(_));
            let json = redacted.json();
            let body = body.with("bytes", json.len());
            // A plain string says the same; only objects must come back as what they were.
            let is_content = is_content && json.starts_with('{');
            match results {
                Results::None => body,
                Results::Full if json.len() > MOST_SHOWN => {
                    kept = keep(json.to_owned());
                    let body = body.with("result_head", head(json));
                    body.with_some("content", is_content.then_some(true))
                }
                Results::Full => {
                    body.with_json("result", json).with_some("content", is_content.then_some(true))
                }
            }
        }
        Err(error) => with_error(body, error, results),
    };
    let artifacts: Vec<_> = result.artifacts.iter().chain(&kept).collect();
    body.with_some("whole", kept.as_ref().map(|whole| &whole.id))
        .with_some("reused", result.reused)
        .with_some("truncated", result.truncated.then_some(true))
        .with_some("artifacts", (!artifacts.is_empty()).then_some(artifacts))
}

fn with_error(body: LineBody, error: &ToolError, results: Results) -> LineBody {
    let text = redact::text(&error.for_model);
    let body = body.with("bytes", text.len());
    if results == Results::None {
        return body;
    }
    let short = |text: &str| head(text).to_owned();
    let causes: Vec<_> =
        causes(error).map(|cause| short(&redact::text(&cause.to_string()))).collect();
    // The names that are close to an unknown one are for who asked: others who may read the record may not see those tools.
    let names_tools = matches!(error.kind, ErrorKind::NotFound | ErrorKind::UnknownServer);
    let hint = error.hint.as_deref().filter(|_| !names_tools);
    body.with("error", short(&text))
        .with_some("hint", hint.map(|hint| short(&redact::text(hint))))
        .with_some("causes", (!causes.is_empty()).then_some(causes))
}

/// As much of a text as a record holds, cut between characters.
fn head(text: &str) -> &str {
    let end = (0..=text.len().min(MOST_SHOWN)).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Microseconds since 1970.
pub(crate) fn microseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}
