//! The nodes that have reported calls, and when the last unread call of each began.

use std::{collections::HashMap, time::SystemTime};

use async_nats::jetstream::stream::{DirectGetErrorKind, Stream};
use futures_util::{StreamExt, TryStreamExt, stream};
use switchboard_audit::{CallStage, CallUpdate};
use switchboard_workers::{Cluster, Error};

use super::{
    list::{QueuedCalls, SKEW, began},
    subject, subjects,
};

/// How many nodes are queried by name; if there are more, reading on is as good.
const MANY: usize = 500;
/// How many queries run at once.
const AT_ONCE: usize = 16;

/// All nodes of the stream, queried when they are first needed.
pub(super) struct Nodes {
    cluster: Cluster,
    /// When the last call of each node began; `Some(None)` if there are too many nodes.
    last: Option<Option<HashMap<String, SystemTime>>>,
}

impl Nodes {
    pub(super) fn of(cluster: &Cluster) -> Self {
        Self { cluster: cluster.clone(), last: None }
    }

    /// Returns when the latest unread call began; `None` if that is unknown.
    ///
    /// It matters only if a node was behind and reported old calls recently: otherwise the time at which the servers received
    /// the oldest message that was read is enough, and nothing is queried.
    pub(super) async fn latest(
        &mut self,
        stream: &Stream,
        calls: &QueuedCalls,
        oldest: SystemTime,
    ) -> Result<Option<SystemTime>, Error> {
        if calls.begun.values().all(|began| *began + SKEW >= oldest) {
            return Ok(None);
        }
        if self.last.is_none() {
            self.last = Some(self.ask(stream).await?);
        }
        let Some(Some(last)) = &self.last else { return Ok(None) };
        let of_node =
            |(node, last): (&String, &SystemTime)| calls.begun.get(node).copied().unwrap_or(*last);
        Ok(last.iter().map(of_node).max())
    }

    async fn ask(&self, stream: &Stream) -> Result<Option<HashMap<String, SystemTime>>, Error> {
        let nodes = known(&self.cluster, stream).await?;
        if nodes.len() > MANY {
            return Ok(None);
        }
        let ask = async |node: String| {
            let last = last_update(&self.cluster, stream, &node).await.ok()??;
            Some((node, began(last.id)))
        };
        let asked = stream::iter(nodes).map(ask);
        let asked: Vec<_> = asked.buffer_unordered(AT_ONCE).collect().await;
        Ok(Some(asked.into_iter().flatten().collect()))
    }
}

/// Returns the ids of all nodes that have reported a call.
pub(super) async fn known(cluster: &Cluster, stream: &Stream) -> Result<Vec<String>, Error> {
    let refused = || Error::refused("tell which nodes there are");
    let found = stream.info_with_subjects(subjects(cluster, CallStage::Started)).await;
    let found = found.map_err(|error| refused()(error.into()))?;
    let found: Vec<(String, usize)> =
        found.try_collect().await.map_err(|error| refused()(error.into()))?;
    let node = |(subject, _): (String, usize)| {
        let (node, _) = subject.rsplit_once('.')?;
        Some(node.rsplit_once('.')?.1.to_owned())
    };
    Ok(found.into_iter().filter_map(node).collect())
}

/// Returns the last call that a node has reported, as it began; `None` if it was dropped meanwhile, or cannot be parsed.
pub(super) async fn last_update(
    cluster: &Cluster,
    stream: &Stream,
    node: &str,
) -> Result<Option<CallUpdate>, Error> {
    let subject = subject(cluster, node, CallStage::Started);
    match stream.direct_get_last_for_subject(subject).await {
        Ok(message) => Ok(serde_json::from_slice(&message.payload).ok()),
        Err(error) if error.kind() == DirectGetErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::refused("tell what a node reported last")(error.into())),
    }
}
