//! What all nodes recorded, read from one place.

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde_json::json;
use switchboard_audit::{
    CallStage, Config as Audit, FigureQuery, Filter, Reader, Record, SharedRecords, ShippingTask,
    Store, ship_once,
};
use switchboard_cluster::records::{CallerRecords, ReadProgress, RecordStream, Records};
use switchboard_runtime::ToolExecutor;
use switchboard_testkit::Nats;
use switchboard_toolcall::{CallContext, CallId, ToolCall, ToolError, tool_fn};
use switchboard_workers::{Cluster, Config};
use tempfile::TempDir;

/// How long records stay in the stream.
const MONTH: Duration = Duration::from_secs(30 * 86400);
/// How long the slowest machine may take.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// Where `cargo xtask parts` put the parts.
pub(crate) fn parts() -> PathBuf {
    let parts = std::env::var_os("SWITCHBOARD_PARTS");
    parts.expect("SWITCHBOARD_PARTS is set: run `cargo xtask test`").into()
}

/// A NATS of a test's own.
pub(crate) struct TestNats {
    pub(crate) nats: Nats,
    _folder: TempDir,
}

impl TestNats {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { nats: Nats::start(&parts(), folder.path()), _folder: folder }
    }

    pub(crate) async fn connect(&self) -> Cluster {
        let config = Config { nats: Some(self.nats.url()), ..Config::default() };
        Cluster::connect(&config).await.unwrap()
    }

    async fn records(&self) -> Records {
        Records::new(self.connect().await)
    }
}

/// Says a number.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Number {
    n: u64,
}

/// A store and an executor that records there.
pub(crate) struct Node {
    folder: TempDir,
    executor: Option<ToolExecutor>,
}

impl Node {
    pub(crate) fn new() -> Self {
        let mut node = Self { folder: tempfile::tempdir().unwrap(), executor: None };
        node.executor = Some(node.executor());
        node
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    fn executor(&self) -> ToolExecutor {
        let store = Arc::new(Store::open(Audit::default(), self.path()));
        let executor = ToolExecutor::builder().store(store.clone()).artifacts(store).build();
        let number = tool_fn("number", |Number { n }, _: CallContext| async move {
            match n {
                13 => Err(ToolError::failed("unlucky")),
                n => Ok(n.to_string()),
            }
        });
        executor.tools().add(number).unwrap();
        executor
    }

    pub(crate) async fn call(&self, n: u64) -> CallId {
        let args = json!({"n": n}).as_object().cloned().unwrap();
        let call = ToolCall::new("number", args);
        let executor = self.executor.as_ref().unwrap();
        executor.execute(call, &CallContext::for_caller("test")).await.call_id
    }

    async fn ship(&self, own: &TestNats) -> ShippingTask {
        ShippingTask::start(stream(own.connect().await, self), self.path().to_owned())
    }

    /// What its own store says: id and outcome, newest first.
    fn own(&self) -> Vec<(CallId, &'static str)> {
        ids_and_outcomes(&Reader::open(self.path()).unwrap().list(&Filter::default()).unwrap())
    }
}

/// Where a node ships its records to.
pub(crate) fn stream(cluster: Cluster, node: &Node) -> RecordStream {
    RecordStream::new(cluster, node.path().to_owned(), MONTH)
}

fn ids_and_outcomes(records: &[Record]) -> Vec<(CallId, &'static str)> {
    records.iter().map(|record| (record.id, record.outcome.code())).collect()
}

async fn all(records: &Records, filter: Filter) -> Vec<Record> {
    let passes = filter.matcher().unwrap();
    records.list(&filter, &passes, |_| {}).await.unwrap()
}

/// Waits until the records of the cluster are these.
async fn until(records: &Records, expected: &[(CallId, &'static str)]) {
    let same = async {
        let mut found = Vec::new();
        while found != expected {
            tokio::time::sleep(Duration::from_millis(50)).await;
            let filter = Filter::default();
            let passes = filter.matcher().unwrap();
            // The broker may be away.
            found = records
                .list(&filter, &passes, |_| {})
                .await
                .map_or_else(|_| vec![], |all| ids_and_outcomes(&all));
        }
    };
    let waited = tokio::time::timeout(LIMIT, same).await;
    if waited.is_err() {
        assert_eq!(ids_and_outcomes(&all(records, Filter::default()).await), expected);
    }
}

fn both(one: &Node, other: &Node) -> Vec<(CallId, &'static str)> {
    let mut both = [one.own(), other.own()].concat();
    both.sort_by_key(|(id, _)| std::cmp::Reverse(*id));
    both
}

// RC-1, RC-2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_are_read_from_one_place_whatever_becomes_of_nats() {
    let mut own = TestNats::start();
    let (one, other) = (Node::new(), Node::new());
    let records = own.records().await;
    assert_eq!(ids_and_outcomes(&all(&records, Filter::default()).await), []);
    one.call(1).await;
    let (shipping, others) = (one.ship(&own).await, other.ship(&own).await);
    for n in 10..15 {
        one.call(n).await;
        other.call(n).await;
    }
    until(&records, &both(&one, &other)).await;
    own.nats.kill();
    for n in 20..40 {
        one.call(n).await;
        other.call(n).await;
    }
    own.nats.restart();
    until(&records, &both(&one, &other)).await;
    one.call(50).await;
    shipping.finish(LIMIT).await;
    others.finish(LIMIT).await;
    until(&records, &both(&one, &other)).await;

    let failed = all(&records, Filter { failed: true, ..Filter::default() }).await;
    assert_eq!(failed.len(), 2);
    let hosts: Vec<_> = failed.iter().map(|record| record.node.clone().unwrap()).collect();
    assert_ne!(hosts[0].id, hosts[1].id);
    assert_eq!(hosts[0].host, hosts[1].host);
}

// RC-2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn questions_are_answered_as_a_store_answers_them() {
    let own = TestNats::start();
    let node = Node::new();
    let mut ids = Vec::new();
    for n in 0..700 {
        if n == 350 {
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
        ids.push(node.call(n).await);
    }
    tokio::time::sleep(Duration::from_secs(3)).await;
    ship_once(stream(own.connect().await, &node), node.path().to_owned()).await.unwrap();
    let records = own.records().await;
    let expected = node.own();
    for limit in [1, 3, 200, 699, 700, 5000] {
        let filter = Filter { limit: Some(limit), ..Filter::default() };
        let found = ids_and_outcomes(&all(&records, filter).await);
        assert_eq!(found, expected[..limit.min(700)], "{limit}");
    }
    // They were shipped long after they began, as after a time without NATS; still only the end is read.
    let (filter, mut reading) = (Filter { limit: Some(3), ..Filter::default() }, None);
    records.list(&filter, &|_: &Record| true, |now| reading = Some(now)).await.unwrap();
    let ReadProgress { read, all: messages } = reading.unwrap();
    assert_eq!(messages, 1400);
    assert!(read < 1400, "{read}");
    let since = all(&records, Filter { limit: Some(10), ..Filter::default() }).await[9].started;
    let filter = Filter { since: Some(since), ..Filter::default() };
    assert_eq!(ids_and_outcomes(&all(&records, filter).await), expected[..10]);
    let filter = Filter { tool: Some("nob*".to_owned()), ..Filter::default() };
    assert_eq!(all(&records, filter).await.len(), 0);

    let mut reader = Reader::open(node.path()).unwrap();
    for id in [ids[0], ids[13], ids[699]] {
        let found = records.show(&id.to_string(), 5).await.unwrap();
        let theirs = serde_json::to_value(reader.show(id).unwrap().unwrap()).unwrap();
        let mut ours = serde_json::to_value(&found[0]).unwrap();
        assert!(ours.as_object_mut().unwrap().remove("node").is_some());
        assert_eq!(ours, theirs);
    }
    assert_eq!(records.show(&ids[0].to_string()[..8], 5).await.unwrap().len(), 5);
    for nothing in ["", "!", "7ZZZZZZZZZ", "01AAAAAAAA", &"0".repeat(27)] {
        assert_eq!(records.show(nothing, 5).await.unwrap().len(), 0, "{nothing}");
    }
    let mut follow = records.follow().await.unwrap();
    let new = node.call(13).await;
    ship_once(stream(own.connect().await, &node), node.path().to_owned()).await.unwrap();
    let ended = tokio::time::timeout(LIMIT, follow.next()).await.unwrap();
    assert_eq!((ended.id, ended.outcome.code()), (new, "tool_error"));
}

// RC-2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_shows_follows_and_sums_the_calls_of_all_nodes() {
    let own = TestNats::start();
    let (one, other) = (Node::new(), Node::new());
    let cluster = own.connect().await;
    cluster.reached(LIMIT).await.unwrap();
    let shared: Box<dyn SharedRecords> = Box::new(CallerRecords::new(&cluster));
    let any = |_: &Record| true;
    assert_eq!(shared.list(&Filter::default(), &any).await.unwrap().len(), 0);
    for n in [1, 13, 2] {
        one.call(n).await;
        other.call(n).await;
    }
    for node in [&one, &other] {
        ship_once(stream(own.connect().await, node), node.path().to_owned()).await.unwrap();
    }
    let expected = both(&one, &other);
    let found = shared.list(&Filter::default(), &any).await.unwrap();
    assert_eq!(ids_and_outcomes(&found), expected);
    let failed = Filter { failed: true, limit: Some(1), ..Filter::default() };
    assert_eq!(shared.list(&failed, &any).await.unwrap()[0].outcome.code(), "tool_error");
    let detail = shared.show(expected[0].0).await.unwrap().unwrap();
    assert_eq!((detail.record.id, detail.result.as_deref()), (expected[0].0, Some("\"2\"")));
    assert!(shared.show(CallId::generate()).await.unwrap().is_none());

    // Each call once, in the order in which they ended; with a time, no others.
    let records = own.records().await;
    let (mut each, mut sum) = (Vec::new(), FigureQuery::default().sums());
    let all = Filter::default();
    let read = records.each(
        &all,
        &any,
        |_| {},
        |detail| {
            sum.add(&detail.record);
            each.push(detail.record.id);
            ControlFlow::Continue(())
        },
    );
    read.await.unwrap();
    let sums = sum.stats();
    assert_eq!((each.len(), sums[0].calls, sums[0].failures), (6, 6, 2));
    each.sort_unstable_by_key(|id| std::cmp::Reverse(*id));
    assert_eq!(each, expected.iter().map(|(id, _)| *id).collect::<Vec<_>>());
    let mut first = 0;
    let stop = |_| {
        first += 1;
        ControlFlow::Break(())
    };
    records.each(&failed, &|record| record.outcome.code() != "ok", |_| {}, stop).await.unwrap();
    assert_eq!(first, 1);

    let mut follower = shared.follow().await.unwrap();
    let new = one.call(7).await;
    ship_once(stream(own.connect().await, &one), one.path().to_owned()).await.unwrap();
    let mut stages = Vec::new();
    while stages.len() < 2 {
        let (stage, detail) = tokio::time::timeout(LIMIT, follower.next()).await.unwrap();
        assert_eq!(detail.record.id, new);
        stages.push(stage);
    }
    assert_eq!(stages, [CallStage::Started, CallStage::Ended]);
}
