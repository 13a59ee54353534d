//! Runs as a caller may see them.

use std::collections::HashSet;

use serde::Serialize;
use serde_json::{Value, json};
use switchboard_access::Caller;
use switchboard_agent::{RunDetail, RunState, RunSummary};
use switchboard_audit::Store;
use switchboard_runtime::ToolManager;
use switchboard_toolcall::{CallId, Visibility};
use utoipa::{
    ToSchema,
    openapi::{
        Object,
        schema::{ObjectBuilder, Type},
    },
};

use crate::rest::calls;

/// What stands in place of a tool that the caller may no longer see.
const HIDDEN: &str = "hidden";

/// A run in the list.
#[derive(Serialize, ToSchema)]
pub(super) struct ShownRun {
    id: String,
    /// How far it is; an `interrupted` one can go on.
    #[schema(schema_with = states)]
    state: &'static str,
    model: String,
    started: String,
    /// The beginning of the question, redacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    question: Option<String>,
    /// How often the model answered.
    turns: usize,
    /// How many calls it made.
    calls: usize,
    input_tokens: u64,
    output_tokens: u64,
    /// What they cost, if the model has a price.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    cost: Option<f64>,
    /// The program that asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    client: Option<String>,
    /// The token that it was asked with.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    caller: Option<String>,
    /// The chat that it is a turn of.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    chat: Option<String>,
    /// The profile that it ran in.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    profile: Option<String>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    error: Option<String>,
}

impl ShownRun {
    /// The run as a caller sees it, who does not hear of profiles if it is in one.
    pub(super) fn new(run: RunSummary, in_profile: bool) -> Self {
        Self {
            id: run.id.to_string(),
            state: run.state.code(),
            model: run.model,
            started: run.started,
            question: run.question,
            turns: run.turns,
            calls: run.calls,
            input_tokens: run.input_tokens,
            output_tokens: run.output_tokens,
            cost: run.cost,
            client: run.client,
            caller: run.caller,
            chat: run.chat,
            profile: run.profile.filter(|_| !in_profile),
            error: run.error,
        }
    }
}

/// Returns the schema of the states of a run.
fn states() -> Object {
    let states = [
        RunState::Running,
        RunState::Ended,
        RunState::Failed,
        RunState::Cancelled,
        RunState::Interrupted,
    ];
    let codes = states.map(RunState::code);
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(codes)).build()
}

/// Returns everything that the caller may know of its run.
pub(super) fn detail(run: &RunDetail, caller: &Caller, tools: &ToolManager) -> Value {
    let mut shown = run.to_json();
    if !caller.visibility().hides_tools() {
        return shown;
    }
    let profile = run.summary.profile.as_deref().and_then(|name| tools.profile(name));
    let visibility = match (caller.visibility().profile(), profile) {
        (None, Some(profile)) => caller.visibility().clone().within(profile),
        _ => caller.visibility().clone(),
    };
    hide_calls(&mut shown, &visibility, tools);
    if let Some(fields) = shown.as_object_mut()
        && caller.visibility().profile().is_some()
    {
        fields.shift_remove("profile");
    }
    if let Some(settings) = shown["settings"].as_object_mut() {
        // They name what the caller saw then.
        settings.shift_remove("tools");
        settings.shift_remove("offered");
    }
    shown
}

/// Takes out the calls of tools that the caller saw when it asked, and may no longer see. Those of its own tools stay.
fn hide_calls(shown: &mut Value, visibility: &Visibility, tools: &ToolManager) {
    let is_hidden = |name: &str| !tools.is_visible(name, visibility);
    let mut hidden = HashSet::new();
    for call in calls_of(&mut shown["timeline"], "calls") {
        if !call["call_id"].is_null() && call["tool"].as_str().is_some_and(is_hidden) {
            hidden.extend(call["tool_call_id"].as_str().map(str::to_owned));
            (call["tool"], call["call_id"]) = (HIDDEN.into(), Value::Null);
        }
    }
    for call in calls_of(&mut shown["messages"], "tool_calls") {
        let id = call["id"].as_str().unwrap_or_default().to_owned();
        let is_ours = |name: &str| tools.get(name).is_some();
        let name = call["name"].as_str().unwrap_or_default();
        if is_hidden(name) && (hidden.contains(&id) || is_ours(name)) {
            (call["name"], call["args"]) = (HIDDEN.into(), json!({}));
            hidden.insert(id);
        }
    }
    for reply in shown["messages"].as_array_mut().into_iter().flatten() {
        if reply["tool_call_id"].as_str().is_some_and(|id| hidden.contains(id)) {
            reply["content"] = HIDDEN.into();
        }
    }
}

/// Returns the calls that are in each of these turns, or messages, under `key`.
fn calls_of<'a>(turns: &'a mut Value, key: &'a str) -> impl Iterator<Item = &'a mut Value> {
    let turns = turns.as_array_mut().into_iter().flatten();
    turns.filter_map(move |turn| turn.get_mut(key)?.as_array_mut()).flatten()
}

/// Adds to each call what a person decided about it, if its record says so.
pub(super) async fn add_decisions(shown: &mut Value, store: Store) {
    let ids = calls_of(&mut shown["timeline"], "calls");
    let ids: Vec<_> = ids.filter_map(|call| CallId::parse(call["call_id"].as_str()?)).collect();
    let decided = calls::ask(store, move |reader| {
        let mut decided = Vec::new();
        for id in ids {
            let approval = reader.show(id)?.and_then(|detail| detail.approval);
            decided.extend(approval.map(|approval| (id.to_string(), approval)));
        }
        Ok(decided)
    });
    // The run is shown all the same; `/api/calls` says what is wrong with the records.
    let decided = decided.await.unwrap_or_default();
    for call in calls_of(&mut shown["timeline"], "calls") {
        let id = call["call_id"].as_str().unwrap_or_default();
        if let Some((_, approval)) = decided.iter().find(|(known, _)| known == id) {
            (call["decision"], call["decided_by"]) = (json!(approval.decision), json!(approval.by));
        }
    }
}
