//! A small gateway for tests: `gateway --stdio|--http PORT [--servers JSON] [--config JSON] [--echo] [--tasks]`.
//!
//! `--servers` is an object of server settings as the config has them, `--config` the settings of the MCP server. With
//! `--http` the address is printed when it listens; `--echo` adds a local tool of that name, `--tasks` a queue and the tools
//! that the conformance suite wants to see in it. `switchboard serve` is the real thing.

mod queue;
mod suite;

use std::{env, error::Error, io::Write, sync::Arc};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::any,
    serve::ListenerExt,
};
use indexmap::IndexMap;
use serde::de::DeserializeOwned;
use switchboard_mcp::{
    client::{McpConfig, ServerConfig, Servers, Surroundings},
    server::{Bridge, Caller, Config, Fleet, Server},
};
use switchboard_runtime::{
    ToolExecutor,
    toolcall::{CallContext, schemars, tool_fn},
};

use queue::{Calls, MemoryQueue};

/// Answers with its text.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Echo {
    text: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let executor = ToolExecutor::default();
    if args.iter().any(|arg| arg == "--echo") {
        let echo = |Echo { text }, _: CallContext| async move { text };
        executor.tools().add(tool_fn("echo", echo))?;
    }
    let mut fleet = Fleet::default();
    if args.iter().any(|arg| arg == "--tasks") {
        let queue = MemoryQueue { calls: Calls::default(), executor: executor.clone() };
        suite::add(executor.tools(), &queue.calls)?;
        fleet.calls = Some(Arc::new(queue));
    }
    let around = Surroundings {
        tools: Arc::downgrade(executor.tools()),
        mcp: McpConfig::default(),
        answers: Arc::new(Bridge),
        announce: Arc::new(|told| _ = writeln!(std::io::stderr(), "{}", told.error())),
        guard: None,
    };
    let servers: IndexMap<String, ServerConfig> = json(&args, "--servers")?.unwrap_or_default();
    let servers = Arc::new(Servers::start(servers, executor.tools(), &around)?);
    servers.settled().await;
    let config: Config = json(&args, "--config")?.unwrap_or_default();
    let server = Server::in_fleet(executor, Some(servers.clone()), config, fleet);
    match value(&args, "--http") {
        Some(port) => listen(server, port.parse()?).await?,
        None => {
            let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
            server.serve_stdio(input, output, Caller::default()).await?;
        }
    }
    servers.close().await;
    Ok(())
}

fn value<'a>(args: &'a [String], name: &str) -> Option<&'a str> {
    let at = args.iter().position(|arg| arg == name)?;
    args.get(at + 1).map(String::as_str)
}

fn json<T: DeserializeOwned>(args: &[String], name: &str) -> Result<Option<T>, serde_json::Error> {
    value(args, name).map(serde_json::from_str).transpose()
}

async fn listen(server: Server, port: u16) -> Result<(), Box<dyn Error>> {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "http://{}/mcp", listener.local_addr()?)?;
    stdout.flush()?;
    // Without this an event waits for the acknowledgement of the one before it.
    let listener = listener.tap_io(|stream| _ = stream.set_nodelay(true));
    let app = Router::new().route("/mcp", any(handle)).with_state(server);
    Ok(axum::serve(listener, app).await?)
}

async fn handle(State(server): State<Server>, request: Request) -> Response {
    if !is_local(&request) {
        return StatusCode::FORBIDDEN.into_response();
    }
    server.handle(request, &Caller::default()).await.map(Body::new)
}

/// Whether the request comes from this machine, and from no web page of another.
fn is_local(request: &Request) -> bool {
    let local = |authority: &str| {
        let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
        matches!(host, "127.0.0.1" | "localhost" | "[::1]")
    };
    let text = |name| request.headers().get(name).map(|value| value.to_str().unwrap_or("?"));
    let origin = text(header::ORIGIN).is_none_or(|origin| {
        origin.split_once("://").is_some_and(|(_, authority)| local(authority))
    });
    origin && text(header::HOST).is_some_and(local)
}
