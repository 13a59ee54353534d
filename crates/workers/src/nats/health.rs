//! How the connection is: what is wrong with it, said once.

use std::sync::{Arc, Mutex, PoisonError};

use async_nats::Event;
use tokio::sync::watch;
use tracing::{info, warn};

/// What was last wrong with the connection, and how often it was made. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Health {
    problem: Arc<Mutex<Option<String>>>,
    connected: watch::Sender<u64>,
}

impl Health {
    /// What is wrong; none while all is well, or nothing was tried yet.
    pub(crate) fn problem(&self) -> Option<String> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Counts how often a connection was made.
    pub(crate) fn connected(&self) -> watch::Receiver<u64> {
        self.connected.subscribe()
    }

    /// Hears of an event. Servers that are away are tried every few seconds, and each problem is logged once.
    pub(crate) fn hear(&self, address: &str, event: &Event) {
        let problem = match event {
            Event::Connected => None,
            Event::Disconnected => Some("the connection was lost".to_owned()),
            Event::ClientError(error) => Some(plain(&error.to_string())),
            // A permission that is missing, too: the connection goes on without it.
            Event::ServerError(error) => return warn!("NATS at {address} says: {error}"),
            Event::SlowConsumer(_) => return warn!("NATS says more than we can follow"),
            _ => return,
        };
        let mut last = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        match &problem {
            None if last.is_some() => info!("NATS at {address} is back"),
            Some(problem) if last.as_ref() != Some(problem) => {
                warn!(
                    "NATS at {address} cannot be used: {problem}; it is tried on{}",
                    hint(problem)
                );
            }
            _ => {}
        }
        if problem.is_none() {
            self.connected.send_modify(|count| *count += 1);
        }
        *last = problem;
    }
}

/// The words of the library without what it puts before them.
fn plain(text: &str) -> String {
    text.strip_prefix("nats: ").unwrap_or(text).to_owned()
}

/// What to do about it, where that is known.
pub(crate) fn hint(problem: &str) -> &'static str {
    match problem.contains("authorization") || problem.contains("authentication") {
        true => {
            " (check `credentials`, `token`, `nkey`, `user` and `password` of [cluster], and that the servers know them)"
        }
        false => "",
    }
}
