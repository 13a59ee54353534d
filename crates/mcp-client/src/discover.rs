//! What a server has: its lists, page by page.

use std::{collections::HashSet, time::Duration};

use serde_json::{Map, Value};
use switchboard_mcp_wire::{List, ListResult, RpcError};

use super::{
    session::{OutgoingRequest, Session},
    transport::Failure,
};

/// How many pages of a list are read; further pages are ignored.
const MOST_PAGES: usize = 1000;

/// How many entries of a list are kept.
const MOST_ENTRIES: usize = 100_000;

impl Session {
    /// Reads all pages of a list, without what waits to be trusted. Returns an empty list if the server does not declare it.
    ///
    /// # Errors
    /// Fails if the server could not be reached, or the connection broke.
    pub async fn list(&self, list: List) -> Result<ListResult, Failure> {
        let capability = self.capabilities().get(list.capability());
        let declared = capability.is_some();
        let announced = capability.is_some_and(|declared| declared["listChanged"] == true);
        let mut listed = ListResult { announced, ..ListResult::default() };
        // Some servers have tools but do not declare them; the other lists are only requested if they are declared.
        if !declared && list != List::Tools {
            // What it had earlier waits no more.
            self.admitted(list, Vec::new()).await;
            return Ok(listed);
        }
        let mut cursor: Option<String> = None;
        let mut seen = HashSet::new();
        for _ in 0..MOST_PAGES {
            let mut params = Map::new();
            if let Some(cursor) = cursor {
                params.insert("cursor".to_owned(), Value::String(cursor));
            }
            let mut page = match self.ask(OutgoingRequest::new(list.method(), params)).await {
                Err(Failure::Rpc(error))
                    if !declared && error.code == RpcError::METHOD_NOT_FOUND =>
                {
                    self.admitted(list, Vec::new()).await;
                    return Ok(listed);
                }
                page => page?,
            };
            if let Some(Value::Array(entries)) = page.get_mut(list.key()).map(Value::take) {
                listed.entries.extend(entries);
            }
            // The list is fresh for as long as its shortest-lived page.
            let ttl = page["ttlMs"].as_u64().map(Duration::from_millis);
            listed.ttl = [listed.ttl, ttl].into_iter().flatten().min();
            listed.private |= page["cacheScope"] == "private";
            cursor = page["nextCursor"].as_str().map(str::to_owned);
            let Some(next) = &cursor else { break };
            // A server that returns the same cursor again would never end.
            if !seen.insert(next.clone()) || listed.entries.len() >= MOST_ENTRIES {
                tracing::warn!(list = list.key(), "the list does not end; the rest is left");
                break;
            }
        }
        listed.entries.truncate(MOST_ENTRIES);
        listed.entries = self.admitted(list, listed.entries).await;
        Ok(listed)
    }
}
