//! Answers questions of other nodes about the figures of this node's calls.

use bytes::Bytes;
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};
use switchboard_audit::{FigureQuery, FigureSums, Reader, StoreFolder, StoreNode};
use switchboard_toolcall::BoxError;
use switchboard_workers::{Cluster, Error, Purpose, transport::ClusterMessage, wire};
use tokio::task::{JoinHandle, spawn_blocking};
use tracing::debug;

use super::figures_subject;

/// How many questions are answered at once: each reads the index.
const AT_ONCE: usize = 2;
/// How many steps a question may have.
const MOST_STEPS: usize = 10_000;

/// The reply to a [`FigureQuery`].
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum FiguresReply {
    /// The node, and the sums of its calls.
    Sums(StoreNode, Box<FigureSums>),
    /// The name of the object that has the reply, which is too large for a message.
    Large(String),
    /// Why the node cannot answer.
    Refused(String),
}

/// Answers until it is dropped.
pub(super) struct AnsweringTask(JoinHandle<()>);

impl AnsweringTask {
    /// Starts to answer for the store in `folder`.
    ///
    /// # Errors
    /// Fails if NATS does not allow the subscription.
    pub(super) async fn start(
        cluster: &Cluster,
        folder: StoreFolder,
        node: StoreNode,
    ) -> Result<Self, Error> {
        let questions = cluster.subscribe(figures_subject(cluster, &node.id), None).await;
        let questions = questions.map_err(Error::refused("subscribe to questions"))?;
        let store = AnsweringStore { cluster: cluster.clone(), folder, node };
        let answer = async move {
            let answer = |question| store.answer(question);
            questions.for_each_concurrent(AT_ONCE, answer).await;
        };
        Ok(Self(tokio::spawn(answer)))
    }
}

impl Drop for AnsweringTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

struct AnsweringStore {
    cluster: Cluster,
    folder: StoreFolder,
    node: StoreNode,
}

impl AnsweringStore {
    async fn answer(&self, question: ClusterMessage) {
        let (signer, subject) = (self.cluster.signer(), &question.subject);
        let opened = signer.open(Purpose::Figures, &[subject], &question.payload);
        let refused = |error: &_| signer.refused(Purpose::Figures, subject, error);
        let Ok(opened) = opened.inspect_err(refused) else { return };
        let Some(inbox) = question.reply else { return };
        let sent = async {
            let reply = self.reply(&opened.body).await?;
            let reply = signer.sign(Purpose::FiguresReply, &[&inbox], &reply);
            self.cluster.publish(inbox, None, reply).await
        };
        if let Err(error) = sent.await {
            debug!(%error, "a question about figures has no answer");
        }
    }

    /// Returns the reply, as it is sent.
    async fn reply(&self, question: &Bytes) -> Result<Bytes, BoxError> {
        let reply = match self.sums(question).await {
            Ok(sums) => FiguresReply::Sums(self.node.clone(), Box::new(sums)),
            Err(error) => FiguresReply::Refused(error.to_string()),
        };
        let reply = wire::write(&reply)?;
        if !self.cluster.is_large(reply.len()) {
            return Ok(reply);
        }
        let name = self.cluster.lay_down(&reply).await?;
        Ok(wire::write(&FiguresReply::Large(name))?)
    }

    async fn sums(&self, question: &[u8]) -> Result<FigureSums, BoxError> {
        let query: FigureQuery = wire::read("a question about figures", question)?;
        if query.window.is_some_and(|window| window.steps > MOST_STEPS) {
            return Err(format!("there may be {MOST_STEPS} steps at most").into());
        }
        let folder = self.folder.clone();
        Ok(spawn_blocking(move || Reader::open(folder)?.sums(&query)).await??)
    }
}
