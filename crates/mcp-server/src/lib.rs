//! Serves our tools, and the resources and prompts of upstream servers, to any MCP client.
//!
//! One [`Server`] answers both eras at one endpoint, decided request by request: sessions opened by `initialize`
//! (`session.rs`) and stateless requests (`stateless.rs`). `http` and `stdio` are the two transports. Every tool call, and
//! whatever else a client asks of an upstream server (`methods/forward.rs`), goes through the executor; the embedder
//! says who is calling ([`McpCaller`]).
//!
//! ```
//! use switchboard_mcp_server::{McpCaller, Config, Server};
//! use switchboard_runtime::ToolExecutor;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let server = Server::new(ToolExecutor::default(), None, Config::default());
//! // Within any HTTP server, once the request is authorized:
//! let body = http_body_util::Full::new(bytes::Bytes::from("{}"));
//! let request = http::Request::post("/mcp").body(body).unwrap();
//! let response = server.handle(request, &McpCaller::named("somebody")).await;
//! assert_eq!(response.status(), 400);
//! # }
//! ```

mod caller;
mod discovery;
mod config;
mod http;
mod stdio;
mod cluster_services;
mod bridge;
mod sessions;
mod session;
mod seal;
mod session_peers;
mod session_adoption;
mod rpc_request;
mod stateless;
mod exchange;
mod questions;
mod suspended_calls;
mod outbox;
mod methods;
mod tasks;
mod reply;
mod page;
mod catalog;
mod subscriptions;
mod template;
mod list_changes;
mod token;

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_runtime::ToolExecutor;
use tokio::sync::broadcast;
use tokio_util::sync::{CancellationToken, DropGuard};

pub use bridge::Bridge;
pub use caller::McpCaller;
pub use cluster_services::ClusterServices;
pub use config::Config;
pub use http::{Admission, McpBody, Permit};
use list_changes::AnnouncedChange;
pub use seal::{Seal, WeakSecret};
pub use session_peers::SessionPeers;
use switchboard_mcp_wire::Upstreams;
pub use switchboard_toolcall::DiscoveryMode;

/// Serves MCP. Cheap to clone; made and used within a tokio runtime.
#[derive(Clone)]
pub struct Server {
    inner: Arc<ServerInner>,
}

/// State that all requests share.
pub(crate) struct ServerInner {
    /// The name of this gateway among its peers.
    name: String,
    executor: ToolExecutor,
    catalog: catalog::Catalog,
    sessions: sessions::SessionTable,
    /// Seals sessions into their ids, so that another gateway can adopt them.
    seal: Option<Arc<Seal>>,
    peers: Option<Arc<dyn SessionPeers>>,
    ended_sessions: session_adoption::EndedSessions,
    suspended: suspended_calls::SuspendedCalls,
    /// Calls that were suspended here and resumed through another gateway.
    resumed: suspended_calls::ResumedCalls,
    subscriptions: subscriptions::Subscriptions,
    /// Calls that outlive their requests; `None` if there is no queue.
    tasks: Option<tasks::Tasks>,
    /// Changes, for `subscriptions/listen`.
    changes: broadcast::Sender<AnnouncedChange>,
    config: Config,
    info: Value,
    /// Fires when no stream should stay open for changes alone.
    draining: CancellationToken,
    /// Ends the background tasks.
    _end: DropGuard,
}

impl Server {
    /// Serves the executor's tools, and the resources and prompts of the upstream servers.
    pub fn new(
        executor: ToolExecutor,
        upstreams: Option<Arc<dyn Upstreams>>,
        config: Config,
    ) -> Self {
        Self::in_cluster(executor, upstreams, config, ClusterServices::default())
    }

    /// Like [`new`](Self::new), with what this server shares with other gateways.
    pub fn in_cluster(
        executor: ToolExecutor,
        upstreams: Option<Arc<dyn Upstreams>>,
        config: Config,
        services: ClusterServices,
    ) -> Self {
        let end = CancellationToken::new();
        let name = token::random().unwrap_or_default();
        let mut suspended = suspended_calls::SuspendedCalls::new(config.max_held);
        if services.peers.is_some() {
            suspended = suspended.at(&name);
        }
        let calls = services.calls;
        let tasks = calls.map(|calls| tasks::Tasks::new(calls, executor.clone(), &config));
        let inner = Arc::new(ServerInner {
            name,
            catalog: catalog::Catalog::new(&executor, upstreams.clone()),
            executor,
            sessions: sessions::SessionTable::new(config.max_sessions),
            seal: services.seal,
            peers: services.peers,
            ended_sessions: session_adoption::EndedSessions::default(),
            suspended,
            resumed: suspended_calls::ResumedCalls::default(),
            subscriptions: subscriptions::Subscriptions::default(),
            tasks,
            changes: broadcast::Sender::new(256),
            info: json!({"name": config.name, "title": config.title, "version": config.version}),
            config,
            draining: CancellationToken::new(),
            _end: end.clone().drop_guard(),
        });
        list_changes::follow(&inner, upstreams.as_deref(), &end);
        Self { inner }
    }

    /// Returns how many sessions are open.
    pub fn sessions(&self) -> usize {
        self.inner.sessions.count()
    }

    /// Ends the streams that only wait for changes, so that draining need not wait for them. Calls go on.
    pub fn drain(&self) {
        self.inner.draining.cancel();
        self.inner.sessions.interrupt();
    }

    /// Ends all sessions: their streams end and their requests are cancelled.
    pub fn close(&self) {
        for session in self.inner.sessions.take_all() {
            self.inner.end(&session);
        }
    }
}

impl ServerInner {
    /// Ends a session and releases its subscriptions and upstream state.
    fn end(&self, session: &session::Session) {
        self.sessions.remove(session);
        for uri in session.close() {
            self.subscriptions.remove(&uri);
        }
        self.catalog.release(&session.id);
    }

    /// Returns the capabilities of this server, as both eras declare them.
    fn capabilities(&self, caller: &McpCaller) -> Value {
        let mut capabilities = json!({"tools": {"listChanged": true}});
        if self.catalog.has_upstreams_for(caller) {
            capabilities["resources"] = json!({"subscribe": true, "listChanged": true});
            capabilities["prompts"] = json!({"listChanged": true});
            capabilities["completions"] = json!({});
            capabilities["logging"] = json!({});
        }
        capabilities
    }
}
