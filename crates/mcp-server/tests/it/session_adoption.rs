//! Sessions of the old era that other gateways adopt.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Method, Response, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use switchboard_mcp_server::{
    ClusterServices, Config, McpBody, McpCaller, Seal, Server, SessionPeers,
};
use switchboard_runtime::{
    ToolExecutor,
    toolcall::{BoxError, BoxFuture, HumanDuration, ServerQuestions, ToolError, ToolOutput},
};
use switchboard_testkit::tools::Fake;
use tokio::time::{sleep, timeout};

use crate::{
    memory_peers::MemoryPeers,
    test_server::{TestResponse, TestServer, events, in_session, request, sees},
    upstream::{self, Upstream},
};

const SECRET: &[u8] = b"a secret that all gateways share";

fn seal(secret: &[u8], older: &[&'static [u8]]) -> Option<Arc<Seal>> {
    Some(Arc::new(Seal::new(secret, older.iter().copied()).unwrap()))
}

/// A gateway among its peers.
fn shared(peers: &MemoryPeers, config: Config) -> TestServer {
    let seam: Arc<dyn SessionPeers> = Arc::new(peers.clone());
    let test =
        alone(ClusterServices { peers: Some(seam), seal: seal(SECRET, &[]), calls: None }, config);
    peers.add(&test.server);
    test
}

fn alone(services: ClusterServices, config: Config) -> TestServer {
    TestServer::in_cluster(ToolExecutor::default(), None, config, services)
}

/// A gateway that only shares a secret with others.
fn sealing(secret: &[u8], older: &[&'static [u8]]) -> TestServer {
    alone(
        ClusterServices { seal: seal(secret, older), ..ClusterServices::default() },
        Config::default(),
    )
}

fn two_gateways() -> (TestServer, TestServer) {
    let peers = MemoryPeers::default();
    (shared(&peers, Config::default()), shared(&peers, Config::default()))
}

/// Asks in a session, as nobody in particular, and returns the status.
async fn ping(test: &TestServer, session: &str) -> u16 {
    test.ask(session, "ping", json!({})).await.status.as_u16()
}

async fn get(test: &TestServer, session: &str, last: Option<&str>) -> Response<McpBody> {
    let mut headers = in_session(session);
    headers.extend(last.map(|last| ("last-event-id", last)));
    test.send(Method::GET, &headers, "", &McpCaller::default()).await
}

async fn delete(test: &TestServer, session: &str) -> u16 {
    let headers = in_session(session);
    test.send(Method::DELETE, &headers, "", &McpCaller::default()).await.status().as_u16()
}

/// Reads a stream until a message is what is looked for; returns it with its id.
async fn hear(body: &mut McpBody, wanted: impl Fn(&Value) -> bool) -> (String, Value) {
    let mut text = String::new();
    let heard = async {
        loop {
            if let Some(found) = events(&text).into_iter().find(|(_, message)| wanted(message)) {
                return found;
            }
            let frame = body.frame().await.expect("the stream ended").unwrap();
            text.push_str(str::from_utf8(&frame.into_data().unwrap()).unwrap());
        }
    };
    timeout(Duration::from_secs(120), heard).await.expect("it was not heard")
}

// GW-1
#[tokio::test]
async fn a_session_is_known_at_another_gateway() {
    let (here, there) = two_gateways();
    let session = here.session().await;
    assert!(session.len() > 60 && session.contains('.'), "{session}");
    let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    assert_eq!(there.post(&in_session(&session), note).await.status, StatusCode::ACCEPTED);
    for test in [&there, &here, &there] {
        let listed = test.ask(&session, "tools/list", json!({})).await.last();
        assert_eq!(listed["result"]["tools"][0]["name"], "echo");
        let said = test.ask(&session, "tools/call", json!({"name": "say"})).await.last();
        assert_eq!(said["result"]["content"][0]["text"], "hello");
        assert_eq!(test.server.sessions(), 1);
    }
    // A revision is the session's, wherever it is.
    let old = here.open("2025-03-26", json!({}), &McpCaller::default()).await;
    let batch = json!([{"jsonrpc": "2.0", "id": 1, "method": "ping"}]).to_string();
    assert_eq!(there.post(&in_session(&old), batch.clone()).await.status, StatusCode::OK);
    assert_eq!(there.post(&in_session(&session), batch).await.refusal(), (400, -32600));
}

// GW-2: what is not sealed by us, or not for this caller, is no session.
#[tokio::test]
async fn what_others_made_is_no_session() {
    let (here, there) = two_gateways();
    let session = here.open("2025-11-25", json!({}), &sees("s")).await;
    let body = request(1, "ping", json!({}));
    let ask = async |test: &TestServer, session: &str, caller: McpCaller| {
        test.send(Method::POST, &in_session(session), body.clone(), &caller).await.status()
    };
    for caller in [McpCaller::default(), sees("other"), McpCaller::named("")] {
        assert_eq!(ask(&there, &session, caller).await, StatusCode::NOT_FOUND);
    }
    let (name, sealed) = session.split_once('.').unwrap();
    let other = here.open("2025-11-25", json!({}), &sees("s")).await;
    let other = other.split_once('.').unwrap().0;
    // A seal may begin with either letter.
    let first = if sealed.starts_with('A') { 'B' } else { 'A' };
    let forged = [
        name.to_owned(),
        format!("{name}."),
        format!("{other}.{sealed}"),
        format!("{name}.{}", &sealed[..sealed.len() - 2]),
        format!("{name}.{first}{}", &sealed[1..]),
        format!("{session}.x"),
    ];
    for forged in forged {
        assert_eq!(ask(&there, &forged, sees("s")).await, StatusCode::NOT_FOUND, "{forged}");
        assert_eq!(ask(&here, &forged, sees("s")).await, StatusCode::NOT_FOUND, "{forged}");
    }
    let stranger = sealing(b"the secret of somebody else", &[]);
    assert_eq!(ask(&stranger, &session, sees("s")).await, StatusCode::NOT_FOUND);
    assert_eq!(ask(&TestServer::new(), &session, sees("s")).await, StatusCode::NOT_FOUND);
    assert_eq!((stranger.server.sessions(), there.server.sessions()), (0, 0));
    assert_eq!(ask(&there, &session, sees("s")).await, StatusCode::OK);
}

// GW-1: secrets are changed while sessions are open, and gateways are started again.
#[tokio::test]
async fn a_new_secret_and_a_new_process() {
    let old = sealing(SECRET, &[]);
    let session = old.session().await;
    drop(old);
    let renewed = sealing(b"the secret of next month", &[SECRET]);
    assert_eq!(ping(&renewed, &session).await, 200);
    // What ends there has ended there, with nobody else to tell.
    assert_eq!(delete(&renewed, &session).await, 204);
    assert_eq!((ping(&renewed, &session).await, delete(&renewed, &session).await), (404, 404));
}

// GW-1: what was sealed long ago is no longer taken in; who knows the session goes on with it.
#[tokio::test]
async fn an_old_session_is_not_taken_in() {
    let peers = MemoryPeers::default();
    let here = shared(&peers, Config::default());
    let age = HumanDuration(Duration::ZERO);
    let there = shared(&peers, Config { session_age: age, ..Config::default() });
    let session = here.session().await;
    assert_eq!((ping(&there, &session).await, ping(&here, &session).await), (404, 200));
}

// GW-1: there is no room for every session of every gateway.
#[tokio::test]
async fn a_full_house_takes_nobody_in() {
    let peers = MemoryPeers::default();
    let here = shared(&peers, Config::default());
    let there = shared(&peers, Config { max_sessions: 1, ..Config::default() });
    let (first, second) = (here.session().await, here.session().await);
    let listening = get(&there, &first, None).await;
    assert_eq!(listening.status(), StatusCode::OK);
    let refused = there.ask(&second, "ping", json!({})).await;
    assert_eq!(refused.refusal(), (503, -32603));
    drop(listening);
    // The longest unused gives way, and comes back when it is asked for.
    assert_eq!((ping(&there, &second).await, ping(&there, &first).await), (200, 200));
    assert_eq!(there.server.sessions(), 1);
}

// EX-4: a call is cancelled through any gateway.
#[tokio::test(start_paused = true)]
async fn a_call_next_door_is_cancelled() {
    let (here, there) = two_gateways();
    let session = here.session().await;
    let call = json!({"name": "wait", "arguments": {"secs": 20}});
    let cancel = async {
        here.witness.saw("begun").await;
        for id in [999, 1] {
            let params = json!({"requestId": id});
            let note =
                json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
            let told = there.post(&in_session(&session), note.to_string()).await;
            assert_eq!(told.status, StatusCode::ACCEPTED);
        }
    };
    let (answer, ()) = tokio::join!(here.ask(&session, "tools/call", call), cancel);
    assert_eq!((answer.status, &*answer.text), (StatusCode::ACCEPTED, ""));
    here.witness.saw("dropped and told").await;
}

// GW-3: questions are answered through any gateway, and each answer reaches the one who asked.
#[tokio::test]
async fn a_question_is_answered_at_another_gateway() {
    let (here, there) = two_gateways();
    let session = here.open("2025-11-25", json!({"elicitation": {}}), &McpCaller::default()).await;
    let asked = async |test: &TestServer, id: u64, key: &str| {
        let params = json!({"name": "ask", "arguments": {"keys": [key]}});
        let body = request(id, "tools/call", params);
        let response =
            test.send(Method::POST, &in_session(&session), body, &McpCaller::default()).await;
        let mut body = response.into_body();
        let (_, question) =
            hear(&mut body, |message| message["method"] == "elicitation/create").await;
        (body, question)
    };
    let (mut from_here, first) = asked(&here, 1, "a").await;
    let (mut from_there, second) = asked(&there, 2, "b").await;
    assert_ne!(first["id"], second["id"], "no gateway numbers as the other");
    for (question, test) in [(&first, &there), (&second, &here)] {
        let content = json!({"action": "accept", "content": question["params"]["message"]});
        let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": content});
        let told = test.post(&in_session(&session), answer.to_string()).await;
        assert_eq!(told.status, StatusCode::ACCEPTED);
    }
    for (body, key) in [(&mut from_here, "a"), (&mut from_there, "b")] {
        let (_, answer) = hear(body, |message| message.get("result").is_some()).await;
        assert_eq!(answer["result"]["structuredContent"][key]["content"], key);
    }
}

// GW-4: who ends a session ends it everywhere, with what is under way.
#[tokio::test(start_paused = true)]
async fn a_session_ends_everywhere() {
    let peers = MemoryPeers::default();
    let [here, there] = [(); 2].map(|()| shared(&peers, Config::default()));
    let session = here.session().await;
    let call = json!({"name": "wait", "arguments": {"secs": 20}});
    let end = async {
        here.witness.saw("begun").await;
        delete(&there, &session).await
    };
    let (_, status) = tokio::join!(here.ask(&session, "tools/call", call), end);
    assert_eq!(status, 204);
    here.witness.saw("dropped and told").await;
    assert_eq!((here.server.sessions(), there.server.sessions()), (0, 0));
    // One that was not there at the time asks.
    let late = shared(&peers, Config::default());
    for test in [&here, &there, &late] {
        assert_eq!((ping(test, &session).await, delete(test, &session).await), (404, 404));
    }
    // A gateway that closes ends nothing elsewhere.
    let session = here.session().await;
    here.server.close();
    assert_eq!((ping(&there, &session).await, ping(&here, &session).await), (200, 200));
}

// GW-1: a stream can be opened anywhere, and goes on anywhere, as far as it is known there.
#[tokio::test(start_paused = true)]
async fn a_stream_is_opened_at_another_gateway() {
    let (here, there) = two_gateways();
    let session = here.session().await;
    let changed = |message: &Value| message["method"] == "notifications/tools/list_changed";
    let mut streams = Vec::new();
    for (test, name) in [(&here, "first"), (&there, "second")] {
        let response = get(test, &session, None).await;
        assert_eq!(response.status(), StatusCode::OK);
        let mut body = response.into_body();
        test.executor.tools().add(Fake::answers(name, json!(1))).unwrap();
        streams.push(hear(&mut body, changed).await.0);
    }
    // An event of one gateway's is nothing to the other, which starts over and leaves nothing out.
    there.executor.tools().add(Fake::answers("third", json!(1))).unwrap();
    let mut body = get(&there, &session, Some(&streams[0])).await.into_body();
    hear(&mut body, changed).await;
    // At its own, it goes on after the event.
    here.executor.tools().add(Fake::answers("fourth", json!(1))).unwrap();
    let mut body = get(&here, &session, Some(&streams[0])).await.into_body();
    let (id, _) = hear(&mut body, changed).await;
    assert_ne!(id, streams[0]);
    // A number that nobody has given is no event of anybody's either.
    assert_eq!(get(&here, &session, Some("nonsense")).await.status(), StatusCode::OK);
}

// GW-1: what only one gateway knows reaches the stream at another.
#[tokio::test]
async fn what_a_peer_sends_reaches_the_stream() {
    let (here, there) = two_gateways();
    let session = here.session().await;
    let name = session.split_once('.').unwrap().0;
    let updated = |uri: &str| {
        let params = json!({"uri": uri});
        json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": params})
    };
    for told in [here.server.clone(), there.server.clone()] {
        told.deliver(name, b"{no message");
        told.deliver("nobody", updated("a://b").to_string().as_bytes());
    }
    here.server.deliver(name, updated("a://b").to_string().as_bytes());
    let mut body = get(&here, &session, None).await.into_body();
    let is_update = |message: &Value| message["method"] == "notifications/resources/updated";
    assert_eq!(hear(&mut body, is_update).await.1["params"]["uri"], "a://b");
}

// GW-1: who watches a resource at one gateway, and listens at another, hears of it.
#[tokio::test]
async fn a_watched_resource_is_heard_of_at_another_gateway() {
    let peers = MemoryPeers::default();
    let there = shared(&peers, Config::default());
    let upstream = Upstream::start("two", true).await;
    let (test, servers) = upstream::in_front_of([("a", &upstream)]).await;
    let seam: Arc<dyn SessionPeers> = Arc::new(peers.clone());
    let services = ClusterServices { seal: seal(SECRET, &[]), peers: Some(seam), calls: None };
    let executor = test.executor.clone();
    let server = Server::in_cluster(executor, Some(servers), Config::default(), services);
    peers.add(&server);
    let here = TestServer { server, ..test };
    let session = here.session().await;
    let mut body = get(&there, &session, None).await.into_body();
    let watched = here.ask(&session, "resources/subscribe", json!({"uri": "two://one"})).await;
    assert_eq!(watched.last()["result"], json!({}));
    let is_update = |message: &Value| message["method"] == "notifications/resources/updated";
    assert_eq!(hear(&mut body, is_update).await.1["params"]["uri"], "two://one");
}

/// Peers that cannot be reached.
struct UnreachablePeers;

impl SessionPeers for UnreachablePeers {
    fn end<'a>(&'a self, _: &'a str, _: Duration) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(async { Err("no route to them".into()) })
    }

    fn has_ended<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<bool, BoxError>> {
        Box::pin(async { Err("no route to them".into()) })
    }

    fn broadcast<'a>(&'a self, _: &'a str, _: Bytes) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(async { Err("no route to them".into()) })
    }

    fn request<'a>(&'a self, _: &'a str, _: Bytes) -> BoxFuture<'a, Result<Bytes, BoxError>> {
        Box::pin(async { Err("no route to them".into()) })
    }
}

// GW-1: while the others are away, sessions go on; but none is said to have ended everywhere.
#[tokio::test]
async fn unreachable_peers() {
    let services = || ClusterServices {
        seal: seal(SECRET, &[]),
        peers: Some(Arc::new(UnreachablePeers)),
        ..ClusterServices::default()
    };
    let (here, there) =
        (alone(services(), Config::default()), alone(services(), Config::default()));
    let session = here.session().await;
    assert_eq!(ping(&there, &session).await, 200);
    let stray = json!({"jsonrpc": "2.0", "id": 5, "result": {}}).to_string();
    let told = there.post(&in_session(&session), stray).await;
    assert_eq!(told.status, StatusCode::ACCEPTED);
    let response =
        there.send(Method::DELETE, &in_session(&session), "", &McpCaller::default()).await;
    assert_eq!(TestResponse::of(response).await.refusal(), (503, -32603));
    assert_eq!(ping(&there, &session).await, 200);
}

/// A call of `ask` by a modern client that can be asked, with what it brings along.
fn asking(extra: Value) -> Value {
    let meta = json!({"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}});
    let mut params = json!({"name": "ask", "arguments": {"keys": ["name"]}, "_meta": meta});
    for (key, value) in extra.as_object().into_iter().flatten() {
        params[key] = value.clone();
    }
    params
}

// GW-3: a modern client is asked by one gateway, and comes back to another.
#[tokio::test]
async fn a_held_call_goes_on_at_another_gateway() {
    let (here, there) = two_gateways();
    let call = async |test: &TestServer, extra: Value, caller: &McpCaller| {
        let response = test.begin_alone("tools/call", asking(extra), caller).await;
        TestResponse::of(response).await.last()
    };
    let nobody = McpCaller::default();
    let asked = call(&here, json!({}), &nobody).await["result"].clone();
    assert_eq!(asked["resultType"], "input_required");
    // Nothing was answered: it is asked again, under a new handle of the same gateway's.
    let empty = json!({"requestState": asked["requestState"], "inputResponses": {}});
    let again = call(&there, empty, &nobody).await["result"].clone();
    assert_eq!(again["inputRequests"], asked["inputRequests"]);
    let name: Value = serde_json::from_str(r#"{"a":1.50}"#).unwrap();
    let whole = json!({"requestState": again["requestState"], "inputResponses": {"name": name}});
    // Nobody else can come back with it.
    assert_eq!(call(&there, whole.clone(), &sees("ask")).await["error"]["code"], -32602);
    let done = call(&there, whole.clone(), &nobody).await["result"].clone();
    assert_eq!(done["structuredContent"]["name"].to_string(), r#"{"a":1.50}"#);
    assert_eq!(done["resultType"], "complete");
    // It is valid once; an invalid handle is invalid at every gateway.
    assert_eq!(call(&there, whole, &nobody).await["error"]["code"], -32602);
    let gone = format!("{}.{}", "0".repeat(32), "1".repeat(32));
    for handle in [gone.as_str(), "nonsense", "a.b", "*.>"] {
        let back = json!({"requestState": handle, "inputResponses": {}});
        assert_eq!(call(&there, back, &nobody).await["error"]["code"], -32602, "{handle}");
    }
    let said = here.server.resume(b"no request").await;
    assert!(said.starts_with(br#"{"error":{"code":-32603"#), "{said:?}");
}

// EX-4: who comes back to another gateway, and hangs up there, has cancelled the call all the same.
#[tokio::test(start_paused = true)]
async fn hanging_up_next_door_is_cancelling() {
    let (here, there) = two_gateways();
    let witness = here.witness.clone();
    let slow = Fake::new("ask_then_wait", move |_, cx| {
        let witness = witness.clone();
        async move {
            let back =
                cx.caller_channel.clone().ok_or_else(|| ToolError::failed("nobody to ask"))?;
            back.ask(ServerQuestions::elicit("test", "go", json!({"message": "go?"}))).await?;
            let presence = witness.begin(cx.cancel.clone());
            sleep(Duration::from_secs(20)).await;
            presence.finish();
            Ok(ToolOutput::Value(json!("done")))
        }
    });
    here.executor.tools().add(slow).unwrap();
    let mut params = asking(json!({"name": "ask_then_wait"}));
    let nobody = McpCaller::default();
    let asked = here.begin_alone("tools/call", params.clone(), &nobody).await;
    params["requestState"] = TestResponse::of(asked).await.last()["result"]["requestState"].clone();
    params["inputResponses"] = json!({"go": {"action": "accept"}});
    tokio::select! {
        _ = there.begin_alone("tools/call", params, &nobody) => panic!("it takes 20 s"),
        () = here.witness.saw("begun") => {}
    }
    here.witness.saw("dropped and told").await;
}

// GW-1: a client that says too much of itself has a session all the same, of one gateway.
#[tokio::test]
async fn an_id_that_would_be_too_long() {
    let (here, there) = two_gateways();
    let much = json!({"experimental": {"x": "y".repeat(10_000)}});
    let session = here.open("2025-11-25", much, &McpCaller::default()).await;
    assert_eq!(session.len(), 32);
    assert_eq!((ping(&here, &session).await, ping(&there, &session).await), (200, 404));
}
