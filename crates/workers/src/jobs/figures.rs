//! How long the queues are: for metrics and people.

use std::time::Duration;

use super::Jobs;
use crate::{Error, names::token};

/// The queue of one group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// The group, as subjects name it: letters, digits, `-` and `_` as they are, others as `=XX`.
    pub group: String,
    /// How many calls wait for a worker: those that nobody has begun.
    pub waiting: u64,
    /// How many calls are with a worker, or wait for their next attempt.
    pub taken: u64,
    /// How long the oldest call that has not ended has been in the queue.
    pub oldest: Option<Duration>,
    /// How many of the calls that are taken were delivered more than once.
    pub redelivered: u64,
    /// How many dead letters there are.
    pub dead: u64,
}

impl Jobs {
    /// The queues of all groups that have one, by group. Asks the servers a few questions for each group.
    ///
    /// # Errors
    /// The servers cannot be reached.
    pub async fn figures(&self) -> Result<Vec<Figures>, Error> {
        self.cluster().queue().figures().await.map_err(Error::refused("tell of the queues"))
    }
}

impl Figures {
    /// Whether these are of this group.
    pub fn is_of(&self, group: &str) -> bool {
        self.group == token(group)
    }
}
