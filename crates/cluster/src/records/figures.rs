//! Figures over all nodes: each sums its own calls; those of nodes that do not answer are read from the stream.

use std::{ops::ControlFlow, time::Duration};

use async_nats::jetstream::stream::Stream;
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use switchboard_audit::{
    FigureQuery, FigureSource, FigureSums, NodeFigures, RecordTest, SharedFigures, StoreNode,
};
use switchboard_toolcall::BoxError;
use switchboard_workers::{Cluster, Error, Purpose, wire};
use tokio::time::timeout;
use tracing::debug;

use super::{
    answers::FiguresReply,
    figures_subject,
    list::{ReadProgress, Records, SKEW, began},
    nodes, open,
};

/// How long a node may take to answer. NATS says at once if a node is not connected.
const PATIENCE: Duration = Duration::from_secs(3);
/// How many nodes are asked at once.
const AT_ONCE: usize = 64;

impl Records {
    /// Returns the sums of the calls that match, over all nodes that have shipped calls.
    ///
    /// # Errors
    /// Fails if NATS cannot be reached, or does not allow it.
    pub async fn figures(
        &self,
        query: &FigureQuery,
        passes: RecordTest<'_>,
        watch: impl FnMut(ReadProgress),
    ) -> Result<SharedFigures, Error> {
        let mut found = SharedFigures { sums: query.sums(), nodes: Vec::new() };
        let Some(stream) = open(&self.cluster).await? else { return Ok(found) };
        let question = wire::write(query)?;
        let ids = nodes::known(&self.cluster, &stream).await?;
        let ask = async |id: String| {
            let asked = timeout(PATIENCE, ask(&self.cluster, &id, &question)).await;
            (id, asked.unwrap_or_else(|elapsed| Err(elapsed.into())))
        };
        let mut answers = stream::iter(ids).map(ask).buffer_unordered(AT_ONCE);
        let mut silent = Vec::new();
        while let Some((id, answer)) = answers.next().await {
            let answer = answer.and_then(|(node, sums)| match found.sums.merge(sums) {
                true => Ok(node),
                false => Err("these are figures of another question".into()),
            });
            match answer {
                Ok(node) => found.nodes.push(NodeFigures { node, source: FigureSource::Node }),
                Err(error) => {
                    debug!(%error, node = id, "a node does not say its figures");
                    silent.push(id);
                }
            }
        }
        let silent = self.with_calls(&stream, silent, query).await?;
        let source = self.read_shipped(&silent, query, passes, watch, &mut found.sums).await?;
        found.nodes.extend(silent.into_iter().map(|node| NodeFigures { node, source }));
        found.nodes.sort_by(|one, other| one.node.cmp(&other.node));
        Ok(found)
    }

    /// Returns those of the nodes that may have a call that is asked for.
    async fn with_calls(
        &self,
        stream: &Stream,
        silent: Vec<String>,
        query: &FigureQuery,
    ) -> Result<Vec<StoreNode>, Error> {
        let since = query.filter().since;
        let look = async |id: String| {
            let last = nodes::last_update(&self.cluster, stream, &id).await?;
            let is_older = |id| since.is_some_and(|since| began(id) + SKEW < since);
            Ok(last.filter(|last| !is_older(last.id)).map(|last| last.node))
        };
        let found = stream::iter(silent).map(look).buffer_unordered(AT_ONCE);
        let found: Vec<Option<StoreNode>> = found.try_collect().await?;
        Ok(found.into_iter().flatten().collect())
    }

    /// Adds the calls that these nodes have shipped.
    async fn read_shipped(
        &self,
        nodes: &[StoreNode],
        query: &FigureQuery,
        passes: RecordTest<'_>,
        watch: impl FnMut(ReadProgress),
        sums: &mut FigureSums,
    ) -> Result<FigureSource, Error> {
        // Of no nodes, all would be read.
        if nodes.is_empty() {
            return Ok(FigureSource::Shipped);
        }
        let ids: Vec<_> = nodes.iter().map(|node| node.id.clone()).collect();
        let mut shipped = query.sums();
        let take = |detail: switchboard_audit::CallDetail| {
            shipped.add(&detail.record);
            ControlFlow::Continue(())
        };
        match self.each_of(&ids, &query.filter(), passes, watch, take).await {
            Ok(()) => {
                sums.merge(shipped);
                Ok(FigureSource::Shipped)
            }
            Err(Error::TooManyRecords { .. }) => Ok(FigureSource::Missing),
            Err(error) => Err(error),
        }
    }
}

/// Asks a node for its sums.
async fn ask(
    cluster: &Cluster,
    node: &str,
    question: &Bytes,
) -> Result<(StoreNode, FigureSums), BoxError> {
    let (signer, subject) = (cluster.signer(), figures_subject(cluster, node));
    let question = signer.sign(Purpose::Figures, &[&subject], question);
    let reply = cluster.request(subject, question).await?;
    let opened = signer.open(Purpose::FiguresReply, &[&reply.subject], &reply.payload);
    let refused = |error: &_| signer.refused(Purpose::FiguresReply, &reply.subject, error);
    let body = opened.inspect_err(refused)?.body;
    let read = |body: &Bytes| wire::read::<FiguresReply>("the figures of a node", body);
    let reply = match read(&body)? {
        FiguresReply::Large(name) => {
            let body = cluster.pick_up(&name).await?;
            cluster.take_away(&name).await;
            read(&body)?
        }
        reply => reply,
    };
    match reply {
        FiguresReply::Sums(node, sums) => Ok((node, *sums)),
        FiguresReply::Refused(reason) => Err(reason.into()),
        FiguresReply::Large(_) => Err("the object names another one".into()),
    }
}
