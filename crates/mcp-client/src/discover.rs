//! What a server has: its lists, page by page.

use std::{collections::HashSet, time::Duration};

use serde_json::{Map, Value};
use switchboard_mcp_wire::{List, ListResult, RpcError};

use super::{
    session::{OutgoingRequest, Session},
    transport::Failure,
};

/// How many pages of a list are read; a server that has more is taken at its word so far.
const MOST_PAGES: usize = 1000;

/// How many entries of a list are kept.
const MOST_ENTRIES: usize = 100_000;

impl Session {
    /// Reads all pages of a list; empty where the server does not have it.
    ///
    /// # Errors
    /// The server could not be reached, or broke off.
    pub async fn list(&self, list: List) -> Result<ListResult, Failure> {
        let capability = self.capabilities().get(list.capability());
        let declared = capability.is_some();
        let announced = capability.is_some_and(|declared| declared["listChanged"] == true);
        let mut listed = ListResult { announced, ..ListResult::default() };
        // Some servers have tools and forget to say so; the others are only asked for what they declare.
        if !declared && list != List::Tools {
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
                    return Ok(listed);
                }
                page => page?,
            };
            if let Some(Value::Array(entries)) = page.get_mut(list.key()).map(Value::take) {
                listed.entries.extend(entries);
            }
            // The shortest-lived page says how long the whole is true.
            let ttl = page["ttlMs"].as_u64().map(Duration::from_millis);
            listed.ttl = [listed.ttl, ttl].into_iter().flatten().min();
            listed.private |= page["cacheScope"] == "private";
            cursor = page["nextCursor"].as_str().map(str::to_owned);
            let Some(next) = &cursor else { break };
            // A server that gives the same page again would go on for ever.
            if !seen.insert(next.clone()) || listed.entries.len() >= MOST_ENTRIES {
                tracing::warn!(list = list.key(), "the list does not end; the rest is left");
                break;
            }
        }
        listed.entries.truncate(MOST_ENTRIES);
        Ok(listed)
    }
}
