//! Graceful shutdown: calls finish, event streams are closed.

use futures_util::{Stream, StreamExt};
use tokio_util::sync::CancellationToken;

/// Signals that draining has begun. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draining(CancellationToken);

impl Draining {
    /// Begins to drain.
    pub(crate) fn begin(&self) {
        self.0.cancel();
    }

    /// Waits until draining begins.
    pub(crate) async fn begun(&self) {
        self.0.cancelled().await;
    }

    /// Ends an endless stream when draining begins.
    pub(crate) fn ends<S: Stream>(self, stream: S) -> impl Stream<Item = S::Item> {
        stream.take_until(self.0.cancelled_owned())
    }
}
