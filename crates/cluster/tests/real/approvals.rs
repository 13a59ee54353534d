//! A call that is held at one gateway is decided at any, once.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use switchboard_approvals::{
    ApprovalDecision, ApprovalQueue, Decider, Error, ResolvedApproval, RuleScope,
};
use switchboard_cluster::ClusterView;
use switchboard_runtime::{
    PolicyConfig, RulePolicy, Ruling, ToolExecutor,
    toolcall::{ErrorKind, HumanDuration, ToolResult},
};
use switchboard_testkit::Fake;
use switchboard_workers::Bucket;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::{TestCluster, TestNode, until};

/// A gateway whose every call waits for a person.
pub(crate) struct ApprovalSetup {
    executor: ToolExecutor,
    pub(crate) queue: Arc<ApprovalQueue>,
    member: TestNode,
}

impl ApprovalSetup {
    pub(crate) async fn new(test_cluster: &TestCluster, name: &str, within: Duration) -> Self {
        let member = test_cluster.member(name).await;
        let queue = Arc::new(member.state.queue());
        let ask_timeout = HumanDuration(within);
        let config = PolicyConfig { ask: vec!["*".to_owned()], ask_timeout, ..Default::default() };
        let policy = RulePolicy::new(config).unwrap();
        let executor = ToolExecutor::builder().policy(policy).approver(queue.clone()).build();
        executor.tools().add(Fake::echoes("act")).unwrap();
        Self { executor, queue, member }
    }

    pub(crate) fn call(&self, args: Value) -> JoinHandle<ToolResult> {
        let executor = self.executor.clone();
        tokio::spawn(async move { executor.call("act", args).await })
    }

    /// The one call that waits, as this gateway sees it.
    pub(crate) async fn waiting(&self) -> String {
        until("a call waits", async || self.queue.pending().unwrap().len() == 1).await;
        self.queue.pending().unwrap().remove(0).id
    }

    pub(crate) async fn decide(&self, id: &str, allow: bool) -> Result<ResolvedApproval, Error> {
        decide(&self.queue, id, allow, None).await
    }
}

pub(crate) async fn decide(
    queue: &Arc<ApprovalQueue>,
    id: &str,
    allow: bool,
    remember: Option<RuleScope>,
) -> Result<ResolvedApproval, Error> {
    let (queue, id) = (queue.clone(), id.to_owned());
    let (by, decider) = ("ada".to_owned(), Decider::Named("ada".to_owned()));
    let verdict = ApprovalDecision { allow, by, decider, reason: None, remember };
    spawn_blocking(move || queue.decide(&id, verdict)).await.unwrap()
}

pub(crate) const LATER: Duration = Duration::from_secs(600);

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_those_who_decide_anywhere_one_wins() {
    let test_cluster = TestCluster::new();
    let one = ApprovalSetup::new(&test_cluster, "one", LATER).await;
    let two = ApprovalSetup::new(&test_cluster, "two", LATER).await;
    for round in 0..10 {
        let called = one.call(json!({"round": round}));
        let id = two.waiting().await;
        let (yes, no) = tokio::join!(one.decide(&id, true), two.decide(&id, false));
        let is_allowed = match (&yes, &no) {
            (Ok(_), Err(Error::Closed { outcome, .. })) => outcome.decision == Ruling::Allow,
            (Err(Error::Closed { outcome, .. }), Ok(_)) => outcome.decision != Ruling::Deny,
            other => panic!("{other:?}"),
        };
        assert_eq!(called.await.unwrap().is_success(), is_allowed, "{round}");
        let again = two.decide(&id, true).await.unwrap_err();
        assert!(matches!(again, Error::Closed { .. }), "{again}");
        until("nothing waits", async || two.queue.pending().unwrap().is_empty()).await;
    }
}

// PO-2: who decides elsewhere sees all arguments, which stay in the bucket no longer than the call waits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn arguments_lie_in_the_bucket_for_as_long_as_their_call_waits() {
    let test_cluster = TestCluster::new();
    let one = ApprovalSetup::new(&test_cluster, "one", LATER).await;
    let two = ApprovalSetup::new(&test_cluster, "two", LATER).await;
    let called = one.call(json!({"password": "hush"}));
    let id = two.waiting().await;
    let pending = two.queue.pending().unwrap().remove(0);
    assert_eq!(pending.arguments.get(), r#"{"password":"hush"}"#);
    let cluster = test_cluster.cluster().await;
    let bucket = cluster.bucket(Bucket::Approvals).await.unwrap();
    let key = format!("ask.{id}");
    assert!(bucket.get(&key).await.unwrap().is_some());
    two.decide(&id, true).await.unwrap();
    assert!(called.await.unwrap().is_success());
    until("they are gone", async || bucket.get(&key).await.unwrap().is_none()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rules_hold_everywhere_and_are_there_before_their_answer() {
    let test_cluster = TestCluster::new();
    let one = ApprovalSetup::new(&test_cluster, "one", LATER).await;
    let two = ApprovalSetup::new(&test_cluster, "two", LATER).await;
    let mut visit = ClusterView::new(&test_cluster.cluster().await);
    let command = Arc::new(visit.queue().await.unwrap());
    for number in 0..5 {
        let called = one.call(json!({"number": number}));
        let id = two.waiting().await;
        decide(&two.queue, &id, true, Some(RuleScope::Arguments)).await.unwrap();
        assert!(called.await.unwrap().is_success());
        // Who hears that it was allowed for good may call again at once.
        assert!(one.call(json!({"number": number})).await.unwrap().is_success());
    }
    until("the command knows", async || command.rules().unwrap().len() == 5).await;
    let rule = command.rules().unwrap().remove(0);
    let (queue, id) = (command.clone(), rule.id.clone());
    spawn_blocking(move || queue.forget(&id)).await.unwrap().unwrap();
    until("it is forgotten", async || one.queue.rules().unwrap().len() == 4).await;
    let called = one.call(json!({"number": 0}));
    let id = two.waiting().await;
    two.decide(&id, false).await.unwrap();
    assert_eq!(called.await.unwrap().error_kind(), Some(ErrorKind::Denied));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_over_where_it_waits_is_over_everywhere() {
    let test_cluster = TestCluster::new();
    let short = ApprovalSetup::new(&test_cluster, "short", Duration::from_secs(3)).await;
    let two = ApprovalSetup::new(&test_cluster, "two", LATER).await;
    // The time is over.
    assert!(!short.call(json!({})).await.unwrap().is_success());
    // The caller gives up.
    let one = ApprovalSetup::new(&test_cluster, "one", LATER).await;
    let called = one.call(json!({}));
    let id = two.waiting().await;
    called.abort();
    until("it is withdrawn", async || two.queue.pending().unwrap().is_empty()).await;
    let late = two.decide(&id, true).await.unwrap_err();
    assert!(late.to_string().contains("the call ended before"), "{late}");
    // The gateway dies.
    let called = one.call(json!({}));
    let id = two.waiting().await;
    drop(one.member);
    until("its gateway is gone", async || two.queue.pending().unwrap().is_empty()).await;
    let late = two.decide(&id, true).await.unwrap_err();
    assert!(matches!(late, Error::Unknown(_)), "{late}");
    called.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_held_while_nats_is_away_is_decided_when_it_is_back() {
    let mut test_cluster = TestCluster::new();
    let one = ApprovalSetup::new(&test_cluster, "one", LATER).await;
    let two = ApprovalSetup::new(&test_cluster, "two", LATER).await;
    test_cluster.nats.kill();
    let away = async || switchboard_access::Peers::outage(&*one.member.state).is_some();
    until("NATS is away", away).await;
    let called = one.call(json!({}));
    let id = one.waiting().await;
    let refused = one.decide(&id, true).await.unwrap_err();
    assert!(refused.to_string().contains("is away"), "{refused}");
    assert!(!called.is_finished());
    test_cluster.nats.restart();
    assert_eq!(two.waiting().await, id);
    two.decide(&id, true).await.unwrap();
    assert!(called.await.unwrap().is_success());
}
