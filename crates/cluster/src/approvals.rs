//! The approval queue of a cluster: a call that is held at one gateway is seen, and decided, at every one.
//!
//! `ask.ID` is a held call, with the gateway that holds it; `answer.ID` is written once and never changed; `rule.TOOL.…` is a
//! standing approval. All are in one bucket, so that every gateway knows a rule before the decision that created it.

mod own;

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use switchboard_approvals::{
    AddedRule, AllowRule, ApprovalOutcome, ApprovalStore, EarlierOutcome, Error, PendingApproval,
    PendingGuard,
};
use switchboard_toolcall::BoxFuture;
use switchboard_workers::{Bucket, Cluster, names, wire};
use tokio::{runtime::Handle, sync::Notify, time::sleep};

use crate::{
    gateways::Gateways,
    mirror::{CreateOutcome, Mirror},
};
use own::OwnApprovals;

/// How long the outcome of a request is stored.
const REMEMBERED: Duration = Duration::from_secs(24 * 60 * 60);
/// How long to wait before an operation that NATS refused is tried again.
const AGAIN: Duration = Duration::from_millis(500);

/// The approval queue of all gateways. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ClusterApprovals(Arc<ClusterApprovalsInner>);

struct ClusterApprovalsInner {
    cluster: Cluster,
    mirror: Arc<Mirror>,
    gateways: Arc<Gateways>,
    own: Arc<OwnApprovals>,
    changed: Notify,
    runtime: Handle,
}

/// A held call of this gateway. Its arguments are removed from the bucket when this is dropped.
struct PendingApprovalGuard {
    held: Option<own::OwnApprovalGuard>,
    queue: ClusterApprovals,
    question: PendingApproval,
}

impl Drop for PendingApprovalGuard {
    fn drop(&mut self) {
        // First, so that a concurrent decision sees that the call has ended.
        self.held = None;
        let PendingApproval { id, expires, .. } = &self.question;
        self.queue.insist(id, *expires, |queue, id| async move {
            queue.0.mirror.erase(&format!("ask.{id}")).await
        });
    }
}

/// A held call, and the gateway that holds it.
#[derive(Clone, Serialize, Deserialize)]
struct QueuedQuestion {
    gateway: String,
    question: PendingApproval,
}

impl ClusterApprovals {
    /// Creates the queue of a cluster. Must be called within a tokio runtime.
    pub(crate) fn new(cluster: &Cluster, gateways: Arc<Gateways>) -> Self {
        Self(Arc::new(ClusterApprovalsInner {
            cluster: cluster.clone(),
            mirror: Mirror::new(cluster, Bucket::Approvals),
            gateways,
            own: Arc::default(),
            changed: Notify::new(),
            runtime: Handle::current(),
        }))
    }

    /// Returns the mirror of the bucket.
    pub(crate) fn mirror(&self) -> &Arc<Mirror> {
        &self.0.mirror
    }

    /// Notifies waiting calls of decisions. Ends only when dropped.
    pub(crate) async fn ring(self) {
        let mut changes = self.0.mirror.changes();
        while changes.changed().await.is_ok() {
            self.0.changed.notify_waiters();
        }
    }

    /// Removes entries older than a day.
    ///
    /// # Errors
    /// Fails if NATS cannot be reached.
    pub(crate) async fn tidy(&self) -> Result<(), crate::Error> {
        let before = Timestamp::now().saturating_sub(REMEMBERED).unwrap_or(Timestamp::MIN);
        let mirror = &self.0.mirror;
        let asked = mirror.all::<QueuedQuestion>("ask.").into_iter();
        let asked = asked.filter(|(_, asked)| asked.question.expires < before);
        let answered = mirror.all::<ApprovalOutcome>("answer.").into_iter();
        let answered = answered.filter(|(_, answer)| answer.decided < before);
        for key in asked.map(|(key, _)| key).chain(answered.map(|(key, _)| key)) {
            mirror.erase(&key).await?;
        }
        Ok(())
    }

    /// Stores a decision, unless there is one already.
    async fn settle(
        &self,
        id: &str,
        answer: &ApprovalOutcome,
    ) -> Result<Option<ApprovalOutcome>, crate::Error> {
        // Other gateways would not accept a decision without a valid signature.
        self.0.mirror.check_key(&format!("ask.{id}"))?;
        match self.0.mirror.create(&format!("answer.{id}"), answer).await? {
            CreateOutcome::Now => Ok(None),
            CreateOutcome::Before(earlier) => Ok(Some(wire::read("an answer", &earlier)?)),
        }
    }

    /// Retries an operation until it succeeds, as long as the held call can be decided.
    fn insist<F>(
        &self,
        id: &str,
        until: Timestamp,
        work: impl Fn(Self, String) -> F + Send + 'static,
    ) where
        F: Future<Output = Result<(), crate::Error>> + Send,
    {
        let (queue, id) = (self.clone(), id.to_owned());
        self.0.runtime.spawn(async move {
            while let Err(error) = work(queue.clone(), id.clone()).await {
                let is_over = Timestamp::now() > until;
                untold(&error, &id, is_over);
                if is_over {
                    return;
                }
                sleep(AGAIN).await;
            }
        });
    }

    fn check_size(&self, question: &PendingApproval) -> Result<(), crate::Error> {
        let size = wire::write(question)?.len();
        let most = self.0.cluster.max_payload() / 2;
        // The limit is unknown before the first connection.
        match most > 0 && size > most {
            true => Err(crate::Error::TooLarge { size, most }),
            false => Ok(()),
        }
    }
}

impl ApprovalStore for ClusterApprovals {
    fn changed(&self) -> &Notify {
        &self.0.changed
    }

    fn insert(&self, question: &PendingApproval) -> Result<PendingGuard, Error> {
        self.check_size(question).map_err(failed("ask a person"))?;
        let held = self.0.own.hold(question.clone());
        self.insist(&question.id, question.expires, |queue, id| async move {
            // The call may have ended before it was seen.
            let Some(question) = queue.0.own.get(&id) else { return Ok(()) };
            let gateway = queue.0.gateways.own().to_owned();
            let key = format!("ask.{id}");
            queue.0.mirror.put(&key, &QueuedQuestion { gateway, question }).await?;
            match queue.0.own.get(&id) {
                Some(_) => Ok(()),
                None => queue.0.mirror.erase(&key).await,
            }
        });
        Ok(Box::new(PendingApprovalGuard {
            held: Some(held),
            queue: self.clone(),
            question: question.clone(),
        }))
    }

    fn pending(&self) -> Result<Vec<PendingApproval>, Error> {
        self.0.mirror.check_known().map_err(failed("read the approvals of all gateways"))?;
        let (mirror, gateways) = (&self.0.mirror, &self.0.gateways);
        let asked = mirror.all::<QueuedQuestion>("ask.").into_iter().map(|(_, asked)| asked);
        // Our own held calls are those in memory; entries of ended ones may still be in the bucket.
        let foreign = asked.filter(|asked| asked.gateway != gateways.own());
        let foreign = foreign.filter(|asked| gateways.is_there(&asked.gateway));
        let mut questions = self.0.own.all();
        questions.extend(foreign.map(|asked| asked.question));
        Ok(questions)
    }

    fn find(&self, id: &str) -> Result<Option<PendingApproval>, Error> {
        Ok(self.pending()?.into_iter().find(|question| question.id == id))
    }

    fn outcome(&self, id: &str) -> Result<Option<ApprovalOutcome>, Error> {
        Ok(self.0.mirror.get(&format!("answer.{id}")))
    }

    fn decide_once(
        &self,
        id: &str,
        answer: &ApprovalOutcome,
    ) -> Result<Option<ApprovalOutcome>, Error> {
        let settled = self.0.runtime.block_on(self.settle(id, answer));
        settled.map_err(failed("tell all gateways what was decided"))
    }

    fn expire<'a>(
        &'a self,
        id: &'a str,
        answer: &'a ApprovalOutcome,
    ) -> BoxFuture<'a, EarlierOutcome> {
        Box::pin(async move {
            match self.settle(id, answer).await {
                Ok(earlier) => Ok(earlier),
                // The call is not run: no reachable gateway has allowed it.
                Err(error) => {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        id,
                        "ended here alone"
                    );
                    self.withdraw(id, answer.clone());
                    Ok(None)
                }
            }
        })
    }

    fn withdraw(&self, id: &str, answer: ApprovalOutcome) {
        let until = self.0.own.get(id).map_or_else(Timestamp::now, |question| question.expires);
        self.insist(id, until, move |queue, id| {
            let answer = answer.clone();
            async move { queue.settle(&id, &answer).await.map(drop) }
        });
    }

    fn rules(&self) -> Result<Vec<AllowRule>, Error> {
        self.0.mirror.check_known().map_err(failed("read the rules of all gateways"))?;
        let mut rules: Vec<AllowRule> =
            self.0.mirror.all("rule.").into_iter().map(|(_, rule)| rule).collect();
        rules.sort_by_key(|rule| rule.created);
        Ok(rules)
    }

    fn add_rule(&self, rule: AllowRule) -> Result<AddedRule, Error> {
        let added = self.0.runtime.block_on(async {
            match self.0.mirror.create(&key(&rule), &rule).await? {
                CreateOutcome::Now => Ok(AddedRule::New(rule)),
                CreateOutcome::Before(known) => {
                    Ok(AddedRule::Existing(wire::read("a rule", &known)?))
                }
            }
        });
        added.map_err(failed("keep a rule for all gateways"))
    }

    fn forget_rule(&self, id: &str) -> Result<AllowRule, Error> {
        let rule = self.rules()?.into_iter().find(|rule| rule.id == id);
        let rule = rule.ok_or_else(|| Error::UnknownRule(id.to_owned()))?;
        let removed = self.0.runtime.block_on(self.0.mirror.remove(&key(&rule)));
        removed.map_err(failed("forget a rule at all gateways"))?;
        Ok(rule)
    }

    /// Not needed: the cluster expires entries.
    fn sweep(&self) {}
}

fn untold(error: &crate::Error, id: &str, for_good: bool) {
    let error = error as &dyn std::error::Error;
    match for_good {
        true => tracing::warn!(error, id, "other gateways do not know of an approval"),
        false => tracing::debug!(error, id, "other gateways do not know of an approval yet"),
    }
}

/// Returns the key of a rule. Rules that allow the same have the same key, so that there is only one of them.
fn key(rule: &AllowRule) -> String {
    let (tool, arguments) = (names::token(&rule.tool), rule.fingerprint().unwrap_or("any"));
    match rule.is_bound() {
        true => format!("rule.{tool}.{arguments}.{}", names::token(&rule.binding())),
        // The key of rules from before they were bound to a tool's definition.
        false => format!("rule.{tool}.{arguments}"),
    }
}

fn failed(what: &str) -> impl FnOnce(crate::Error) -> Error {
    let what = format!("failed to {what}");
    move |source| Error::Store { what: format!("{what}: {source}"), source: source.into() }
}
