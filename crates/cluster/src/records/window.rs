//! Reads a range of the stream's messages.

use std::time::{Duration, SystemTime};

use async_nats::jetstream::{
    consumer::{Consumer, DeliverPolicy, pull},
    stream::Stream,
};
use futures_util::StreamExt;
use switchboard_audit::CallUpdate;
use switchboard_toolcall::BoxError;
use switchboard_workers::Error;
use tokio::time::timeout;
use tracing::debug;

/// How long to wait for the next message.
const PATIENCE: Duration = Duration::from_secs(10);

/// A message of the stream.
pub(super) struct StreamRecord {
    pub(super) sequence: u64,
    /// When the servers received it.
    pub(super) published: SystemTime,
    /// The update that it carries; `None` if it cannot be parsed.
    pub(super) received_update: Option<CallUpdate>,
}

/// Reads from a message on until the message `last`, or until `take` returns `false`: those of `subjects`, or all if there
/// are none.
pub(super) async fn read(
    stream: &Stream,
    from: DeliverPolicy,
    last: u64,
    subjects: Vec<String>,
    mut take: impl FnMut(StreamRecord) -> bool,
) -> Result<(), Error> {
    let refused = || Error::refused("read the records");
    let consumer = consumer(stream, from, subjects).await?;
    // There may be no message of the subjects: none would ever come.
    if consumer.cached_info().num_pending == 0 {
        return Ok(());
    }
    let messages = consumer.messages().await;
    let mut messages = messages.map_err(|error| refused()(error.into()))?;
    loop {
        let message = match timeout(PATIENCE, messages.next()).await {
            Ok(Some(Ok(message))) => message,
            Ok(Some(Err(error))) => return Err(refused()(error.into())),
            Ok(None) => return Ok(()),
            Err(elapsed) => return Err(refused()(elapsed.into())),
        };
        let (seen, pending) = seen(&message).map_err(refused())?;
        let is_last = seen.sequence >= last || pending == 0;
        // Messages after the last one are not part of the range.
        if seen.sequence > last || !take(seen) || is_last {
            return Ok(());
        }
    }
}

/// Returns the messages from a sequence on, in order, across reconnects.
pub(super) async fn ordered(
    stream: &Stream,
    from: DeliverPolicy,
    subjects: Vec<String>,
) -> Result<pull::Ordered, Error> {
    let messages = consumer(stream, from, subjects).await?.messages().await;
    messages.map_err(|error| Error::refused("read the records")(error.into()))
}

async fn consumer(
    stream: &Stream,
    from: DeliverPolicy,
    filter_subjects: Vec<String>,
) -> Result<Consumer<pull::OrderedConfig>, Error> {
    let config =
        pull::OrderedConfig { deliver_policy: from, filter_subjects, ..Default::default() };
    let created = stream.create_consumer(config).await;
    created.map_err(|error| Error::refused("read the records")(error.into()))
}

/// Parses a message, and returns how many come after it.
pub(super) fn seen(
    message: &async_nats::jetstream::Message,
) -> Result<(StreamRecord, u64), BoxError> {
    let about = message.info()?;
    let update = serde_json::from_slice::<CallUpdate>(&message.payload);
    if let Err(error) = &update {
        debug!(%error, sequence = about.stream_sequence, "a record cannot be parsed");
    }
    let seen = StreamRecord {
        sequence: about.stream_sequence,
        published: about.published.into(),
        received_update: update.ok(),
    };
    Ok((seen, about.pending))
}
