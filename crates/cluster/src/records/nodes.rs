//! The nodes that have told of calls, and how late the calls began that each told of before.

use std::{collections::HashMap, time::SystemTime};

use async_nats::jetstream::stream::Stream;
use futures_util::{StreamExt, TryStreamExt, stream};
use switchboard_audit::{CallStage, CallUpdate};
use switchboard_workers::{Cluster, Error};

use super::{
    list::{Calls, SKEW, began},
    subject, subjects,
};

/// How many nodes are asked about by name; where there are more, reading on is no worse.
const MANY: usize = 500;
/// How many are asked about at once.
const AT_ONCE: usize = 16;

/// All nodes of the stream, asked for when they are first needed.
pub(super) struct Nodes {
    cluster: Cluster,
    /// When the last call of each node began; none where there are too many.
    last: Option<Option<HashMap<String, SystemTime>>>,
}

impl Nodes {
    pub(super) fn of(cluster: &Cluster) -> Self {
        Self { cluster: cluster.clone(), last: None }
    }

    /// When the latest call began that was not read yet; none where that cannot be said.
    ///
    /// It matters only where a node was behind and told of old calls lately: else the time at which the servers took the
    /// oldest message that was read says enough, and nothing is asked for.
    pub(super) async fn latest(
        &mut self,
        stream: &Stream,
        calls: &Calls,
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
        let refused = || Error::refused("tell which nodes there are");
        let wanted = subjects(&self.cluster, CallStage::Started);
        let found = stream.info_with_subjects(wanted).await;
        let found = found.map_err(|error| refused()(error.into()))?;
        let found: Vec<(String, usize)> =
            found.try_collect().await.map_err(|error| refused()(error.into()))?;
        if found.len() > MANY {
            return Ok(None);
        }
        let node = |(subject, _): (String, usize)| {
            let (node, _) = subject.rsplit_once('.')?;
            Some(node.rsplit_once('.')?.1.to_owned())
        };
        let ask = async |node: String| {
            let subject = subject(&self.cluster, &node, CallStage::Started);
            // What was dropped in the meantime is no call that is still to be read.
            let message = stream.direct_get_last_for_subject(subject).await.ok()?;
            let told = serde_json::from_slice::<CallUpdate>(&message.payload).ok()?;
            Some((node, began(told.id)))
        };
        let asked = stream::iter(found.into_iter().filter_map(node)).map(ask);
        let asked: Vec<_> = asked.buffer_unordered(AT_ONCE).collect().await;
        Ok(Some(asked.into_iter().flatten().collect()))
    }
}
