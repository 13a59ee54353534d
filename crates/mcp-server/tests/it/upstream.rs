//! A server behind ours, of either era, that has a little of everything.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::post,
};
use indexmap::IndexMap;
use serde_json::{Value, json};
use switchboard_mcp_client::{Protocol, ServerConfig, ServerDeps, Servers};
use switchboard_mcp_server::{Bridge, Config};
use switchboard_runtime::ToolExecutor;
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

use crate::test_server::TestServer;

/// What the servers behind us were asked, with the parameters.
pub(crate) type ReceivedMessages = Arc<Mutex<Vec<(String, Value)>>>;

/// A server that listens until it is dropped.
pub(crate) struct Upstream {
    pub(crate) url: String,
    pub(crate) heard: ReceivedMessages,
    _task: AbortOnDropHandle<()>,
}

#[derive(Clone)]
struct UpstreamRequest {
    name: &'static str,
    modern: bool,
    /// How many resources it lists without ever telling of changes; few and told of, if unset.
    silent: Option<usize>,
    heard: ReceivedMessages,
}

impl Upstream {
    /// Starts a server; its things are named after it.
    pub(crate) async fn start(name: &'static str, modern: bool) -> Self {
        Self::listing(name, modern, None).await
    }

    /// Starts a server with so many resources, which does not tell when they change.
    pub(crate) async fn silent(name: &'static str, resources: usize) -> Self {
        Self::listing(name, false, Some(resources)).await
    }

    async fn listing(name: &'static str, modern: bool, silent: Option<usize>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let heard = ReceivedMessages::default();
        let state = UpstreamRequest { name, modern, silent, heard: heard.clone() };
        let router = Router::new().route("/", post(answer)).with_state(state);
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, heard, _task: AbortOnDropHandle::new(task) }
    }

    /// How often a method was asked for.
    pub(crate) fn count(&self, method: &str) -> usize {
        self.heard.lock().unwrap().iter().filter(|(heard, _)| heard == method).count()
    }

    /// The parameters that a method was asked with last.
    pub(crate) fn last(&self, method: &str) -> Value {
        let heard = self.heard.lock().unwrap();
        let last = heard.iter().rev().find(|(heard, _)| heard == method);
        last.map(|(_, params)| params.clone()).unwrap_or_default()
    }
}

/// A test server in front of servers, connected.
pub(crate) async fn in_front_of<const N: usize>(
    upstreams: [(&str, &Upstream); N],
) -> (TestServer, Arc<Servers>) {
    let configs = upstreams.map(|(name, upstream)| {
        (name, ServerConfig { url: Some(upstream.url.clone()), ..ServerConfig::default() })
    });
    configured(configs, Config::default()).await
}

pub(crate) async fn configured<const N: usize>(
    configs: [(&str, ServerConfig); N],
    config: Config,
) -> (TestServer, Arc<Servers>) {
    running(ToolExecutor::default(), configs, config).await
}

/// As [`configured`], with an executor of one's own.
pub(crate) async fn running<const N: usize>(
    executor: ToolExecutor,
    configs: [(&str, ServerConfig); N],
    config: Config,
) -> (TestServer, Arc<Servers>) {
    let around =
        ServerDeps { answers: Arc::new(Bridge::to_clients()), ..ServerDeps::new(executor.tools()) };
    let configs: IndexMap<_, _> = configs.map(|(name, config)| (name.to_owned(), config)).into();
    let servers = Arc::new(Servers::start(configs, executor.tools(), &around).unwrap());
    servers.wait_until_ready().await;
    (TestServer::around(executor, Some(servers.clone()), config), servers)
}

/// The settings of a server at this address, spoken to in one era.
pub(crate) fn at(url: &str, protocol: Protocol) -> ServerConfig {
    ServerConfig { url: Some(url.to_owned()), protocol, ..ServerConfig::default() }
}

async fn answer(State(asked): State<UpstreamRequest>, _: HeaderMap, body: Bytes) -> Response {
    let message: Value = serde_json::from_slice(&body).unwrap();
    let method = message["method"].as_str().unwrap_or("response").to_owned();
    let params = message["params"].clone();
    asked.heard.lock().unwrap().push((method.clone(), params.clone()));
    if message["id"].is_null() || method == "response" {
        return StatusCode::ACCEPTED.into_response();
    }
    if let Some(uri) = params["notifications"]["resourceSubscriptions"][0].as_str() {
        // Whoever watches a resource hears of it at once.
        let told = json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}});
        let body = Body::from(format!("data: {told}\n\n"));
        return ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response();
    }
    if params["uri"].as_str().is_some_and(|uri| uri.ends_with("hang")) {
        std::future::pending::<()>().await;
    }
    let outcome = match result(&asked, &method, &params) {
        Ok(mut result) => {
            if asked.modern && result["resultType"].is_null() {
                result["resultType"] = json!("complete");
                result["_meta"] =
                    json!({"io.modelcontextprotocol/serverInfo": {"name": asked.name}});
            }
            ("result", result)
        }
        Err(error) => ("error", error),
    };
    let mut response: HashMap<&str, Value> =
        HashMap::from([("jsonrpc", json!("2.0")), ("id", message["id"].clone())]);
    response.insert(outcome.0, outcome.1);
    let body = Body::from(serde_json::to_vec(&response).unwrap());
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

fn result(asked: &UpstreamRequest, method: &str, params: &Value) -> Result<Value, Value> {
    let name = asked.name;
    let told = asked.silent.is_none();
    let capabilities = json!({
        "tools": {}, "prompts": {"listChanged": true}, "completions": {}, "logging": {},
        "resources": {"subscribe": told, "listChanged": told},
    });
    let schema = json!({"type": "object"});
    Ok(match method {
        "server/discover" if asked.modern => {
            json!({"supportedVersions": ["2026-07-28"], "capabilities": capabilities})
        }
        "initialize" if !asked.modern => json!({
            "protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": {"name": name},
        }),
        "tools/list" => json!({"tools": [
            {"name": "t", "inputSchema": schema, "icons": [1], "x-vendor": 1.0},
            {"name": "refuse", "inputSchema": schema},
            {"name": "ask", "inputSchema": schema},
        ]}),
        "tools/call" => return call(asked, params),
        "resources/list" if !told => {
            let uris = (0..asked.silent.unwrap_or(0))
                .map(|number| json!({"uri": format!("{name}://{number}")}));
            json!({"resources": uris.collect::<Vec<_>>()})
        }
        "resources/list" => json!({"resources": [
            {"uri": format!("{name}://one"), "name": "one"}, {"uri": "all://shared", "name": name},
        ]}),
        "resources/templates/list" => {
            json!({"resourceTemplates": [{"uriTemplate": format!("{name}://t/{{id}}"), "name": "t"}]})
        }
        "resources/read" if params["uri"].as_str().is_some_and(|uri| uri.ends_with("gone")) => {
            let code = if asked.modern { -32602 } else { -32002 };
            return Err(json!({"code": code, "message": "gone", "data": {"uri": params["uri"]}}));
        }
        "resources/read" if params["uri"].as_str().is_some_and(|uri| uri.ends_with("long")) => {
            json!({"contents": [
                {"uri": params["uri"], "mimeType": "text/plain", "text": "x".repeat(60_000)},
                {"uri": "a://blob", "blob": "A".repeat(80_000)},
            ]})
        }
        "resources/read"
            if params["uri"] == "two://t/ask" && params["inputResponses"].is_null() =>
        {
            json!({
                "resultType": "input_required", "requestState": "sealed",
                "inputRequests": {"who": {"method": "elicitation/create", "params": {"message": "Who?"}}},
            })
        }
        "resources/read" => json!({"contents": [{"uri": params["uri"], "text": name}]}),
        "prompts/list" => json!({"prompts": [{"name": "p", "title": "P"}]}),
        "prompts/get" => {
            json!({"messages": [{"role": "user", "content": {"type": "text", "text": name}}]})
        }
        "completion/complete" => json!({"completion": {"values": [name]}}),
        "resources/subscribe" | "resources/unsubscribe" | "logging/setLevel" if !asked.modern => {
            json!({})
        }
        _ => return Err(json!({"code": -32601, "message": "no such method"})),
    })
}

fn call(asked: &UpstreamRequest, params: &Value) -> Result<Value, Value> {
    let text = |text: &str| json!({"content": [{"type": "text", "text": text}]});
    match params["name"].as_str() {
        Some("refuse") => {
            Err(json!({"code": -32050, "message": "not today", "data": {"why": "rain"}}))
        }
        Some("ask") if params["inputResponses"].is_null() => Ok(json!({
            "resultType": "input_required", "requestState": "sealed",
            "inputRequests": {"who": {"method": "elicitation/create", "params": {"message": "Who?"}}},
        })),
        Some("ask") => Ok(text(&params["inputResponses"]["who"].to_string())),
        _ => Ok(text(asked.name)),
    }
}
