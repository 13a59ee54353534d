//! Reads recorded calls back.

use std::{sync::Arc, time::Duration};

use switchboard_toolcall::{BoxError, BoxFuture, ErrorKind};

use super::CallStart;

/// Reads recorded calls back.
pub trait CallHistory: Send + Sync {
    /// Returns the latest calls, newest first, including those still running.
    fn recent(&self, most: usize) -> BoxFuture<'_, Result<Vec<RecordedCall>, BoxError>>;

    /// Returns the names of the tools that a caller called, each once, in any order; `None` is who calls without a name. Takes
    /// no longer if others called a lot.
    fn called_by(&self, caller: Option<Arc<str>>)
    -> BoxFuture<'_, Result<Vec<Arc<str>>, BoxError>>;
}

/// The history of a recorder that cannot be read back.
pub(crate) struct NoHistory;

impl CallHistory for NoHistory {
    fn recent(&self, _: usize) -> BoxFuture<'_, Result<Vec<RecordedCall>, BoxError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    fn called_by(&self, _: Option<Arc<str>>) -> BoxFuture<'_, Result<Vec<Arc<str>>, BoxError>> {
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
    /// The error, if any, and the duration; `None` while the call runs.
    pub end: Option<(Option<ErrorKind>, Duration)>,
}
