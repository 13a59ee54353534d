//! Queued calls, where `[cluster]` is set: how one is, and how they change.

use anyhow::anyhow;
use jiff::Timestamp;
use serde_json::{Value, json};
use switchboard_audit::{CallOutcome, Record};
use switchboard_gateway::Queued;
use switchboard_runtime::{DurableCalls, QueueState, QueuedCall, ToolExecutor};
use switchboard_toolcall::CallId;
use switchboard_workers::{
    Jobs, Queue,
    jobs::{Change, Changes},
};

use super::words;
use crate::{
    cluster,
    settings::Loaded,
    terminal::{self, Failed, Paint, json::pretty, text},
};

/// The queued call with this id, where there is a cluster that knows it.
///
/// # Errors
/// The cluster's settings cannot be used, or it cannot be asked.
pub(super) async fn look(loaded: &Loaded, id: CallId) -> anyhow::Result<Option<QueuedCall>> {
    let Some(cluster) = cluster::connect(loaded).await? else { return Ok(None) };
    let jobs = Jobs::new(cluster, loaded.settings.cluster.jobs.clone());
    // Only its limits are used: nothing is called.
    let queue = Queue::new(jobs, ToolExecutor::default());
    let away = |error: switchboard_toolcall::BoxError| {
        let error = anyhow!(error);
        anyhow!(Failed(format!("the queue cannot be asked: {error:#}")))
    };
    queue.look(id).await.map_err(away)
}

/// Queued calls as they change; none without a cluster. One that cannot be reached is told of, and the rest goes on.
///
/// # Errors
/// The cluster's settings cannot be used.
pub(super) async fn changes(loaded: &Loaded) -> anyhow::Result<Option<Changes>> {
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

/// One object, as `GET /api/calls/ID` gives it.
pub(super) fn object(call: QueuedCall) -> anyhow::Result<String> {
    Ok(serde_json::to_string(&Queued::from(call))?)
}

/// All about one, for people.
pub(super) fn page(call: &QueuedCall, paint: Paint) -> String {
    let state = coloured(call.state, paint);
    let name = paint.bold(&text::one_line(&call.tool));
    let mut page = format!("{name}  {state}\n{}\n\n", paint.dim(&call.id.to_string()));
    let far = call.progress.as_ref().map(|step| match step.total {
        Some(total) => format!("{} of {total}", step.progress),
        None => step.progress.to_string(),
    });
    let took = call.result.as_ref().map(|result| words::took(result.elapsed));
    let facts = [
        ("queued", Some(words::local(call.queued))),
        ("changed", Some(words::local(call.changed))),
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
pub(super) fn line(change: &Change, paint: Paint) -> String {
    let clock = paint.dim(&words::clock(change.changed));
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
pub(super) fn change_object(change: &Change) -> anyhow::Result<String> {
    let mut object = serde_json::to_value(change)?;
    if let Value::Object(fields) = &mut object {
        let changed = Timestamp::try_from(change.changed).unwrap_or_default();
        fields.insert("changed".to_owned(), json!(changed.to_string()));
    }
    Ok(object.to_string())
}

/// A change as whole texts between tabs.
pub(super) fn between_tabs(change: &Change) -> String {
    let changed = Timestamp::try_from(change.changed).unwrap_or_default();
    let (id, tool, state) = (change.id, text::one_line(&change.tool), change.state.code());
    format!("{changed}\t{id}\t{tool}\t{state}\t{}", change.attempts)
}

/// The change as a record, for filters.
pub(super) fn record(change: &Change) -> Record {
    Record {
        node: None,
        id: change.id,
        tool: change.tool.clone(),
        server: Some(change.server.clone()),
        caller: change.caller.clone(),
        client: None,
        conversation: None,
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
