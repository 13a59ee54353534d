//! The answer of a run that has ended, from its record.

use std::sync::Arc;

use http::StatusCode;
use serde_json::Value;
use switchboard_agent::{RunDetail, RunState};
use switchboard_models::{Arguments, ModelCall, Usage};

use super::{KeyedAnswer, KeyedResult};
use crate::openai::{chat::ChatOutcome, failure::ChatFailure, wire::FinishReason};

/// Returns what became of a run, with secrets redacted as in its record.
pub(super) fn result(run: &RunDetail) -> KeyedResult {
    let summary = &run.summary;
    if summary.state != RunState::Ended {
        let why = summary.error.as_deref();
        let (status, code, why) = match summary.state {
            RunState::Cancelled => {
                (StatusCode::SERVICE_UNAVAILABLE, "cancelled", why.unwrap_or("it was cancelled"))
            }
            _ => (StatusCode::BAD_GATEWAY, "run_failed", why.unwrap_or("it gave no answer")),
        };
        let text = format!("the run of this request has failed: {why}");
        let failure = ChatFailure::new(status, text).coded(code);
        return Err(ChatFailure { is_final: true, ..failure });
    }
    let usage = Usage { input_tokens: summary.input_tokens, output_tokens: summary.output_tokens };
    let (text, calls) = match &run.answer {
        Some(answer) => (answer.clone(), Vec::new()),
        None => left(&run.messages),
    };
    let finish = if calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls };
    let outcome = ChatOutcome { text, calls, finish, usage: usage.into() };
    Ok(Arc::new(KeyedAnswer { outcome, warnings: Vec::new() }))
}

/// Returns what the model said last, with the calls that were left to the client: those without a reply.
fn left(messages: &Value) -> (String, Vec<ModelCall>) {
    let messages = messages.as_array().map(Vec::as_slice).unwrap_or_default();
    let Some(place) = messages.iter().rposition(|message| message["role"] == "assistant") else {
        return Default::default();
    };
    let is_answered = |id: &str| messages[place..].iter().any(|reply| reply["tool_call_id"] == id);
    let said = &messages[place];
    let calls = said["tool_calls"].as_array().into_iter().flatten().filter_map(|call| {
        let id = call["id"].as_str().filter(|id| !is_answered(id))?;
        let args = match &call["args"] {
            Value::Object(args) => Arguments::Object(args.clone()),
            other => Arguments::parse(other.as_str().unwrap_or_default()),
        };
        let name = call["name"].as_str()?.to_owned();
        Some(ModelCall { id: id.to_owned(), name, args, recovered: false })
    });
    (said["content"].as_str().unwrap_or_default().to_owned(), calls.collect())
}
