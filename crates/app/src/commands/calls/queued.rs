//! Queued calls, if `[cluster]` is set: the state of one, and changes of all.

use anyhow::anyhow;
use jiff::Timestamp;
use serde_json::{Value, json};
use switchboard_audit::{CallOutcome, Record};
use switchboard_runtime::{DurableCalls, QueueState, QueuedCall, ToolExecutor};
use switchboard_toolcall::{CallId, ErrorKind, ProgressUpdate, ToolResult};
use switchboard_workers::{
    JobQueue, Jobs,
    jobs::{JobChange, JobChanges},
};

use super::format;
use crate::{
    cluster,
    settings::LoadedConfig,
    terminal::{self, CommandFailed, Paint, json::pretty, text},
};

/// Returns the queued call with this id; `None` if there is no cluster, or it does not know the call.
///
/// # Errors
/// The cluster's settings are invalid, or it cannot be reached.
pub(super) async fn look(loaded: &LoadedConfig, id: CallId) -> anyhow::Result<Option<QueuedCall>> {
    let Some(cluster) = cluster::connect(loaded).await? else { return Ok(None) };
    let jobs = Jobs::new(cluster, loaded.settings.cluster.jobs.clone());
    // Only the executor's limits are used; it runs no call here.
    let queue = JobQueue::new(jobs, ToolExecutor::default());
    let away = |error: switchboard_toolcall::BoxError| {
        let error = anyhow!(error);
        anyhow!(CommandFailed(format!("the queue cannot be asked: {error:#}")))
    };
    queue.look(id).await.map_err(away)
}

/// Returns the changes of queued calls as they happen; `None` without a cluster, or if it cannot be reached, which is
/// said on stderr.
///
/// # Errors
/// The cluster's settings cannot be used.
pub(super) async fn changes(loaded: &LoadedConfig) -> anyhow::Result<Option<JobChanges>> {
    let Some(cluster) = cluster::connect(loaded).await? else { return Ok(None) };
    let jobs = Jobs::new(cluster, loaded.settings.cluster.jobs.clone());
    match jobs.changes().await {
        Ok(changes) => Ok(Some(changes)),
        Err(error) => {
            let error = anyhow!(error);
            terminal::tell(&format!("queued calls cannot be watched: {error:#}"));
            Ok(None)
        }
    }
}

/// One object with the fields of `GET /api/calls/ID`.
pub(super) fn object(call: &QueuedCall) -> anyhow::Result<String> {
    let result = call.result.as_ref();
    let timestamp = |time| Timestamp::try_from(time).map(|time| format!("{time:.3}"));
    let mut object = json!({
        "id": call.id.to_string(),
        "tool": call.tool,
        "caller": call.caller,
        "state": call.state.code(),
        "attempts": call.attempts,
        "outcome": result.map_or("running", ToolResult::outcome_code),
        "error_kind": result.and_then(ToolResult::error_kind).map(ErrorKind::code),
        "started": timestamp(call.queued)?,
        "changed": timestamp(call.changed)?,
    });
    if let Some(ProgressUpdate { progress, total, message }) = &call.progress {
        let mut step = json!({"progress": progress});
        if let Some(total) = total {
            step["total"] = json!(total);
        }
        if let Some(message) = message {
            step["message"] = json!(message);
        }
        object["progress"] = step;
    }
    if let Some(result) = result {
        object["result"] = serde_json::to_value(result)?;
    }
    Ok(object.to_string())
}

/// The details of one, for people.
pub(super) fn page(call: &QueuedCall, paint: Paint) -> String {
    let state = coloured(call.state, paint);
    let name = paint.bold(&text::one_line(&call.tool));
    let mut page = format!("{name}  {state}\n{}\n\n", paint.dim(&call.id.to_string()));
    let far = call.progress.as_ref().map(|step| match step.total {
        Some(total) => format!("{} of {total}", step.progress),
        None => step.progress.to_string(),
    });
    let took = call.result.as_ref().map(|result| format::took(result.elapsed));
    let facts = [
        ("queued", Some(format::local(call.queued))),
        ("changed", Some(format::local(call.changed))),
        ("attempts", Some(call.attempts.to_string())),
        ("progress", far),
        ("took", took),
        ("caller", call.caller.as_deref().map(str::to_owned)),
    ];
    for (name, fact) in facts {
        if let Some(fact) = fact {
            let name = paint.dim(&text::pad(name, 12));
            page.push_str(&format!("{name}  {}\n", text::one_line(&fact)));
        }
    }
    if let Some(result) = &call.result {
        let envelope = serde_json::to_value(result).unwrap_or_default();
        page.push_str(&format!("\n{}\n{}\n", paint.cyan("result"), pretty(&envelope, paint)));
    }
    page
}

/// A change as one line for people.
pub(super) fn line(change: &JobChange, paint: Paint) -> String {
    let clock = paint.dim(&format::clock(change.changed));
    let tool = paint.bold(&text::pad(&text::shorten(&change.tool, 32), 24));
    let state = coloured(change.state, paint);
    let attempt = match change.attempts {
        0 | 1 => String::new(),
        more => format!("  attempt {more}"),
    };
    let far = change.progress.as_ref().filter(|_| change.state == QueueState::Running);
    let far = far.map(|step| format!("  {}", step.progress)).unwrap_or_default();
    let why = change.last_error.as_ref().map(|error| &error.text);
    let why = why.map(|why| format!("  {}", text::shorten(why, 60))).unwrap_or_default();
    format!("{clock}  {tool}  {state}  {}{attempt}{far}{why}", paint.dim(&change.id.to_string()))
}

/// A change as one object for programs.
pub(super) fn change_object(change: &JobChange) -> anyhow::Result<String> {
    let mut object = serde_json::to_value(change)?;
    if let Value::Object(fields) = &mut object {
        let changed = Timestamp::try_from(change.changed).unwrap_or_default();
        fields.insert("changed".to_owned(), json!(changed.to_string()));
    }
    Ok(object.to_string())
}

/// A change as columns separated by tabs.
pub(super) fn between_tabs(change: &JobChange) -> String {
    let changed = Timestamp::try_from(change.changed).unwrap_or_default();
    let (id, tool, state) = (change.id, text::one_line(&change.tool), change.state.code());
    format!("{changed}\t{id}\t{tool}\t{state}\t{}", change.attempts)
}

/// The change as a record, for filters.
pub(super) fn record(change: &JobChange) -> Record {
    Record {
        node: None,
        id: change.id,
        tool: change.tool.clone(),
        server: Some(change.server.clone()),
        caller: change.caller.clone(),
        client: None,
        conversation: None,
        run: None,
        profile: None,
        shown_as: None,
        arguments: "{}".to_owned(),
        outcome: match change.error_kind {
            _ if !change.state.is_over() => CallOutcome::Running,
            None => CallOutcome::Ok,
            Some(kind) => CallOutcome::Failed(kind),
        },
        duration: None,
        started: change.queued,
        bytes: None,
        reused: None,
    }
}

fn coloured(state: QueueState, paint: Paint) -> String {
    let code = text::pad(state.code(), 9);
    match state {
        QueueState::Done => paint.green(&code),
        QueueState::Queued | QueueState::Running => paint.yellow(&code),
        QueueState::Dead | QueueState::Cancelled => paint.red(&code),
    }
}
