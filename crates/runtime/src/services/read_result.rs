//! `read_result`: reads the rest of a truncated result (SPEC RS-5).

use std::sync::{Arc, Weak};

use regex::RegexBuilder;
use schemars::JsonSchema;
use serde::Deserialize;
use switchboard_toolcall::{Annotations, CallContext, ErrorKind, Tool, ToolError, tool_fn};

use crate::{
    artifacts::{self, ArtifactContent, ArtifactStore},
    normalise::byte_of,
    tools::ToolManager,
};

/// Reads a stored result that was too long to show whole: a range of its characters, or the lines that match
/// a pattern.
#[derive(Deserialize, JsonSchema)]
struct ReadResultRequest {
    /// The artifact id named in the cut result.
    id: String,
    /// The character to start at; 0 is the first.
    #[serde(default)]
    offset: u64,
    /// How many characters to return, 200000 at most.
    #[serde(default = "default_limit")]
    limit: u64,
    /// Only the lines that match this regular expression; offset and limit then apply to them.
    #[serde(default)]
    grep: Option<String>,
}

fn default_limit() -> u64 {
    20_000
}

/// How many characters one call returns at most: it must not return what was truncated for its size.
const MOST: u64 = 200_000;

pub(super) fn tool(store: Arc<dyn ArtifactStore>, tools: Weak<ToolManager>) -> impl Tool {
    let read = move |request: ReadResultRequest, cx: CallContext| {
        let (store, tools) = (store.clone(), tools.upgrade());
        async move { read(&*store, tools.as_deref(), request, &cx).await }
    };
    tool_fn("read_result", read)
        .annotate(Annotations::READ_ONLY)
        // The output limit does not apply: the caller chose the size.
        .with(|spec| spec.settings.max_output = Some(usize::MAX))
}

async fn read(
    store: &dyn ArtifactStore,
    tools: Option<&ToolManager>,
    request: ReadResultRequest,
    cx: &CallContext,
) -> Result<String, ToolError> {
    let ReadResultRequest { id, offset, limit, grep } = request;
    let Some(tools) = tools else {
        return Err(ToolError::unreachable("read_result", "the artifact store"));
    };
    let stored = artifacts::read_for(store, &id, tools, cx).await.map_err(|error| {
        ToolError::unreachable("read_result", "the artifact store").caused_by(error)
    })?;
    let Some(ArtifactContent { media_type, bytes }) = stored else {
        return Err(ToolError::invalid(format_args!(
            "no result is kept under 'id' {id:?}; it may have given way to newer ones"
        )));
    };
    let Ok(text) = std::str::from_utf8(&bytes) else {
        let size = bytes.len();
        let text = format!("artifact '{id}' is {media_type} of {size} bytes, not text");
        return Err(ToolError::new(ErrorKind::ToolError, text));
    };
    let matching = grep.map(|pattern| matching_lines(text, &pattern)).transpose()?;
    let text = matching.as_deref().unwrap_or(text);
    let clamp = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let rest = &text[byte_of(text, clamp(offset))..];
    Ok(rest[..byte_of(rest, clamp(limit.min(MOST)))].to_owned())
}

fn matching_lines(text: &str, pattern: &str) -> Result<String, ToolError> {
    let pattern = RegexBuilder::new(pattern)
        .size_limit(1 << 20)
        .build()
        .map_err(|error| ToolError::invalid(format_args!("'grep' is not a pattern: {error}")))?;
    let lines: Vec<_> = text.lines().filter(|line| pattern.is_match(line)).collect();
    Ok(lines.join("\n"))
}
