//! What is reported, as a stream.

use std::sync::Arc;

use futures_util::{Stream, stream};
use tokio::sync::broadcast::{Receiver, error::RecvError};

/// Everything that is reported from now on. What comes too fast is left out: who waits for it asks later.
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
