//! The latest calls, as they are read back.

use std::{sync::Arc, time::Duration};

use switchboard_toolcall::{BoxError, BoxFuture, ErrorKind};

use super::CallStart;

/// Reads back what was recorded.
pub trait CallHistory: Send + Sync {
    /// The latest calls, newest first, those still running included.
    fn recent(&self, most: usize) -> BoxFuture<'_, Result<Vec<RecordedCall>, BoxError>>;
}

/// The history of a recorder that cannot be read.
pub(crate) struct NoHistory;

impl CallHistory for NoHistory {
    fn recent(&self, _: usize) -> BoxFuture<'_, Result<Vec<RecordedCall>, BoxError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}

/// A record as it is read back.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedCall {
    /// What was known before it ran.
    pub start: Arc<CallStart>,
    /// The server that the tool belongs to.
    pub server: Option<Arc<str>>,
    /// How it ended, `None` while it runs: the kind of failure, or none, and how long it took.
    pub end: Option<(Option<ErrorKind>, Duration)>,
}
