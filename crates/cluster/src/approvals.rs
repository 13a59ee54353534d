//! The approval queue of a cluster: a call that is held at one gateway is seen, and decided, at every one.
//!
//! `ask.ID` is a question, with the gateway where it waits; `answer.ID` is laid down once and for all; `rule.TOOL.…` is what
//! people allowed for good. All lie in one bucket, so that a rule is known everywhere before its answer is.

mod own;

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use switchboard_approvals::{
    Added, Answer, Error, Pending, Place, Rule,
    place::{Ended, Laid},
};
use switchboard_toolcall::BoxFuture;
use switchboard_workers::{Bucket, Cluster, names, wire};
use tokio::{runtime::Handle, sync::Notify, time::sleep};

use crate::{
    gateways::Gateways,
    mirror::{Created, Mirror},
};
use own::Own;

/// How long it is known what became of a question.
const REMEMBERED: Duration = Duration::from_secs(24 * 60 * 60);
/// How long it is until something that NATS did not take is tried again.
const AGAIN: Duration = Duration::from_millis(500);

/// Where the questions of all gateways lie. Cheap to clone.
#[derive(Clone)]
pub struct ClusterApprovals(Arc<Inner>);

struct Inner {
    cluster: Cluster,
    mirror: Arc<Mirror>,
    gateways: Arc<Gateways>,
    own: Arc<Own>,
    bell: Notify,
    runtime: Handle,
}

/// A question that waits. Its arguments stay in the bucket no longer than that.
struct LaidQuestion {
    held: Option<own::Waits>,
    desk: ClusterApprovals,
    question: Pending,
}

impl Drop for LaidQuestion {
    fn drop(&mut self) {
        // First, so that who is about to lay it down sees that it is over.
        self.held = None;
        let Pending { id, expires, .. } = &self.question;
        self.desk.insist(id, *expires, |desk, id| async move {
            desk.0.mirror.erase(&format!("ask.{id}")).await
        });
    }
}

/// A question, and where it waits.
#[derive(Clone, Serialize, Deserialize)]
struct Asked {
    gateway: String,
    question: Pending,
}

impl ClusterApprovals {
    /// The desk of a cluster, for a process that runs in this runtime.
    pub fn new(cluster: &Cluster, gateways: Arc<Gateways>) -> Self {
        Self(Arc::new(Inner {
            cluster: cluster.clone(),
            mirror: Mirror::new(cluster, Bucket::Approvals),
            gateways,
            own: Arc::default(),
            bell: Notify::new(),
            runtime: Handle::current(),
        }))
    }

    /// What lies there.
    pub fn mirror(&self) -> &Arc<Mirror> {
        &self.0.mirror
    }

    /// Lets those who wait hear of answers. Ends only when dropped.
    pub async fn ring(self) {
        let mut changes = self.0.mirror.changes();
        while changes.changed().await.is_ok() {
            self.0.bell.notify_waiters();
        }
    }

    /// Removes what is a day old.
    ///
    /// # Errors
    /// NATS cannot be reached.
    pub async fn tidy(&self) -> Result<(), crate::Error> {
        let before = Timestamp::now().saturating_sub(REMEMBERED).unwrap_or(Timestamp::MIN);
        let mirror = &self.0.mirror;
        let asked = mirror.all::<Asked>("ask.").into_iter();
        let asked = asked.filter(|(_, asked)| asked.question.expires < before);
        let answered = mirror.all::<Answer>("answer.").into_iter();
        let answered = answered.filter(|(_, answer)| answer.decided < before);
        for key in asked.map(|(key, _)| key).chain(answered.map(|(key, _)| key)) {
            mirror.erase(&key).await?;
        }
        Ok(())
    }

    /// Lays an answer down, unless there is one.
    async fn settle(&self, id: &str, answer: &Answer) -> Result<Option<Answer>, crate::Error> {
        // Nobody would believe it.
        self.0.mirror.check_key(&format!("ask.{id}"))?;
        match self.0.mirror.create(&format!("answer.{id}"), answer).await? {
            Created::Now => Ok(None),
            Created::Before(earlier) => Ok(Some(wire::read("an answer", &earlier)?)),
        }
    }

    /// Does something until it works, as long as the question can be answered.
    fn insist<F>(
        &self,
        id: &str,
        until: Timestamp,
        work: impl Fn(Self, String) -> F + Send + 'static,
    ) where
        F: Future<Output = Result<(), crate::Error>> + Send,
    {
        let (desk, id) = (self.clone(), id.to_owned());
        self.0.runtime.spawn(async move {
            while let Err(error) = work(desk.clone(), id.clone()).await {
                let is_over = Timestamp::now() > until;
                untold(&error, &id, is_over);
                if is_over {
                    return;
                }
                sleep(AGAIN).await;
            }
        });
    }

    fn check_size(&self, question: &Pending) -> Result<(), crate::Error> {
        let size = wire::write(question)?.len();
        let most = self.0.cluster.client().server_info().max_payload / 2;
        // Before the first connection nobody has said how much it is.
        match most > 0 && size > most {
            true => Err(crate::Error::TooLarge { size, most }),
            false => Ok(()),
        }
    }
}

impl Place for ClusterApprovals {
    fn bell(&self) -> &Notify {
        &self.0.bell
    }

    fn lay(&self, question: &Pending) -> Result<Laid, Error> {
        self.check_size(question).map_err(failed("ask a person"))?;
        let held = self.0.own.hold(question.clone());
        self.insist(&question.id, question.expires, |desk, id| async move {
            // It may be over before anybody heard of it.
            let Some(question) = desk.0.own.get(&id) else { return Ok(()) };
            let gateway = desk.0.gateways.own().to_owned();
            let key = format!("ask.{id}");
            desk.0.mirror.put(&key, &Asked { gateway, question }).await?;
            match desk.0.own.get(&id) {
                Some(_) => Ok(()),
                None => desk.0.mirror.erase(&key).await,
            }
        });
        Ok(Box::new(LaidQuestion {
            held: Some(held),
            desk: self.clone(),
            question: question.clone(),
        }))
    }

    fn questions(&self) -> Result<Vec<Pending>, Error> {
        self.0.mirror.check_known().map_err(failed("read the approvals of all gateways"))?;
        let (mirror, gateways) = (&self.0.mirror, &self.0.gateways);
        let asked = mirror.all::<Asked>("ask.").into_iter().map(|(_, asked)| asked);
        // Our own are those that wait, not those that once did.
        let foreign = asked.filter(|asked| asked.gateway != gateways.own());
        let foreign = foreign.filter(|asked| gateways.is_there(&asked.gateway));
        let mut questions = self.0.own.all();
        questions.extend(foreign.map(|asked| asked.question));
        Ok(questions)
    }

    fn question(&self, id: &str) -> Result<Option<Pending>, Error> {
        Ok(self.questions()?.into_iter().find(|question| question.id == id))
    }

    fn answer(&self, id: &str) -> Result<Option<Answer>, Error> {
        Ok(self.0.mirror.get(&format!("answer.{id}")))
    }

    fn answer_once(&self, id: &str, answer: &Answer) -> Result<Option<Answer>, Error> {
        let settled = self.0.runtime.block_on(self.settle(id, answer));
        settled.map_err(failed("tell all gateways what was decided"))
    }

    fn end<'a>(&'a self, id: &'a str, answer: &'a Answer) -> BoxFuture<'a, Ended> {
        Box::pin(async move {
            match self.settle(id, answer).await {
                Ok(earlier) => Ok(earlier),
                // The call ends all the same: nobody whom we can hear has allowed it.
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

    fn withdraw(&self, id: &str, answer: Answer) {
        let until = self.0.own.get(id).map_or_else(Timestamp::now, |question| question.expires);
        self.insist(id, until, move |desk, id| {
            let answer = answer.clone();
            async move { desk.settle(&id, &answer).await.map(drop) }
        });
    }

    fn rules(&self) -> Result<Vec<Rule>, Error> {
        self.0.mirror.check_known().map_err(failed("read the rules of all gateways"))?;
        let mut rules: Vec<Rule> =
            self.0.mirror.all("rule.").into_iter().map(|(_, rule)| rule).collect();
        rules.sort_by_key(|rule| rule.created);
        Ok(rules)
    }

    fn add_rule(&self, rule: Rule) -> Result<Added, Error> {
        let added = self.0.runtime.block_on(async {
            match self.0.mirror.create(&key(&rule), &rule).await? {
                Created::Now => Ok(Added::New(rule)),
                Created::Before(known) => Ok(Added::Known(wire::read("a rule", &known)?)),
            }
        });
        added.map_err(failed("keep a rule for all gateways"))
    }

    fn forget_rule(&self, id: &str) -> Result<Rule, Error> {
        let rule = self.rules()?.into_iter().find(|rule| rule.id == id);
        let rule = rule.ok_or_else(|| Error::NoRule(id.to_owned()))?;
        let removed = self.0.runtime.block_on(self.0.mirror.remove(&key(&rule)));
        removed.map_err(failed("forget a rule at all gateways"))?;
        Ok(rule)
    }

    /// The fleet does it by itself.
    fn sweep(&self) {}
}

fn untold(error: &crate::Error, id: &str, for_good: bool) {
    let error = error as &dyn std::error::Error;
    match for_good {
        true => tracing::warn!(error, id, "other gateways do not know of an approval"),
        false => tracing::debug!(error, id, "other gateways do not know of an approval yet"),
    }
}

/// Rules that allow the same lie in the same place, so that there is one of them.
fn key(rule: &Rule) -> String {
    let (tool, arguments) = (names::token(&rule.tool), rule.fingerprint().unwrap_or("any"));
    match rule.is_bound() {
        true => format!("rule.{tool}.{arguments}.{}", names::token(&rule.binding())),
        // As rules lay before they knew a tool's definition.
        false => format!("rule.{tool}.{arguments}"),
    }
}

fn failed(what: &str) -> impl FnOnce(crate::Error) -> Error {
    let what = format!("failed to {what}");
    move |source| Error::Place { what: format!("{what}: {source}"), source: source.into() }
}
