//! Recorded calls, from the store or from memory.

use switchboard_audit::{CallOutcome, Error, Filter, Reader, Record, Store};
use switchboard_runtime::{CallHistory, RecordedCall};
use tokio::task::spawn_blocking;

use super::{MOST, refused};
use crate::error::ApiError;

/// How many calls are read from the store at once.
const PAGE: usize = 1000;

/// Returns calls from the index; reads the journal only for long arguments that are wanted.
pub(super) fn listed(
    reader: &mut Reader,
    filter: &Filter,
    whole: bool,
) -> Result<Vec<Record>, Error> {
    if whole { reader.list(filter) } else { reader.list_beginnings(filter) }
}

/// Returns calls from the store; others may ask it between two pages.
pub(super) async fn stored_in(
    store: Store,
    filter: Filter,
    visible: impl Fn(&Record) -> bool + Send + 'static,
    most: usize,
    whole: bool,
) -> Result<Vec<Record>, ApiError> {
    let list = move |filter: &Filter| store.ask(|reader| listed(reader, filter, whole));
    let found = spawn_blocking(move || stored(list, filter, visible, most)).await;
    found.map_err(|error| ApiError::Unavailable(error.to_string()))?.map_err(refused)
}

/// Returns calls from the store, page by page, since the caller may see only some of them.
pub(super) fn stored(
    mut list: impl FnMut(&Filter) -> Result<Vec<Record>, Error>,
    mut filter: Filter,
    visible: impl Fn(&Record) -> bool,
    most: usize,
) -> Result<Vec<Record>, Error> {
    let mut records = Vec::new();
    loop {
        let page = PAGE.max(most - records.len());
        filter.limit = Some(page);
        let found = list(&filter)?;
        let is_last = found.len() < page;
        filter.after = found.last().map(|record| record.id);
        records.extend(found.into_iter().filter(&visible));
        if is_last || records.len() >= most {
            records.truncate(most);
            return Ok(records);
        }
    }
}

/// Returns calls from memory.
pub(super) async fn remembered(
    history: &dyn CallHistory,
    filter: &Filter,
    visible: impl Fn(&Record) -> bool,
    most: usize,
) -> Result<Vec<Record>, Error> {
    let passes = filter.matcher()?;
    let records = recent(history, MOST).await?.into_iter();
    let older = records.filter(|record| filter.after.is_none_or(|after| record.id < after));
    Ok(older.filter(|record| passes(record) && visible(record)).take(most).collect())
}

/// Returns the latest calls in memory.
pub(in crate::rest) async fn recent(
    history: &dyn CallHistory,
    most: usize,
) -> Result<Vec<Record>, Error> {
    let calls = history.recent(most).await;
    let calls = calls.map_err(|error| Error::Background(error.to_string()))?;
    Ok(calls.iter().map(record).collect())
}

fn record(call: &RecordedCall) -> Record {
    let start = &call.start;
    Record {
        id: start.id,
        tool: start.tool.to_string(),
        server: call.server.as_deref().map(str::to_owned),
        caller: start.caller.as_deref().map(str::to_owned),
        client: start.client.as_deref().map(str::to_owned),
        conversation: start.conversation.as_deref().map(str::to_owned),
        run: start.run,
        profile: start.profile.as_deref().map(str::to_owned),
        shown_as: start.shown_as.as_deref().map(str::to_owned),
        arguments: start.arguments.clone(),
        outcome: match call.end {
            None => CallOutcome::Running,
            Some((None, _)) => CallOutcome::Ok,
            Some((Some(kind), _)) => CallOutcome::Failed(kind),
        },
        duration: call.end.map(|(_, duration)| duration),
        started: start.started,
        bytes: None,
        reused: None,
        node: None,
    }
}
