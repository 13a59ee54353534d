//! Reports as a stream.

use std::sync::Arc;

use futures_util::{Stream, stream};
use tokio::sync::broadcast::{Receiver, error::RecvError};

/// Returns all reports from now on. A slow reader misses some, and polls later.
pub(crate) fn stream<T: Send + Sync + 'static>(
    receiver: Receiver<Arc<T>>,
) -> impl Stream<Item = Arc<T>> + Send {
    stream::unfold(receiver, |mut receiver| async {
        loop {
            match receiver.recv().await {
                Ok(report) => return Some((report, receiver)),
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    })
}
