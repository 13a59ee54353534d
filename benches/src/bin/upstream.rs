//! Upstream MCP server for the benchmark: cheap tools, so that what is in front of it is measured.
//!
//!     upstream http --bind 127.0.0.1:9100 [--tools 1000] [--sessions] [--sse] [--threads 1]
//!     upstream stdio [--tools 1000]
//!
//! Tools: echo{text}, add{a,b}, big{kib}, sleep{ms}; `--tools N` adds N generated ones
//! (`gen_0000`...), each with a six-field schema, which all echo.

use std::{sync::Arc, time::Duration};

use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
        PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    },
    service::RequestContext,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use serde_json::{Map, Value, json};

#[derive(Clone)]
struct Fixture {
    tools: Arc<Vec<Tool>>,
}

fn schema(v: Value) -> Arc<Map<String, Value>> {
    match v {
        Value::Object(m) => Arc::new(m),
        _ => Arc::default(),
    }
}

impl Fixture {
    fn new(extra: usize) -> Self {
        let mut tools = vec![
            Tool::new(
                "echo",
                "Returns its text argument",
                schema(
                    json!({"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}),
                ),
            ),
            Tool::new(
                "add",
                "Adds two integers",
                schema(
                    json!({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}),
                ),
            ),
            Tool::new(
                "big",
                "Returns kib KiB of text",
                schema(
                    json!({"type":"object","properties":{"kib":{"type":"integer","minimum":0,"maximum":65536}},"required":["kib"]}),
                ),
            ),
            Tool::new(
                "sleep",
                "Sleeps ms milliseconds",
                schema(
                    json!({"type":"object","properties":{"ms":{"type":"integer","minimum":0}},"required":["ms"]}),
                ),
            ),
        ];
        for i in 0..extra {
            tools.push(Tool::new(
                format!("gen_{i:04}"),
                format!("Generated tool number {i}: takes a handful of arguments of several types and echoes them back"),
                schema(json!({"type":"object","properties":{
                    "text":{"type":"string","description":"text to echo"},
                    "limit":{"type":"integer","minimum":1,"maximum":100,"description":"how many rows to return"},
                    "mode":{"type":"string","enum":["fast","safe","dry-run"]},
                    "tags":{"type":"array","items":{"type":"string"}},
                    "verbose":{"type":"boolean","default":false},
                    "filter":{"type":"object","properties":{"field":{"type":"string"},"value":{"type":"string"}}}
                },"required":["text"]})),
            ));
        }
        Fixture { tools: Arc::new(tools) }
    }
}

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.as_ref().clone()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut args = request.arguments.unwrap_or_default();
        let bad = |what: &'static str| ErrorData::invalid_params(what, None);
        let text = match request.name.as_ref() {
            "add" => {
                let get = |k: &str| args.get(k).and_then(Value::as_i64);
                let (a, b) =
                    get("a").zip(get("b")).ok_or_else(|| bad("a and b must be integers"))?;
                a.wrapping_add(b).to_string()
            }
            "big" => {
                let kib = args
                    .get("kib")
                    .and_then(Value::as_u64)
                    .ok_or_else(|| bad("kib must be an integer"))?;
                "x".repeat(kib.min(65536) as usize * 1024)
            }
            "sleep" => {
                let ms = args
                    .get("ms")
                    .and_then(Value::as_u64)
                    .ok_or_else(|| bad("ms must be an integer"))?;
                tokio::time::sleep(Duration::from_millis(ms)).await;
                ms.to_string()
            }
            name if name == "echo" || name.starts_with("gen_") => match args.remove("text") {
                Some(Value::String(s)) => s,
                _ => return Err(bad("text must be a string")),
            },
            _ => return Err(bad("no such tool")),
        };
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let flag = |f: &str| args.iter().any(|a| a == f);
    let value = |f: &str| args.iter().position(|a| a == f).and_then(|i| args.get(i + 1)).cloned();
    let extra = value("--tools").map_or(Ok(0), |v| v.parse())?;
    let threads: usize = value("--threads").map_or(Ok(1), |v| v.parse())?;
    let fixture = Fixture::new(extra);
    let runtime = if threads > 1 {
        tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?
    } else {
        tokio::runtime::Builder::new_current_thread().enable_all().build()?
    };
    match args.first().map(String::as_str) {
        Some("stdio") => runtime.block_on(async {
            fixture.serve(rmcp::transport::stdio()).await?.waiting().await?;
            Ok(())
        }),
        Some("http") => runtime.block_on(async {
            let bind = value("--bind").unwrap_or_else(|| "127.0.0.1:9100".into());
            let config = StreamableHttpServerConfig::default()
                .with_legacy_session_mode(flag("--sessions"))
                .with_json_response(!flag("--sse"));
            let service = StreamableHttpService::new(
                move || Ok(fixture.clone()),
                Arc::new(LocalSessionManager::default()),
                config,
            );
            let app = axum::Router::new().fallback_service(service);
            let listener = tokio::net::TcpListener::bind(&bind).await?;
            eprintln!("upstream on http://{bind}/mcp");
            axum::serve(listener, app).await?;
            Ok(())
        }),
        _ => Err("usage: upstream http|stdio [--bind ADDR] [--tools N] [--sessions] [--sse] [--threads N]".into()),
    }
}
