//! The settings of the MCP server.

use std::time::Duration;

use serde::Deserialize;
use switchboard_toolcall::{HumanDuration, HumanSize, ToolPatterns};

use crate::DiscoveryMode;

/// The settings of the MCP server: its `serverInfo`, and how much it stores for clients.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The `name` of `serverInfo`.
    pub name: String,
    /// The `title` of `serverInfo`, for people.
    pub title: String,
    /// The `version` of `serverInfo`.
    pub version: String,
    /// The `instructions` for clients.
    pub instructions: Option<String>,
    /// Which tools are listed.
    pub discovery: DiscoveryMode,
    /// The tools that are listed besides search.
    pub pinned: ToolPatterns,
    /// How many entries a page of a list has.
    pub page_size: usize,
    /// The largest message that is read.
    pub max_message: HumanSize,
    /// How many sessions are kept; beyond it, the caller with the most loses the one that was unused for longest.
    pub max_sessions: usize,
    /// How long an unused session is kept.
    pub idle_session: HumanDuration,
    /// For how long after it was opened a session may be adopted by another gateway, or after a restart.
    pub session_age: HumanDuration,
    /// How many events of a stream are kept for clients that come back.
    pub kept_events: usize,
    /// How long a request may take before its answer becomes a stream, which shows the client that we are there.
    pub stream_after: HumanDuration,
    /// How often a silent stream shows a sign of life.
    pub keep_alive: HumanDuration,
    /// How many calls wait for their client's input; one caller has at most half of that.
    pub max_held: usize,
    /// How long a call waits for its client's input.
    pub hold: HumanDuration,
    /// How long a call that can be queued may take before its client gets a task in the place of the answer.
    pub task_after: HumanDuration,
    /// The poll interval of tasks that clients are given.
    pub task_poll: HumanDuration,
    /// How long changes are collected before clients are notified.
    pub settle: HumanDuration,
    /// How long calls may still take when a client on stdio has said its last word.
    pub drain: HumanDuration,
}

impl Default for Config {
    fn default() -> Self {
        let seconds = |seconds| HumanDuration(Duration::from_secs(seconds));
        Self {
            name: "switchboard".to_owned(),
            title: "Switchboard".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instructions: None,
            discovery: DiscoveryMode::List,
            pinned: ToolPatterns::default(),
            page_size: 1000,
            max_message: HumanSize(4 << 20),
            max_sessions: 10_000,
            idle_session: seconds(30 * 60),
            session_age: seconds(24 * 60 * 60),
            kept_events: 256,
            stream_after: seconds(5),
            keep_alive: seconds(15),
            max_held: 1000,
            hold: seconds(10 * 60),
            task_after: HumanDuration(Duration::from_millis(500)),
            task_poll: seconds(1),
            settle: HumanDuration(Duration::from_millis(50)),
            drain: seconds(10),
        }
    }
}

impl Config {
    /// The largest message that is read, in bytes.
    pub(crate) fn max_message(&self) -> usize {
        usize::try_from(self.max_message.0).unwrap_or(usize::MAX)
    }
}
