//! Converts a provider's response to the turn that the loop sees.

use std::collections::HashSet;

use serde_json::Value;

use crate::{
    AiMessage, Arguments, ContextEdits, Message, ModelCall, NativeContent, Provider, Request,
    StopReason, Turn, Usage, lower::LoweredTools, recover,
};

/// A parsed response.
#[derive(Debug, Default)]
pub(crate) struct TurnDraft {
    pub(crate) content: String,
    pub(crate) reasoning: String,
    pub(crate) calls: Vec<DraftCall>,
    pub(crate) native: Option<Value>,
    pub(crate) stop: Option<StopReason>,
    pub(crate) usage: Usage,
    /// A note for the user.
    pub(crate) warning: Option<String>,
    /// What the provider left out of the conversation.
    pub(crate) edits: ContextEdits,
}

/// A call as it came.
#[derive(Debug, PartialEq)]
pub(crate) struct DraftCall {
    pub(crate) id: Option<String>,
    /// The name as it was sent.
    pub(crate) name: String,
    pub(crate) args: Arguments,
}

/// Whether leaked calls are looked for.
pub(crate) fn is_wary(request: &Request<'_>, recover_calls: bool) -> bool {
    recover_calls && request.offers_tools() && request.validate.is_some()
}

/// Builds the turn: maps names back, adds missing ids, recovers leaked calls.
pub(crate) fn complete(
    draft: TurnDraft,
    provider: Provider,
    request: &Request<'_>,
    lowered: &LoweredTools,
    recover_calls: bool,
) -> Turn {
    let TurnDraft { mut content, reasoning, calls, native, stop, usage, .. } = draft;
    let mut stop = stop.unwrap_or(StopReason::Answer);
    let mut tool_calls: Vec<_> = calls
        .into_iter()
        .map(|call| ModelCall {
            id: call.id.unwrap_or_default(),
            name: lowered.names.tool_name(&call.name).to_owned(),
            args: call.args,
            recovered: false,
        })
        .collect();
    if tool_calls.is_empty()
        && stop == StopReason::Answer
        && is_wary(request, recover_calls)
        && let Some(validate) = request.validate
        && let Some(found) = recover::calls(&content, &reasoning, lowered, validate)
    {
        tracing::info!(calls = found.len(), "calls that leaked as text were recovered");
        content.clear();
        tool_calls = found;
    }
    make_ids(&mut tool_calls, request.messages);
    if !tool_calls.is_empty() && matches!(stop, StopReason::Answer | StopReason::Other(_)) {
        stop = StopReason::ToolUse;
    }
    let native = native.map(|content| NativeContent { provider, content });
    Turn { message: AiMessage { content, tool_calls, native, pinned: false }, stop, usage }
}

/// Gives every call an id that no other call of the conversation has: the same for the same history (ML-3).
fn make_ids(calls: &mut [ModelCall], history: &[Message]) {
    let mut taken: HashSet<String> = HashSet::new();
    for message in history {
        if let Message::Ai(message) = message {
            taken.extend(message.tool_calls.iter().map(|call| call.id.clone()));
        }
    }
    for (position, call) in calls.iter_mut().enumerate() {
        if call.id.is_empty() || taken.contains(&call.id) {
            let made = format!("call_{}_{position}", history.len());
            let more = (1..).map(|n| format!("{made}_{n}"));
            let mut candidates = std::iter::once(made.clone()).chain(more);
            call.id = candidates.find(|id| !taken.contains(id)).unwrap_or(made);
        }
        taken.insert(call.id.clone());
    }
}
