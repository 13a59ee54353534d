//! Queue lengths, for metrics and people.

use std::time::Duration;

use super::Jobs;
use crate::{Error, names::token};

/// The queue of one group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueFigures {
    /// The group, escaped as in subjects: letters, digits, `-` and `_` as they are, others as `=XX`.
    pub group: String,
    /// How many calls wait for their first attempt.
    pub waiting: u64,
    /// How many calls run or wait for their next attempt.
    pub taken: u64,
    /// The age of the oldest call that has not ended.
    pub oldest: Option<Duration>,
    /// How many of the running calls were delivered more than once.
    pub redelivered: u64,
    /// How many dead letters there are.
    pub dead: u64,
}

impl Jobs {
    /// Returns the queues of all groups that have one, by group. Needs a few requests for each group.
    ///
    /// # Errors
    /// The servers cannot be reached.
    pub async fn figures(&self) -> Result<Vec<QueueFigures>, Error> {
        self.cluster().queue().figures().await.map_err(Error::refused("tell of the queues"))
    }
}

impl QueueFigures {
    /// Returns whether these belong to this group.
    pub fn is_of(&self, group: &str) -> bool {
        self.group == token(group)
    }
}
