//! Servers of every era, and how the handshake with each goes.

use std::sync::Mutex;

use serde_json::value::{RawValue, to_raw_value};
use switchboard_mcp_wire::{List, ServerRequest, server_request::NoRequestHandler};
use switchboard_toolcall::BoxFuture;

use super::*;
use crate::session::OutgoingRequest;

/// The response to a method with parameters; `None` if there is none.
type ScriptedAnswer = dyn Fn(&str, &Value) -> Option<Result<Value, Failure>> + Send + Sync;

/// The response to `discover`, the one to `initialize`, the agreed version, and the methods that were sent.
type Case = (
    fn() -> Option<Result<Value, Failure>>,
    fn() -> Option<Result<Value, Failure>>,
    &'static str,
    &'static [&'static str],
);

/// A server that responds by a function.
struct ScriptedServer {
    answer: Box<ScriptedAnswer>,
    heard: Mutex<Vec<(String, Value)>>,
}

impl Transport for ScriptedServer {
    fn request<'a>(
        &'a self,
        request: TransportRequest<'a>,
    ) -> BoxFuture<'a, Result<Box<RawValue>, Failure>> {
        let mut message: Value = serde_json::from_slice(&request.message).unwrap();
        let params = message["params"].take();
        let answer = (self.answer)(request.method, &params);
        self.heard.lock().unwrap().push((request.method.to_owned(), params));
        Box::pin(async move {
            match answer {
                Some(answer) => answer.map(|value| to_raw_value(&value).unwrap()),
                None => std::future::pending().await,
            }
        })
    }

    fn notify<'a>(
        &'a self,
        method: &'a str,
        _: Option<&'a RawValue>,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        self.heard.lock().unwrap().push((method.to_owned(), Value::Null));
        Box::pin(std::future::ready(Ok(())))
    }

    fn respond<'a>(
        &'a self,
        _: &'a RawValue,
        _: Result<Box<RawValue>, RpcError>,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn lost(&self) -> BoxFuture<'_, String> {
        Box::pin(std::future::pending())
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

fn no(code: i64, data: Value) -> Option<Result<Value, Failure>> {
    let data = (!data.is_null()).then(|| Box::new(data));
    Some(Err(Failure::Rpc(RpcError { code, message: "no".to_owned(), data })))
}

fn discovered(versions: &[&str]) -> Option<Result<Value, Failure>> {
    Some(Ok(
        json!({"resultType": "complete", "supportedVersions": versions, "capabilities": {"tools": {}},
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "new"}}}),
    ))
}

fn initialized(version: &str) -> Option<Result<Value, Failure>> {
    Some(Ok(
        json!({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "old"}}),
    ))
}

fn server(answer: Box<ScriptedAnswer>) -> Arc<ScriptedServer> {
    Arc::new(ScriptedServer { answer, heard: Mutex::default() })
}

async fn met(server: &Arc<ScriptedServer>, protocol: Protocol) -> Result<Session, Failure> {
    let answers: Arc<dyn ServerRequestHandler> = Arc::new(NoRequestHandler);
    let (router, _changes) = NotificationRouter::new("s", answers.clone());
    let transport: Arc<dyn Transport> = server.clone();
    let tell = Box::new(|_: &Era| {});
    Handshake { transport, router, answers, gate: None, patience: SILENCE, tell }
        .meet(protocol.into())
        .await
}

/// Connects to a server with these responses to `discover` and `initialize`; returns the version and the methods that were sent.
async fn check(
    discover: fn() -> Option<Result<Value, Failure>>,
    initialize: fn() -> Option<Result<Value, Failure>>,
) -> (String, Vec<String>) {
    let server = server(Box::new(move |method, _| match method {
        "server/discover" => discover(),
        _ => initialize(),
    }));
    let version = match met(&server, Protocol::Auto).await {
        Ok(session) => session.era().version().to_owned(),
        Err(failure) => failure.to_string(),
    };
    let heard = server.heard.lock().unwrap().iter().map(|(method, _)| method.clone()).collect();
    (version, heard)
}

// MC-1
#[tokio::test(start_paused = true)]
async fn each_server_is_met_in_its_own_era() {
    const LEGACY: &[&str] = &["server/discover", "initialize", "notifications/initialized"];
    let cases: [Case; 9] = [
        (|| discovered(&["2026-07-28", "2025-11-25"]), || None, "2026-07-28", &["server/discover"]),
        (|| no(-32601, Value::Null), || initialized("2025-11-25"), "2025-11-25", LEGACY),
        (|| no(-32602, Value::Null), || initialized("2024-11-05"), "2024-11-05", LEGACY),
        // No response for two seconds.
        (|| None, || initialized("2025-06-18"), "2025-06-18", LEGACY),
        // It knows `server/discover`, but speaks only the legacy era.
        (|| discovered(&["2025-11-25"]), || initialized("2025-11-25"), "2025-11-25", LEGACY),
        (
            || Some(Err(Failure::Http { status: 400, body: String::new(), error: None })),
            || initialized("2025-03-26"),
            "2025-03-26",
            LEGACY,
        ),
        // It asks for a retry with a version that we just offered, and then refuses.
        (
            || no(-32022, json!({"supported": ["2026-07-28"]})),
            || no(-32601, Value::Null),
            "no",
            &["server/discover", "server/discover", "initialize"],
        ),
        (
            || no(-32601, Value::Null),
            || initialized("1999-01-01"),
            "the server wants protocol \"1999-01-01\", which we do not speak",
            &["server/discover", "initialize"],
        ),
        (|| Some(Err(Failure::Lost("gone".to_owned()))), || None, "gone", &["server/discover"]),
    ];
    for (discover, initialize, version, asked) in cases {
        let (met, heard) = check(discover, initialize).await;
        assert_eq!(
            (met.as_str(), heard),
            (version, asked.iter().map(|s| (*s).to_owned()).collect())
        );
    }
}

// MC-1: a dual-era server that was slow with the probe says so at `initialize`.
#[tokio::test(start_paused = true)]
async fn a_slow_modern_server_is_asked_once_more() {
    let asked = Mutex::new(0);
    let server = server(Box::new(move |method, _| match method {
        "server/discover" => {
            let mut asked = asked.lock().unwrap();
            *asked += 1;
            if *asked == 1 { None } else { discovered(&["2026-07-28"]) }
        }
        _ => no(-32022, json!({"supported": ["2026-07-28"]})),
    }));
    let session = met(&server, Protocol::Auto).await.unwrap();
    assert_eq!(session.era(), &Era::Modern);
    assert_eq!(session.info()["name"], "new");
}

// MC-1
#[tokio::test(start_paused = true)]
async fn the_protocol_can_be_prescribed() {
    let both = || {
        server(Box::new(|method, _| match method {
            "server/discover" => discovered(&["2026-07-28"]),
            _ => initialized("2025-11-25"),
        }))
    };
    let old = both();
    assert_eq!(met(&old, Protocol::Legacy).await.unwrap().era().version(), "2025-11-25");
    assert_eq!(old.heard.lock().unwrap()[0].0, "initialize");
    assert_eq!(met(&both(), Protocol::Modern).await.unwrap().era(), &Era::Modern);
    let only_old = server(Box::new(|_, _| no(-32601, Value::Null)));
    let failure = met(&only_old, Protocol::Modern).await.err().unwrap();
    assert_eq!(failure.to_string(), "the server does not speak 2026-07-28");
}

// MC-1: every modern request carries the client info; no legacy one does.
#[tokio::test]
async fn modern_requests_carry_their_metadata() {
    for (protocol, expected) in [(Protocol::Modern, true), (Protocol::Legacy, false)] {
        let server = server(Box::new(|method, _| match method {
            "server/discover" => discovered(&["2026-07-28"]),
            "initialize" => initialized("2025-11-25"),
            _ => Some(Ok(json!({"tools": []}))),
        }));
        met(&server, protocol).await.unwrap().list(List::Tools).await.unwrap();
        let (method, params) = server.heard.lock().unwrap().last().unwrap().clone();
        assert_eq!(method, "tools/list");
        let meta = &params["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28", expected);
        assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"].is_object(), expected);
        assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"] == "switchboard", expected);
    }
}

// MC-1
#[tokio::test]
async fn lists_are_read_to_their_end_and_no_further() {
    let pages = |cursor: &Value| match cursor.as_str() {
        None => json!({"tools": [{"name": "a"}], "nextCursor": "2", "ttlMs": 9000}),
        Some("2") => json!({"tools": [{"name": "b"}], "nextCursor": "3", "ttlMs": 5000}),
        Some("3") => json!({"tools": [{"name": "c"}]}),
        // A server that returns the same page forever.
        Some(_) => json!({"tools": [{"name": "x"}], "nextCursor": "again"}),
    };
    let server = server(Box::new(move |method, params| match method {
        "initialize" => initialized("2025-11-25"),
        "prompts/list" => unreachable!("not declared"),
        _ => Some(Ok(pages(&params["cursor"]))),
    }));
    let session = met(&server, Protocol::Legacy).await.unwrap();
    let listed = session.list(List::Tools).await.unwrap();
    let names: Vec<_> = listed.entries.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!(listed.ttl, Some(Duration::from_secs(5)));
    assert!(session.list(List::Prompts).await.unwrap().entries.is_empty());
}

#[tokio::test]
async fn a_list_without_end_is_cut() {
    let server = server(Box::new(|method, _| match method {
        "initialize" => initialized("2025-11-25"),
        _ => Some(Ok(json!({"tools": [{"name": "x"}], "nextCursor": "again"}))),
    }));
    let session = met(&server, Protocol::Legacy).await.unwrap();
    assert_eq!(session.list(List::Tools).await.unwrap().entries.len(), 2);
}

/// Accepts everything.
struct AcceptAll;

impl ServerRequestHandler for AcceptAll {
    fn capabilities(&self) -> Value {
        json!({"elicitation": {}})
    }

    fn answer(&self, request: ServerRequest) -> BoxFuture<'_, Result<Value, RpcError>> {
        Box::pin(std::future::ready(Ok(json!({"action": "accept", "asked": request.method}))))
    }
}

// MC-1: questions in a modern server's result are answered, and its state is returned unchanged.
#[tokio::test]
async fn input_is_given_when_asked_for() {
    let server = server(Box::new(|method, params| match method {
        "server/discover" => discovered(&["2026-07-28"]),
        _ if params["inputResponses"].is_null() => Some(Ok(json!({
            "resultType": "input_required", "requestState": "s\u{e9}al",
            "inputRequests": {"ok": {"method": "elicitation/create", "params": {}}}
        }))),
        _ => Some(Ok(params.clone())),
    }));
    let (router, _changes) = NotificationRouter::new("s", Arc::new(AcceptAll));
    let transport: Arc<dyn Transport> = server.clone();
    let handshake = Handshake {
        transport,
        router,
        answers: Arc::new(AcceptAll),
        gate: None,
        patience: SILENCE,
        tell: Box::new(|_| {}),
    };
    let session = handshake.meet(FirstMessage::Discover).await.unwrap();
    let result = session.ask(OutgoingRequest::new("tools/call", Map::new())).await.unwrap();
    assert_eq!(result["requestState"], "s\u{e9}al");
    assert_eq!(result["inputResponses"]["ok"]["asked"], "elicitation/create");
    // Without a handler, the call ends with the reason.
    let session = met(&server, Protocol::Modern).await.unwrap();
    let failure = session.ask(OutgoingRequest::new("tools/call", Map::new())).await.unwrap_err();
    let text = "MCP server 's' asked a question ('elicitation/create'), and this caller cannot be asked; \
                call it from a terminal, the console or an MCP client that supports elicitation";
    assert_eq!(failure.to_string(), text);
}
