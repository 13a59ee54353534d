//! The stream as a destination of a node's journal.

use std::time::Duration;

use async_nats::{HeaderMap, header::NATS_MESSAGE_ID, jetstream::message::PublishMessage};
use futures_util::future::try_join_all;
use switchboard_audit::{CallUpdate, ExportTarget, RecordDestination, StoreFolder, StoreNode};
use switchboard_toolcall::{BoxError, BoxFuture};
use switchboard_workers::{Cluster, Error};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::{answers::AnsweringTask, make, subject};

/// How often the connection is checked, and how often by a process that is about to end.
const LOOKS: (Duration, Duration) = (Duration::from_millis(200), Duration::from_millis(5));
/// How large a message may be, even if the servers accept larger ones.
const LARGEST: usize = 256 << 10;

/// The stream of all nodes' records. While a node ships to it, that answers questions about its figures.
pub struct RecordStream {
    cluster: Cluster,
    folder: StoreFolder,
    max_age: Duration,
}

impl RecordStream {
    /// Creates the destination of the store in `folder`; messages older than `max_age` leave the stream.
    pub fn new(cluster: Cluster, folder: impl Into<StoreFolder>, max_age: Duration) -> Self {
        Self { cluster, folder: folder.into(), max_age }
    }

    /// Waits until NATS is connected: nothing is sent without a connection. A process that is about to end does not wait if the
    /// connection is known to have failed.
    async fn connected(&self, stop: &CancellationToken) -> Result<(), BoxError> {
        while !self.cluster.is_connected() {
            if stop.is_cancelled() && self.cluster.problem().is_some() {
                return Err(format!("NATS at {} is away", self.cluster.address()).into());
            }
            match stop.is_cancelled() {
                true => sleep(LOOKS.1).await,
                false => tokio::select! {
                    () = sleep(LOOKS.0) => {}
                    () = stop.cancelled() => {}
                },
            }
        }
        Ok(())
    }

    /// Sends all updates, and waits until the servers have acknowledged them.
    async fn publish(&self, updates: &[CallUpdate]) -> Result<(), Error> {
        let refused = || Error::refused("take records");
        if !self.cluster.is_connected() {
            return Err(refused()(format!("it is away from {}", self.cluster.address()).into()));
        }
        // Leaves room for the subject and the headers.
        let most = self.cluster.max_payload().saturating_sub(1024).min(LARGEST);
        let mut acknowledged = Vec::with_capacity(updates.len());
        for update in updates {
            let mut headers = HeaderMap::new();
            let id = format!("{}.{}.{}", update.node.id, update.id, update.stage.as_str());
            headers.insert(NATS_MESSAGE_ID, id);
            let message =
                PublishMessage::build().headers(headers).payload(update.to_json(most).into());
            let subject = subject(&self.cluster, &update.node.id, update.stage);
            let sent = self.cluster.nats()?.jetstream().send_publish(subject, message).await;
            acknowledged.push(sent.map_err(|error| refused()(error.into()))?.into_future());
        }
        try_join_all(acknowledged).await.map_err(|error| refused()(error.into()))?;
        Ok(())
    }
}

impl RecordDestination for RecordStream {
    fn target(&self) -> ExportTarget {
        ExportTarget::Cluster
    }

    fn name(&self) -> String {
        "the cluster".to_owned()
    }

    fn open<'a>(
        &'a self,
        node: &'a StoreNode,
        stop: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Box<dyn Send>, BoxError>> {
        Box::pin(async move {
            self.connected(stop).await?;
            make(&self.cluster, self.max_age).await?;
            // Who ships a store is the one process that answers for it.
            let answers = AnsweringTask::start(&self.cluster, self.folder.clone(), node.clone());
            Ok(Box::new(answers.await?) as Box<dyn Send>)
        })
    }

    fn send<'a>(&'a self, updates: &'a [CallUpdate]) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(async move { Ok(self.publish(updates).await?) })
    }
}
