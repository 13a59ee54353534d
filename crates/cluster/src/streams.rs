//! Streams that may not exist.

use async_nats::jetstream::{self, context::GetStreamErrorKind, stream::Stream};
use switchboard_workers::{Cluster, Error};

/// Returns the stream with this name; `None` if it does not exist.
///
/// # Errors
/// Fails if NATS cannot be reached, or does not allow it.
pub async fn find(cluster: &Cluster, name: &str) -> Result<Option<Stream>, Error> {
    match cluster.nats()?.jetstream().get_stream(name).await {
        Ok(stream) => Ok(Some(stream)),
        Err(error) => match error.kind() {
            GetStreamErrorKind::JetStream(reason)
                if reason.error_code() == jetstream::ErrorCode::STREAM_NOT_FOUND =>
            {
                Ok(None)
            }
            _ => Err(Error::refused(format!("open the stream `{name}`"))(error.into())),
        },
    }
}
