//! Streams that may be there or not.

use async_nats::jetstream::{self, context::GetStreamErrorKind, stream::Stream};
use switchboard_workers::{Cluster, Error};

/// The stream of that name; none where there is none.
///
/// # Errors
/// The servers cannot be reached, or do not allow it.
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
