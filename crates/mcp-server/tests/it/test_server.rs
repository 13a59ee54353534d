//! A server with a few tools, and the questions that every test asks of it.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use serde_json::{Map, Value, json};
use switchboard_mcp_server::{ClusterServices, Config, McpBody, McpCaller, Server};
use switchboard_mcp_wire::Upstreams;
use switchboard_runtime::{
    ToolExecutor,
    toolcall::{
        Content, ErrorKind, LogLevel, Part, ProgressUpdate, QuestionKind, ServerQuestion,
        ServerQuestions, ToolError, ToolOutput, Visibility,
    },
};
use switchboard_testkit::tools::{Fake, Witness};

/// A server, and what its tool `wait` has seen.
pub(crate) struct TestServer {
    pub(crate) server: Server,
    pub(crate) executor: ToolExecutor,
    pub(crate) witness: Witness,
}

/// An answer over HTTP, read to its end.
#[derive(Debug)]
pub(crate) struct TestResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl TestResponse {
    /// Reads the response to its end.
    pub(crate) async fn of(response: Response<McpBody>) -> Self {
        let (head, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        Self { status: head.status, headers: head.headers, text }
    }

    /// All messages in it, in order.
    pub(crate) fn messages(&self) -> Vec<Value> {
        if self.headers.get("content-type").is_some_and(|kind| kind == "text/event-stream") {
            return events(&self.text).into_iter().map(|(_, message)| message).collect();
        }
        vec![serde_json::from_str(&self.text).unwrap()]
    }

    /// The last message: the response.
    pub(crate) fn last(&self) -> Value {
        self.messages().pop().unwrap_or_else(|| panic!("no message: {self:?}"))
    }

    /// The status and the error's code; zero if it is not an error.
    pub(crate) fn refusal(&self) -> (u16, i64) {
        let code = serde_json::from_str::<Value>(&self.text).unwrap_or_default();
        (self.status.as_u16(), code["error"]["code"].as_i64().unwrap_or(0))
    }
}

/// The events of a stream that carry a message, with their ids.
pub(crate) fn events(text: &str) -> Vec<(String, Value)> {
    let field = |event: &str, name: &str| {
        let lines = event.lines().filter_map(|line| line.strip_prefix(name)).map(str::trim);
        lines.collect::<String>()
    };
    let events = text.split("\n\n").map(|event| (field(event, "id:"), field(event, "data:")));
    let carrying = events.filter(|(_, data)| !data.is_empty());
    carrying.map(|(id, data)| (id, serde_json::from_str(&data).unwrap())).collect()
}

/// The headers that every client of the old era sends.
pub(crate) const LEGACY_HEADERS: &[(&str, &str)] =
    &[("content-type", "application/json"), ("accept", "application/json, text/event-stream")];

impl TestServer {
    /// A server without anything behind it.
    pub(crate) fn new() -> Self {
        Self::with(Config::default())
    }

    pub(crate) fn with(config: Config) -> Self {
        let executor = ToolExecutor::default();
        Self::around(executor, None, config)
    }

    pub(crate) fn around(
        executor: ToolExecutor,
        upstreams: Option<Arc<dyn Upstreams>>,
        config: Config,
    ) -> Self {
        Self::in_cluster(executor, upstreams, config, ClusterServices::default())
    }

    pub(crate) fn in_cluster(
        executor: ToolExecutor,
        upstreams: Option<Arc<dyn Upstreams>>,
        config: Config,
        services: ClusterServices,
    ) -> Self {
        let witness = Witness::default();
        for tool in tools(&witness) {
            executor.tools().add(tool).unwrap();
        }
        let server = Server::in_cluster(executor.clone(), upstreams, config, services);
        Self { server, executor, witness }
    }

    /// Sends any request.
    pub(crate) async fn send(
        &self,
        method: Method,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
        caller: &McpCaller,
    ) -> Response<McpBody> {
        let mut request = Request::builder().method(method).uri("/mcp");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body.into())).unwrap();
        self.server.handle(request, caller).await
    }

    pub(crate) async fn post(
        &self,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> TestResponse {
        TestResponse::of(self.send(Method::POST, headers, body, &McpCaller::default()).await).await
    }

    /// Opens a session of the old era, and returns its id.
    pub(crate) async fn open(
        &self,
        version: &str,
        capabilities: Value,
        caller: &McpCaller,
    ) -> String {
        let client = json!({"name": "test", "version": "1"});
        let params =
            json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": client});
        let body = request(0, "initialize", params);
        let answer =
            TestResponse::of(self.send(Method::POST, LEGACY_HEADERS, body, caller).await).await;
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
        answer.headers["mcp-session-id"].to_str().unwrap().to_owned()
    }

    pub(crate) async fn session(&self) -> String {
        self.open("2025-11-25", json!({}), &McpCaller::default()).await
    }

    /// Asks in a session, and reads the answer to its end.
    pub(crate) async fn ask(&self, session: &str, method: &str, params: Value) -> TestResponse {
        self.post(&in_session(session), request(1, method, params)).await
    }

    /// Asks in the modern way, saying everything that must be said.
    pub(crate) async fn alone(&self, method: &str, params: Value) -> TestResponse {
        TestResponse::of(self.begin_alone(method, params, &McpCaller::default()).await).await
    }

    /// As [`alone`](Self::alone), with the answer unread.
    pub(crate) async fn begin_alone(
        &self,
        method: &str,
        params: Value,
        caller: &McpCaller,
    ) -> Response<McpBody> {
        let names = ["name", "uri", "taskId"];
        let name = names.iter().find_map(|name| params[name].as_str()).unwrap_or("").to_owned();
        let mut headers = modern_headers(method);
        if !name.is_empty() {
            headers.push(("mcp-name", &name));
        }
        self.send(Method::POST, &headers, request(1, method, with_meta(params)), caller).await
    }
}

pub(crate) fn in_session(session: &str) -> Vec<(&str, &str)> {
    LEGACY_HEADERS.iter().copied().chain([("mcp-session-id", session)]).collect()
}

pub(crate) fn modern_headers(method: &str) -> Vec<(&str, &str)> {
    let own = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
    LEGACY_HEADERS.iter().copied().chain(own).collect()
}

/// The parameters with the `_meta` that a modern client sends; what they have of it already stays.
pub(crate) fn with_meta(mut params: Value) -> Value {
    let mut meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    for (key, value) in params["_meta"].as_object().cloned().unwrap_or_default() {
        meta[key] = value;
    }
    params["_meta"] = meta;
    params
}

pub(crate) fn request(id: u64, method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// Somebody who may see what begins so.
pub(crate) fn sees(prefix: &'static str) -> McpCaller {
    let visibility = Visibility::of_tools(move |name| name.starts_with(prefix));
    McpCaller { name: Some(prefix.into()), visibility, ..McpCaller::default() }
}

fn tools(witness: &Witness) -> Vec<Fake> {
    let named = |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required});
    let content = Content {
        parts: vec![
            Part::text("x".repeat(60_000)),
            Part::binary("image", "image/png", "AAAA"),
            Part(Map::from_iter([("type".to_owned(), json!("hologram"))])),
        ],
        fields: Map::from_iter([
            ("structuredContent".to_owned(), json!({"big": "y".repeat(60_000)})),
            ("_meta".to_owned(), json!({"vendor": 1})),
            ("x-vendor".to_owned(), json!([1.0])),
        ]),
    };
    vec![
        Fake::echoes("echo")
            .parameters(named(json!({"text": {"type": "string"}}), json!(["text"]))),
        Fake::answers("say", json!("hello")),
        Fake::fails("fail", "no more oil"),
        Fake::waits("wait", witness),
        Fake::outputs("rich", ToolOutput::Content(content)),
        Fake::new("count", |args, cx| async move {
            for step in 1..=args["steps"].as_u64().unwrap_or(3) {
                let progress = step as f64;
                cx.progress.report(ProgressUpdate { progress, total: Some(3.0), message: None });
            }
            Ok(ToolOutput::Value(json!("counted")))
        }),
        Fake::new("ask", |args, cx| async move {
            let back =
                cx.caller_channel.clone().ok_or_else(|| ToolError::failed("nobody to ask"))?;
            let mut questions = Vec::new();
            for key in args["keys"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                let (kind, params) = (QuestionKind::Elicit, json!({"message": key}));
                questions.push((key.to_owned(), ServerQuestion { kind, params }));
            }
            let line = json!({"level": "info", "data": "about to ask"});
            back.log(LogLevel::Info, &serde_json::value::to_raw_value(&line).unwrap());
            let answers = back
                .ask(ServerQuestions::new("test", questions))
                .await
                .map_err(|error| ToolError::new(ErrorKind::ToolError, error.for_model))?;
            Ok(ToolOutput::Value(Value::Object(answers)))
        }),
    ]
}
