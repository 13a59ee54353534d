//! The state of the connection; each problem is logged once.

use std::sync::{Arc, Mutex, PoisonError};

use async_nats::Event;
use tokio::sync::watch;
use tracing::{info, warn};

/// The last problem of the connection, and how often it was made. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct ConnectionHealth {
    problem: Arc<Mutex<Option<String>>>,
    connected: watch::Sender<u64>,
}

impl ConnectionHealth {
    /// Returns the problem. `None` if connected, or before the first try.
    pub(crate) fn problem(&self) -> Option<String> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Counts the connections that were made.
    pub(crate) fn connected(&self) -> watch::Receiver<u64> {
        self.connected.subscribe()
    }

    /// Handles an event. Unreachable servers are retried every few seconds, and each problem is logged once.
    pub(crate) fn hear(&self, address: &str, event: &Event) {
        let problem = match event {
            Event::Connected => None,
            Event::Disconnected => Some("the connection was lost".to_owned()),
            Event::ClientError(error) => Some(plain(&error.to_string())),
            // Also a missing permission: the connection continues without it.
            Event::ServerError(error) => return warn!("NATS at {address} says: {error}"),
            Event::SlowConsumer(_) => {
                return warn!("NATS sends messages faster than they are read; some are lost");
            }
            _ => return,
        };
        let mut last = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        match &problem {
            None if last.is_some() => info!("NATS at {address} is back"),
            Some(problem) if last.as_ref() != Some(problem) => {
                warn!("NATS at {address} cannot be used: {problem}; retrying{}", hint(problem));
            }
            _ => {}
        }
        if problem.is_none() {
            self.connected.send_modify(|count| *count += 1);
        }
        *last = problem;
    }
}

/// Returns the library's message without its prefix.
fn plain(text: &str) -> String {
    text.strip_prefix("nats: ").unwrap_or(text).to_owned()
}

/// Returns what to do about a problem, if that is known.
pub(crate) fn hint(problem: &str) -> &'static str {
    match problem.contains("authorization") || problem.contains("authentication") {
        true => {
            " (check `credentials`, `token`, `nkey`, `user` and `password` of [cluster], and that the servers know them)"
        }
        false => "",
    }
}
