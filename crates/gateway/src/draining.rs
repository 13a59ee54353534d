//! The time between being told to stop and the end: calls finish, who only watches is sent away.

use futures_util::{Stream, StreamExt};
use tokio_util::sync::CancellationToken;

/// Says when it is time. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draining(CancellationToken);

impl Draining {
    /// It is time.
    pub(crate) fn begin(&self) {
        self.0.cancel();
    }

    /// Waits until it is time.
    pub(crate) async fn begun(&self) {
        self.0.cancelled().await;
    }

    /// A stream that would never end by itself, and ends then.
    pub(crate) fn ends<S: Stream>(self, stream: S) -> impl Stream<Item = S::Item> {
        stream.take_until(self.0.cancelled_owned())
    }
}
