//! A server on rmcp, the official Rust SDK, within the test's own process.

use std::sync::Arc;

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
        PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities,
        ServerConfig as ServerInfo, Tool,
    },
    service::RequestContext,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use serde_json::{Map, Value, json};
use switchboard_mcp_client::ServerConfig;
use tokio::{net::TcpListener, sync::Notify};
use tokio_util::task::AbortOnDropHandle;

/// What its tool `wait` tells the test.
#[derive(Default)]
pub(crate) struct Waiting {
    pub(crate) began: Notify,
    pub(crate) cancelled: Notify,
}

/// A server that listens until it is dropped.
pub(crate) struct RustServer {
    url: String,
    pub(crate) waiting: Arc<Waiting>,
    _task: AbortOnDropHandle<()>,
}

impl RustServer {
    pub(crate) async fn start(settings: StreamableHttpServerConfig) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let waiting = Arc::new(Waiting::default());
        let handler = Handler(waiting.clone());
        let sessions = Arc::new(LocalSessionManager::default());
        let service = StreamableHttpService::new(move || Ok(handler.clone()), sessions, settings);
        let router = axum::Router::new().fallback_service(service);
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, waiting, _task: AbortOnDropHandle::new(task) }
    }

    pub(crate) fn config(&self) -> ServerConfig {
        ServerConfig { url: Some(self.url.clone()), ..ServerConfig::default() }
    }
}

#[derive(Clone)]
struct Handler(Arc<Waiting>);

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerInfo {
        ServerInfo::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = [
            tool("echo", json!({"text": {"type": "string"}})),
            tool("add", json!({"a": {"type": "integer"}, "b": {"type": "integer"}})),
            tool("fail", json!({"text": {"type": "string"}})),
            tool("count", json!({"steps": {"type": "integer"}})),
            tool("wait", json!({})),
        ];
        Ok(ListToolsResult::with_all_items(tools.to_vec()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let args = request.arguments.unwrap_or_default();
        let text = || vec![ContentBlock::text(args["text"].as_str().unwrap_or_default())];
        let number = |name: &str| args[name].as_i64().unwrap_or_default();
        let result = match request.name.as_ref() {
            "echo" => CallToolResult::success(text()),
            "fail" => CallToolResult::error(text()),
            "add" => CallToolResult::structured(json!({"sum": number("a") + number("b")})),
            "count" => count(number("steps"), &context).await,
            "wait" => {
                self.0.began.notify_one();
                context.ct.cancelled().await;
                self.0.cancelled.notify_one();
                CallToolResult::success(Vec::new())
            }
            _ => return Err(ErrorData::invalid_params("no such tool", None)),
        };
        Ok(result.into())
    }
}

async fn count(steps: i64, context: &RequestContext<RoleServer>) -> CallToolResult {
    if let Some(token) = context.meta.get_progress_token() {
        for step in 1..=steps {
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            let (step, steps) = (step as f64, steps as f64);
            let progress = ProgressNotificationParam::new(token.clone(), step).with_total(steps);
            context.peer.notify_progress(progress).await.unwrap();
        }
    }
    CallToolResult::success(vec![ContentBlock::text(format!("counted to {steps}"))])
}

fn tool(name: &'static str, properties: Value) -> Tool {
    let schema = [("type".to_owned(), "object".into()), ("properties".to_owned(), properties)];
    Tool::new(name, "A tool of the Rust server's", Arc::new(Map::from_iter(schema)))
}
