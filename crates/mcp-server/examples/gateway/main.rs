//! A small gateway for tests: `gateway --stdio|--http PORT [--servers JSON] [--config JSON] [--profiles JSON] [--echo]
//! [--services] [--tasks] [--gateways COUNT]`.
//!
//! `--servers` is an object of server settings as the config has them, `--config` the settings of the MCP server. With
//! `--http` the address is printed when it listens; `--profiles`, an object of profiles, are behind it, each at its name.
//! `--echo` adds a local tool of that name, `--services` the runtime's own tools, `--tasks` a queue and the tools
//! that the conformance suite wants to see in it. `--gateways` has that many of them in one process, which share a secret, and
//! deals requests out to one after the other. `switchboard serve` is the real thing.

mod faces;
mod memory_peers;
mod queue;
mod suite;

use std::{
    env,
    error::Error,
    io::Write,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

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
use switchboard_mcp_client::{ServerConfig, ServerDeps, Servers};
use switchboard_mcp_server::{Bridge, ClusterServices, Config, McpCaller, Seal, Server};
use switchboard_runtime::{
    ToolExecutor,
    toolcall::{Annotations, CallContext, schemars, tool_fn},
};

use memory_peers::MemoryPeers;
use queue::{Calls, MemoryQueue};

/// Answers with its text.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Echo {
    text: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let count = value(&args, "--gateways").map_or(Ok(1), str::parse)?;
    let shared = SharedParts::default();
    let mut gateways = Vec::new();
    for _ in 0..count {
        gateways.push(Gateway::start(&args, &shared).await?);
    }
    match value(&args, "--http") {
        Some(port) => listen(&gateways, port.parse()?).await?,
        None => {
            let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
            gateways[0].server.serve_stdio(input, output, McpCaller::default()).await?;
        }
    }
    for gateway in gateways {
        gateway.servers.close().await;
    }
    Ok(())
}

/// What all gateways of the process share.
#[derive(Default)]
struct SharedParts {
    peers: MemoryPeers,
    calls: Calls,
}

/// One gateway, with servers of its own behind it.
struct Gateway {
    server: Server,
    executor: ToolExecutor,
    servers: Arc<Servers>,
}

impl Gateway {
    async fn start(args: &[String], shared: &SharedParts) -> Result<Self, Box<dyn Error>> {
        let executor = ToolExecutor::default();
        let services = services(args, &executor, shared)?;
        let around = ServerDeps {
            answers: Arc::new(Bridge::to_clients()),
            announce: Arc::new(|told| _ = writeln!(std::io::stderr(), "{}", told.error())),
            ..ServerDeps::new(executor.tools())
        };
        let servers: IndexMap<String, ServerConfig> = json(args, "--servers")?.unwrap_or_default();
        let servers = Arc::new(Servers::start(servers, executor.tools(), &around)?);
        servers.wait_until_ready().await;
        faces::set_profiles(&executor, json(args, "--profiles")?.unwrap_or_default())?;
        let config: Config = json(args, "--config")?.unwrap_or_default();
        let server = Server::in_cluster(executor.clone(), Some(servers.clone()), config, services);
        shared.peers.add(&server);
        Ok(Self { server, executor, servers })
    }
}

/// The tools of this process, and what gateways share.
fn services(
    args: &[String],
    executor: &ToolExecutor,
    shared: &SharedParts,
) -> Result<ClusterServices, Box<dyn Error>> {
    if args.iter().any(|arg| arg == "--echo") {
        let echo = |Echo { text }, _: CallContext| async move { text };
        executor.tools().add(tool_fn("echo", echo).annotate(Annotations::READ_ONLY))?;
    }
    if args.iter().any(|arg| arg == "--services") {
        for service in switchboard_runtime::services::all(executor) {
            executor.tools().add_shared(service)?;
        }
    }
    let mut services = ClusterServices::default();
    if args.iter().any(|arg| arg == "--tasks") {
        let queue = MemoryQueue(shared.calls.clone());
        suite::add(executor.tools(), &queue.0)?;
        services.calls = Some(Arc::new(queue));
    }
    if value(args, "--gateways").is_some() {
        services.seal = Some(Arc::new(Seal::new(b"a secret of no use elsewhere", [])?));
        services.peers = Some(Arc::new(shared.peers.clone()));
    }
    Ok(services)
}

fn value<'a>(args: &'a [String], name: &str) -> Option<&'a str> {
    let at = args.iter().position(|arg| arg == name)?;
    args.get(at + 1).map(String::as_str)
}

fn json<T: DeserializeOwned>(args: &[String], name: &str) -> Result<Option<T>, serde_json::Error> {
    value(args, name).map(serde_json::from_str).transpose()
}

/// Deals requests out to one server after the other.
#[derive(Clone)]
struct Balancer {
    gateways: Arc<[(Server, ToolExecutor)]>,
    dealt: Arc<AtomicUsize>,
}

async fn listen(gateways: &[Gateway], port: u16) -> Result<(), Box<dyn Error>> {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "http://{}/mcp", listener.local_addr()?)?;
    stdout.flush()?;
    // Without this an event waits for the acknowledgement of the one before it.
    let listener = listener.tap_io(|stream| _ = stream.set_nodelay(true));
    let gateways =
        gateways.iter().map(|gateway| (gateway.server.clone(), gateway.executor.clone()));
    let balancer = Balancer { gateways: gateways.collect(), dealt: Arc::default() };
    let app = Router::new()
        .route("/mcp", any(handle))
        .route("/mcp/{profile}", any(handle))
        .with_state(balancer);
    Ok(axum::serve(listener, app).await?)
}

async fn handle(State(balancer): State<Balancer>, request: Request) -> Response {
    if !is_local(&request) {
        return StatusCode::FORBIDDEN.into_response();
    }
    let dealt = balancer.dealt.fetch_add(1, Ordering::Relaxed);
    let (server, executor) = &balancer.gateways[dealt % balancer.gateways.len()];
    match faces::caller(executor, request.uri()) {
        Some(caller) => server.handle(request, &caller).await.map(Body::new),
        None => StatusCode::NOT_FOUND.into_response(),
    }
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
