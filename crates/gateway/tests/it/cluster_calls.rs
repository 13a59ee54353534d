//! The calls of all nodes of a cluster, as one gateway shows and tells them.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, UNIX_EPOCH},
};

use serde_json::{Value, json};
use switchboard_audit::{
    CallDetail, CallOutcome, CallStage, FigureQuery, FigureSource, Filter, NodeFigures, Record,
    RecordTest, SharedCallFollower, SharedFigures, SharedRecords, SharedRecordsError,
};
use switchboard_toolcall::{BoxFuture, CallId, ErrorKind, ProfileRules};
use tokio::sync::mpsc;

use crate::{TestGateway, answer, events::events};

type Update = (CallStage, CallDetail);

/// Records of other nodes.
struct FakeSharedRecords {
    details: Vec<CallDetail>,
    updates: Mutex<Option<mpsc::UnboundedReceiver<Update>>>,
    /// Whether there are more than may be read.
    is_long: bool,
}

struct FakeFollower(mpsc::UnboundedReceiver<Update>);

impl SharedCallFollower for FakeFollower {
    fn next(&mut self) -> BoxFuture<'_, Update> {
        Box::pin(async { self.0.recv().await.expect("the test goes on") })
    }
}

impl SharedRecords for FakeSharedRecords {
    fn list<'a>(
        &'a self,
        filter: &'a Filter,
        passes: RecordTest<'a>,
    ) -> BoxFuture<'a, Result<Vec<Record>, SharedRecordsError>> {
        Box::pin(async move {
            if self.is_long {
                return Err(SharedRecordsError::TooMany("more than 9 records".into()));
            }
            let matches = filter.matcher()?;
            let all = self.details.iter().map(|detail| detail.record.clone());
            let found = all.filter(|record| matches(record) && passes(record));
            Ok(found.take(filter.limit.unwrap_or(usize::MAX)).collect())
        })
    }

    fn show(&self, id: CallId) -> BoxFuture<'_, Result<Option<CallDetail>, SharedRecordsError>> {
        let found = self.details.iter().find(|detail| detail.record.id == id).cloned();
        Box::pin(async { Ok(found) })
    }

    fn figures<'a>(
        &'a self,
        query: &'a FigureQuery,
    ) -> BoxFuture<'a, Result<SharedFigures, SharedRecordsError>> {
        Box::pin(async move {
            let passes = query.filter().matcher()?;
            let mut sums = query.sums();
            let records = self.details.iter().map(|detail| &detail.record);
            records.clone().filter(|record| passes(record)).for_each(|record| sums.add(record));
            let node = records.filter_map(|record| record.node.clone()).next().unwrap();
            let source = if self.is_long { FigureSource::Missing } else { FigureSource::Node };
            Ok(SharedFigures { sums, nodes: vec![NodeFigures { node, source }] })
        })
    }

    fn follow(&self) -> BoxFuture<'_, Result<Box<dyn SharedCallFollower>, SharedRecordsError>> {
        let updates = self.updates.lock().unwrap().take();
        Box::pin(async {
            match updates {
                Some(updates) => Ok(Box::new(FakeFollower(updates)) as Box<dyn SharedCallFollower>),
                None => Err(SharedRecordsError::Unavailable("NATS is away".into())),
            }
        })
    }
}

fn detail(tool: &str, caller: &str, outcome: CallOutcome) -> CallDetail {
    let record = Record {
        id: CallId::generate(),
        tool: tool.to_owned(),
        server: None,
        caller: Some(caller.to_owned()),
        client: None,
        conversation: None,
        run: None,
        profile: None,
        shown_as: None,
        arguments: r#"{"city":"Rome"}"#.to_owned(),
        outcome,
        duration: Some(Duration::from_millis(5)),
        started: UNIX_EPOCH,
        bytes: Some(7),
        reused: None,
        node: serde_json::from_value(json!({"id": "01NODE", "host": "web-2"})).unwrap(),
    };
    let mut detail = CallDetail::of(record);
    detail.result = Some(r#""It rains.""#.to_owned());
    detail
}

fn records(details: &[CallDetail]) -> (Arc<FakeSharedRecords>, mpsc::UnboundedSender<Update>) {
    let (sender, updates) = mpsc::unbounded_channel();
    let updates = Mutex::new(Some(updates));
    (Arc::new(FakeSharedRecords { details: details.to_vec(), updates, is_long: false }), sender)
}

fn column(calls: &Value, name: &str) -> Vec<String> {
    let calls = calls.as_array().unwrap().iter();
    calls.map(|call| call[name].as_str().unwrap_or("none").to_owned()).collect()
}

// RC-2
#[tokio::test]
async fn a_gateway_lists_the_calls_of_all_nodes_that_a_caller_may_know_of() {
    let details = [
        detail("weather", "ada", CallOutcome::Ok),
        detail("echo", "bob", CallOutcome::Ok),
        detail("far__away", "bob", CallOutcome::Running),
    ];
    let gateway = TestGateway::in_cluster(records(&details).0).await;
    let (watcher, ada) = (gateway.watcher("watcher", &["e*"]), gateway.token("ada", &["*"]));
    let list = async |query: &str, token: Option<&str>| {
        let request = gateway.get(&format!("/api/calls?{query}"));
        let request = match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        let (status, calls) = answer(request).await;
        assert_eq!(status, 200, "{calls}");
        calls
    };
    assert_eq!(column(&list("", None).await, "tool"), Vec::<String>::new(), "none of its own");
    for query in ["cluster=true", "fleet=1", "cluster"] {
        let all = list(query, None).await;
        assert_eq!(column(&all, "tool"), ["weather", "echo", "far__away"]);
        assert_eq!(all[0]["node"], json!({"id": "01NODE", "host": "web-2"}));
    }
    assert_eq!(column(&list("cluster=1&limit=1", None).await, "tool"), ["weather"]);
    assert_eq!(column(&list("cluster=1&tool=far*", None).await, "tool"), ["far__away"]);
    assert_eq!(column(&list("cluster=1&caller=bob&text=rome", None).await, "tool").len(), 2);
    // Only tools that it may see; only its own calls, and not where they ran.
    assert_eq!(column(&list("cluster=1", Some(&watcher)).await, "tool"), ["echo"]);
    let own = list("cluster=1", Some(&ada)).await;
    assert_eq!((column(&own, "tool"), &own[0]["node"]), (vec!["weather".to_owned()], &Value::Null));
    assert_eq!(list("cluster=1&caller=bob", Some(&ada)).await, json!([]));

    let show = async |detail: &CallDetail, query: &str, token: &str| {
        let path = format!("/api/calls/{}{query}", detail.record.id);
        answer(gateway.get(&path).bearer_auth(token)).await
    };
    assert_eq!(show(&details[0], "", &ada).await.0, 404);
    let (status, shown) = show(&details[0], "?cluster=1", &ada).await;
    assert_eq!((status, &shown["result"]), (200, &json!("It rains.")));
    assert_eq!(shown.get("node"), None);
    assert_eq!(show(&details[1], "?cluster=1", &ada).await.0, 404, "it is somebody else's");
    assert_eq!(show(&details[1], "?cluster=1", &watcher).await.1["node"]["host"], "web-2");
    let (_, about) = answer(gateway.get("/api/gateway")).await;
    assert_eq!(about["cluster"], true);
}

// RC-2
#[tokio::test]
async fn a_gateway_sums_the_calls_of_all_nodes_that_a_caller_may_know_of() {
    let details = [
        detail("weather", "ada", CallOutcome::Ok),
        detail("echo", "bob", CallOutcome::Failed(ErrorKind::Timeout)),
        detail("far__away", "bob", CallOutcome::Ok),
    ];
    let gateway = TestGateway::in_cluster(records(&details).0).await;
    let (watcher, ada) = (gateway.watcher("watcher", &["e*"]), gateway.token("ada", &["*"]));
    // The calls began in 1970.
    let window = "since=1970-01-01T00:00:00Z&until=1970-01-01T01:00:00Z";
    let stats = async |query: &str, token: Option<&str>| {
        let request = gateway.get(&format!("/api/stats?{window}&{query}"));
        let request = match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        let (status, stats) = answer(request).await;
        assert_eq!(status, 200, "{stats}");
        stats
    };
    let own = stats("", None).await;
    assert_eq!((&own["total"]["calls"], own.get("nodes")), (&json!(0), None));
    for query in ["cluster=true", "fleet=1"] {
        let all = stats(query, None).await;
        assert_eq!((&all["total"]["calls"], &all["total"]["failures"]), (&json!(3), &json!(1)));
        assert_eq!(all["kinds"], json!({"timeout": 1}));
        assert_eq!(column(&all["groups"], "name"), ["echo", "far__away", "weather"]);
        let nodes = json!([{"id": "01NODE", "host": "web-2", "source": "node"}]);
        assert_eq!((&all["nodes"], &all["partial"]), (&nodes, &json!(false)));
    }
    let callers = stats("cluster=1&by=caller&tool=far*", None).await;
    assert_eq!(column(&callers["groups"], "name"), ["bob"]);
    // Only tools that it may see; only its own calls, and not where they ran.
    let seen = stats("cluster=1", Some(&watcher)).await;
    assert_eq!(column(&seen["groups"], "name"), ["echo"]);
    assert_eq!((&seen["total"]["calls"], &seen["nodes"][0]["host"]), (&json!(1), &json!("web-2")));
    let own = stats("cluster=1", Some(&ada)).await;
    assert_eq!(
        (column(&own["groups"], "name"), own.get("nodes")),
        (vec!["weather".to_owned()], None)
    );
    assert_eq!(stats("cluster=1&caller=bob", Some(&ada)).await["total"]["calls"], 0);

    // What is missing is said, also to those who may not know of which node.
    let mut long = Arc::into_inner(records(&details).0).unwrap();
    long.is_long = true;
    let gateway = TestGateway::in_cluster(Arc::new(long)).await;
    let ada = gateway.token("ada", &["*"]);
    let path = format!("/api/stats?{window}&cluster=1");
    let (_, all) = answer(gateway.get(&path)).await;
    assert_eq!((&all["nodes"][0]["source"], &all["partial"]), (&json!("missing"), &json!(true)));
    let (_, own) = answer(gateway.get(&path).bearer_auth(ada)).await;
    assert_eq!((own.get("nodes"), &own["partial"]), (None, &json!(true)));
}

// RC-2
#[tokio::test]
async fn a_profile_names_the_figures_of_all_nodes() {
    let details = [
        detail("weather", "ada", CallOutcome::Ok),
        detail("echo", "ada", CallOutcome::Ok),
        detail("far__away", "ada", CallOutcome::Ok),
    ];
    let gateway = TestGateway::in_cluster(records(&details).0).await;
    let rules = json!({"tools": ["weather"], "tool": {"weather": {"name": "forecast"}}});
    let rules = ProfileRules::new(serde_json::from_value(rules).unwrap()).unwrap();
    gateway.executor.tools().set_profiles(vec![("desk".to_owned(), rules)]);
    let token = gateway.token("ada", &["*"]);
    let path = "/api/stats?since=1970-01-01T00:00:00Z&until=1970-01-01T01:00:00Z&cluster=1";
    let request = gateway.get(path).bearer_auth(token).header("x-switchboard-profile", "desk");
    let (status, stats) = answer(request).await;
    assert_eq!(status, 200, "{stats}");
    assert_eq!(column(&stats["groups"], "name"), ["forecast"]);
    assert_eq!(stats["total"]["calls"], 1);
}

// RC-2
#[tokio::test]
async fn a_question_that_would_read_too_much_is_refused() {
    let long = FakeSharedRecords { details: vec![], updates: Mutex::default(), is_long: true };
    let gateway = TestGateway::in_cluster(Arc::new(long)).await;
    let (status, said) = answer(gateway.get("/api/calls?cluster=1")).await;
    assert_eq!((status, &said["error"]), (400, &json!("more than 9 records")), "{said}");
    let alone = TestGateway::start().await;
    for path in ["/api/calls?cluster=1", "/api/events?cluster=1", "/api/stats?cluster=1"] {
        let (status, said) = answer(alone.get(path)).await;
        assert_eq!(status, 400, "{said}");
        assert!(said["error"].as_str().unwrap().contains("there is no cluster"), "{said}");
    }
    let (_, about) = answer(alone.get("/api/gateway")).await;
    assert_eq!(about["cluster"], false);
}

// GW-1
#[tokio::test]
async fn the_calls_of_all_nodes_are_told_as_they_happen() {
    let (shared, sender) = records(&[]);
    let gateway = TestGateway::in_cluster(shared).await;
    let ada = gateway.token("ada", &["*"]);
    let all = gateway.get("/api/events?cluster=true").send().await.unwrap();
    let own = gateway.get("/api/events?fleet=1").bearer_auth(ada).send().await.unwrap();
    let (one, other) =
        (detail("weather", "ada", CallOutcome::Running), detail("echo", "bob", CallOutcome::Ok));
    // A call of this gateway comes as its record does, and not twice.
    answer(gateway.call("echo", &json!({}))).await;
    let mut ended = one.clone();
    ended.record.outcome = CallOutcome::Ok;
    for (stage, detail) in
        [(CallStage::Started, one), (CallStage::Ended, other.clone()), (CallStage::Ended, ended)]
    {
        sender.send((stage, detail)).unwrap();
    }
    let all = events(all, 3).await;
    assert_eq!(column(&json!(all), "type"), ["call_started", "call_ended", "call_ended"]);
    assert_eq!(column(&json!(all), "tool"), ["weather", "echo", "weather"]);
    assert_eq!(all[1]["node"]["host"], "web-2");
    assert_eq!((&all[1]["result"], &all[1]["outcome"]), (&json!("It rains."), &json!("ok")));
    assert_eq!(all[1]["id"], other.record.id.to_string());
    let own = events(own, 2).await;
    assert_eq!(column(&json!(own), "tool"), ["weather", "weather"]);
    assert!(own.iter().all(|event| event.get("node").is_none()), "{own:?}");
}
