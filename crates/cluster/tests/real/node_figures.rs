//! Figures over all nodes: each sums its own calls, and who does not answer is named.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures_util::{FutureExt, StreamExt};
use switchboard_audit::{
    CallFigures, FigureQuery, FigureSource, FigureWindow, Filter, GroupBy, Reader, Record,
    SharedFigures, SharedRecords, SharedRecordsError, ShippingTask, ship_once,
};
use switchboard_cluster::records::{CallerRecords, Records};
use switchboard_testkit::nats::Nats;
use switchboard_workers::{Cluster, Config};

use crate::{
    TestCluster,
    records::{LIMIT, Node, parts, stream},
    until,
};

/// Ten minutes of steps around now.
fn query(by: GroupBy) -> FigureQuery {
    let from = SystemTime::now() - Duration::from_secs(300);
    let window = FigureWindow { from, step: Duration::from_secs(60), steps: 10, by };
    FigureQuery { filter: Filter::default(), window: Some(window) }
}

async fn ask(records: &Records, query: &FigureQuery) -> SharedFigures {
    let passes = query.filter().matcher().unwrap();
    records.figures(query, &passes, |_| {}).await.unwrap()
}

/// Calls and failures, in total and by group.
fn counts(figures: &CallFigures) -> (u64, u64, Vec<(Option<String>, u64)>) {
    let mut groups: Vec<_> =
        figures.groups.iter().map(|(name, figure)| (name.clone(), figure.calls)).collect();
    groups.sort();
    (figures.total.calls, figures.total.failures, groups)
}

/// The id of the node's store, once it ships.
async fn shipping(task: &ShippingTask) -> String {
    let mut id = None;
    until("the node ships", async || {
        id = task.progress().node().map(|node| node.id);
        id.is_some() && task.progress().shipped() > 0 && task.progress().behind() == 0
    })
    .await;
    id.unwrap()
}

/// Where the figures of these nodes are from.
fn sources(found: &SharedFigures, ids: &[&String]) -> Vec<FigureSource> {
    let of = |id: &&String| found.nodes.iter().find(|one| one.node.id == **id).unwrap().source;
    ids.iter().map(of).collect()
}

async fn connected(cluster: &TestCluster) -> Cluster {
    let connection = cluster.cluster().await;
    connection.reached(LIMIT).await.unwrap();
    connection
}

// RC-2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_sum_their_own_calls_and_who_does_not_answer_is_named() {
    use FigureSource::{Missing, Node as Asked, Shipped};
    let cluster = TestCluster::signed();
    let connection = connected(&cluster).await;
    let records = Records::new(connection.clone());
    let query = query(GroupBy::Caller);
    assert!(ask(&records, &query).await.nodes.is_empty(), "nothing was ever shipped");

    let (one, other, gone) = (Node::new(), Node::new(), Node::new());
    for (node, calls) in [(&one, [1, 13, 2]), (&other, [3, 4, 13]), (&gone, [13, 13, 5])] {
        for n in calls {
            node.call(n).await;
        }
    }
    let start =
        |node: &Node| ShippingTask::start(stream(connection.clone(), node), node.path().to_owned());
    let (first, second) = (start(&one), start(&other));
    let ids = [shipping(&first).await, shipping(&second).await];
    let task = start(&gone);
    let left = shipping(&task).await;
    task.finish(LIMIT).await;

    // Two answer; the third ships no more, so what it has shipped counts.
    let all = [&ids[0], &ids[1], &left];
    let found = ask(&records, &query).await;
    assert_eq!(sources(&found, &all), [Asked, Asked, Shipped]);
    let whole = counts(&found.sums.figures());
    assert_eq!(whole, (9, 4, vec![(Some("test".to_owned()), 9)]));
    // Of one whose calls would be too many to read, there are none, and it is named.
    let limited = Records::new(connection.clone()).reading_at_most(1);
    let found = ask(&limited, &query).await;
    assert_eq!(sources(&found, &all), [Asked, Asked, Missing]);
    assert_eq!(found.sums.figures().total.calls, 6);

    // Percentiles are those of all durations, as near as a histogram is.
    let stats = FigureQuery::default();
    let ours = ask(&records, &stats).await.sums.stats();
    let durations =
        |node: &Node| Reader::open(node.path()).unwrap().list(&Filter::default()).unwrap();
    let each: Vec<Record> = [&one, &other, &gone].into_iter().flat_map(durations).collect();
    let exact = switchboard_audit::ToolStats::of(&each);
    assert_eq!((ours[0].calls, ours[0].bytes), (exact[0].calls, exact[0].bytes));
    assert!((ours[0].p95_ms - exact[0].p95_ms).abs() <= exact[0].p95_ms * 0.01);

    // A node without a call in that time is not asked about; a filter holds everywhere.
    let past = Filter { until: Some(SystemTime::UNIX_EPOCH), ..Filter::default() };
    let none = ask(&records, &FigureQuery { filter: past, window: None }).await;
    assert_eq!(none.sums.stats(), []);
    let later = Some(SystemTime::now() + Duration::from_secs(60));
    let later = FigureQuery { filter: Filter { since: later, ..Filter::default() }, window: None };
    assert_eq!(ask(&records, &later).await.nodes.len(), 2, "the one that left is not named");
    let failed = Filter { failed: true, ..Filter::default() };
    let failed = ask(&records, &FigureQuery { filter: failed, window: None }).await;
    assert_eq!(failed.sums.stats()[0].calls, 4);

    // As a gateway asks.
    let shared: Arc<dyn SharedRecords> = Arc::new(CallerRecords::new(&connection));
    let found = shared.figures(&query).await.unwrap();
    assert_eq!(counts(&found.sums.figures()), whole);
    let wrong = Filter { tool: Some("{".to_owned()), ..Filter::default() };
    let wrong = shared.figures(&FigureQuery { filter: wrong, window: None }).await;
    assert!(matches!(wrong, Err(SharedRecordsError::Filter(_))), "{wrong:?}");
    drop((first, second));
}

// RC-2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn figures_that_no_node_of_the_cluster_has_signed_do_not_count() {
    let cluster = TestCluster::signed();
    let connection = connected(&cluster).await;
    let node = Node::new();
    node.call(1).await;
    ship_once(stream(connection.clone(), &node), node.path().to_owned()).await.unwrap();
    let records = Records::new(connection);
    let found = ask(&records, &FigureQuery::default()).await;
    assert_eq!(found.nodes[0].source, FigureSource::Shipped);

    // Somebody with access to the broker, and without the key, answers for the node.
    let stranger = cluster.stranger().await;
    stranger.reached(LIMIT).await.unwrap();
    let subject = stranger.names().subject(&["figures", &found.nodes[0].node.id]);
    let mut questions = stranger.subscribe(subject, None).await.unwrap();
    stranger.flush().await;
    let answer = async {
        let question = questions.next().await.unwrap();
        let sums = serde_json::json!({"total": {"calls": 99}, "kinds": {}, "steps": [],
            "groups": [["number", {"calls": 99}]], "is_partial": false});
        let reply = serde_json::json!({"sums": [found.nodes[0].node, sums]}).to_string();
        stranger.publish(question.reply.unwrap(), None, reply.into()).await.unwrap();
    };
    let query = FigureQuery::default();
    let (asked, ()) = tokio::join!(ask(&records, &query), answer);
    assert_eq!(asked.nodes, found.nodes);
    assert_eq!(asked.sums.stats()[0].calls, 1);
    // Nor is a question answered that no node of the cluster asks.
    drop(questions);
    let shipping =
        ShippingTask::start(stream(cluster.cluster().await, &node), node.path().to_owned());
    until("it answers for itself", async || {
        ask(&records, &query).await.nodes[0].source == FigureSource::Node
    })
    .await;
    let subject = stranger.names().subject(&["figures", &found.nodes[0].node.id]);
    let question = serde_json::to_vec(&query).unwrap();
    let inbox = stranger.new_inbox();
    let mut answers = stranger.subscribe(inbox.clone(), None).await.unwrap();
    stranger.publish(subject, Some(inbox), question.into()).await.unwrap();
    stranger.flush().await;
    assert_eq!(ask(&records, &query).await.nodes[0].source, FigureSource::Node);
    stranger.flush().await;
    assert!(answers.next().now_or_never().is_none(), "nobody answers a stranger");
    drop(shipping);
}

// RC-2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn figures_that_are_too_large_for_a_message_arrive() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("nats.conf");
    std::fs::write(&config, "max_payload: 40000\n").unwrap();
    let store = folder.path().join("store");
    let nats = Nats::with(&parts(), &store, &["-c", config.to_str().unwrap()]);
    let config = Config { nats: Some(nats.url()), ..Config::default() };
    let cluster = Cluster::connect(&config).await.unwrap();
    cluster.reached(LIMIT).await.unwrap();
    let node = Node::new();
    node.call(1).await;
    let task = ShippingTask::start(stream(cluster.clone(), &node), node.path().to_owned());
    shipping(&task).await;
    let records = Records::new(cluster);
    let (from, step) = (SystemTime::now() - Duration::from_secs(5000), Duration::from_secs(1));
    let mut window = FigureWindow { from, step, steps: 10_000, by: GroupBy::Tool };
    let asked = |window| FigureQuery { filter: Filter::default(), window: Some(window) };
    let found = ask(&records, &asked(window)).await;
    assert_eq!(found.nodes[0].source, FigureSource::Node);
    let figures = found.sums.figures();
    assert_eq!((figures.total.calls, figures.steps.len()), (1, 10_000));
    // More steps are refused, so the stream is read.
    window.steps += 1;
    let found = ask(&records, &asked(window)).await;
    assert_eq!(found.nodes[0].source, FigureSource::Shipped);
    assert_eq!(found.sums.figures().total.calls, 1);
}
