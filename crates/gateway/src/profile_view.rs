//! What callers with a profile see: the profile of a request, and records and events with the profile's names
//! (SPEC FT-5).

use std::sync::Arc;

use http::HeaderMap;
use serde_json::{Map, Value};
use switchboard_access::{Caller, PROFILE_HEADER};
use switchboard_audit::Record;
use switchboard_runtime::{CallNames, ToolManager};

use crate::{error::ApiError, feed::FeedEvent, gateway::Parts};

/// What callers read in place of a rule, which has the names that a tool has outside of their profile.
pub(crate) const RULE: &str = "a rule of the config";

/// Returns the profile that a request names in its header.
pub(crate) fn named(headers: &HeaderMap) -> Option<&str> {
    // A name that is no text is that of no profile.
    headers.get(PROFILE_HEADER).map(|name| name.to_str().unwrap_or_default())
}

/// Returns the caller with the profile that its token is bound to, or else with the one that it asks for.
///
/// # Errors
/// There is no such profile, or not for this caller.
pub(crate) fn enter(
    parts: &Parts,
    caller: Caller,
    asked: Option<&str>,
) -> Result<Caller, ApiError> {
    let bound = caller.visibility().profile().map(|profile| profile.name().clone());
    let unknown = |name: &str| ApiError::NotFound(format!("there is no profile `{name}`"));
    let name = match (&bound, asked) {
        (None, None) => return Ok(caller),
        // What a bound caller is told does not depend on which others there are.
        (Some(bound), Some(asked)) if **bound != *asked => return Err(unknown(asked)),
        (Some(bound), _) => &**bound,
        (None, Some(asked)) => asked,
    };
    match parts.executor.tools().profile(name) {
        Some(profile) => Ok(caller.in_profile(profile)),
        None if asked.is_some() => Err(unknown(name)),
        // A token whose profile is gone sees nothing.
        None => Ok(caller),
    }
}

/// Returns the names of a record.
pub(crate) fn names(record: &Record) -> CallNames<'_> {
    CallNames {
        tool: &record.tool,
        shown_as: record.shown_as.as_deref(),
        profile: record.profile.as_deref(),
        caller: record.caller.as_deref(),
    }
}

/// Returns a record as the caller may see it. `None` if it may not know of the call.
pub(crate) fn record(mut record: Record, caller: &Caller, tools: &ToolManager) -> Option<Record> {
    let name = caller.shown_call(&names(&record), tools)?;
    if caller.visibility().profile().is_none() {
        return Some(record);
    }
    record.arguments = arguments(&record.arguments, &name, caller, tools);
    (record.profile, record.shown_as) = (None, None);
    record.tool = name;
    Some(record)
}

/// Returns recorded arguments without those that callers of the tool do not see.
pub(crate) fn arguments(
    recorded: &str,
    name: &str,
    caller: &Caller,
    tools: &ToolManager,
) -> String {
    match serde_json::from_str::<Map<String, Value>>(recorded) {
        Ok(mut arguments) => {
            tools.shown_arguments(caller.visibility(), name, &mut arguments);
            Value::Object(arguments).to_string()
        }
        // What is too long was left out.
        Err(_) => recorded.to_owned(),
    }
}

/// Changes a record or an event in JSON to what the caller may see of it; `name` is what it calls the tool.
pub(crate) fn rename(shown: &mut Value, name: &str, caller: &Caller, tools: &ToolManager) {
    if caller.visibility().profile().is_none() {
        return;
    }
    let Some(fields) = shown.as_object_mut() else { return };
    fields.retain(|key, _| key != "profile" && key != "shown_as");
    let original = fields.insert("tool".to_owned(), name.into()).unwrap_or_default();
    if let Some(original) = original.as_str().filter(|original| *original != name) {
        rename_in_texts(fields, original, name);
    }
    if let Some(arguments) = fields.get_mut("arguments").and_then(Value::as_object_mut) {
        tools.shown_arguments(caller.visibility(), name, arguments);
    }
}

/// Replaces the tool's name outside of the profile where a record or an event says why.
fn rename_in_texts(fields: &mut Map<String, Value>, original: &str, name: &str) {
    if fields.contains_key("reason") {
        fields.insert("reason".to_owned(), RULE.into());
    }
    if let Some(approval) = fields.get_mut("approval").and_then(Value::as_object_mut) {
        approval.insert("rule".to_owned(), RULE.into());
    }
    for key in ["error", "hint"] {
        if let Some(Value::String(text)) = fields.get_mut(key) {
            *text = text.replace(original, name);
        }
    }
}

/// Returns an event's JSON as the caller may see it; `name` is what it calls the tool.
pub(crate) fn event(
    event: &Arc<FeedEvent>,
    name: &str,
    caller: &Caller,
    tools: &ToolManager,
) -> Option<String> {
    caller.visibility().profile()?;
    let mut shown: Value = serde_json::from_str(&event.json).ok()?;
    rename(&mut shown, name, caller, tools);
    Some(shown.to_string())
}
