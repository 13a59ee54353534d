//! The gateway: its parts, and the routing of requests.

use std::sync::{Arc, OnceLock};

use axum::{
    Extension, Router,
    body::Body,
    extract::DefaultBodyLimit,
    middleware,
    response::{IntoResponse, Response},
};
use hyper::{Request, body::Incoming};
use switchboard_access::{Access, ConnectionUser};
use switchboard_agent::ChatStore;
use switchboard_apis::Apis;
use switchboard_approvals::ApprovalQueue;
use switchboard_audit::{SharedRecords, Store};
use switchboard_mcp_client::Servers;
use switchboard_runtime::{DurableCalls, ToolExecutor};
use tokio::net::{TcpListener, UnixListener};
use tokio_util::sync::CancellationToken;
use tower_service::Service;

use crate::{
    About, Config, ConfigState, Feed, Models,
    access_log::AccessLogLine,
    admission, console,
    cors::AllowedOrigin,
    draining::Draining,
    error::explain_wrong_method,
    listen, metadata, oauth, openai,
    privacy::Privacy,
    questions::Questions,
    rest,
    rule_compiler::RuleCompiler,
    running_calls::{InteractiveCalls, RunningCalls},
    server_editor::ServerEditor,
    sign_in_page,
    tls::Tls,
};

/// The parts of a gateway.
pub struct Parts {
    /// Runs the calls.
    pub executor: ToolExecutor,
    /// Speaks to MCP clients.
    pub mcp: switchboard_mcp_server::Server,
    /// The MCP servers, if there are any.
    pub servers: Option<Arc<Servers>>,
    /// The APIs, if there are any.
    pub apis: Option<Arc<Apis>>,
    /// Publishes events about calls; it is the executor's observer.
    pub feed: Arc<Feed>,
    /// The store of call records; if `None`, they are only in memory.
    pub store: Option<Store>,
    /// The call records of all nodes; `None` without a cluster.
    pub shared_records: Option<Arc<dyn SharedRecords>>,
    /// Authenticates and authorises requests.
    pub access: Access,
    /// The certificate, if we terminate TLS.
    pub tls: Option<Tls>,
    /// The queue of held calls; `None` if no call can be held.
    pub approvals: Option<Arc<ApprovalQueue>>,
    /// The queue of durable calls; `None` if no call can be queued.
    pub queue: Option<Arc<dyn DurableCalls>>,
    /// The models that chat clients may use.
    pub models: Models,
    /// Where chats are kept.
    pub chats: ChatStore,
    /// The config as it is shown.
    pub config_state: ConfigState,
    /// Changes the servers of the config; `None` if that is not possible here.
    pub server_editor: Option<Arc<dyn ServerEditor>>,
    /// Compiles expressions that are tried on recorded calls; `None` if that is not possible here.
    pub rule_compiler: Option<Arc<dyn RuleCompiler>>,
    /// The gateway's description of itself.
    pub about: About,
    /// The settings.
    pub config: Config,
}

/// Serves tools over HTTP. Cheap to clone.
#[derive(Clone)]
pub struct Gateway {
    parts: Arc<Parts>,
    /// Built for the first request that needs it: many clients only use `/mcp`.
    router: Arc<OnceLock<Router>>,
    /// Signals that no new requests are started.
    draining: Draining,
    /// Questions of MCP servers to callers over HTTP.
    questions: Questions,
}

impl Gateway {
    /// Creates a gateway of these parts.
    pub fn new(parts: Parts) -> Self {
        Self {
            router: Arc::default(),
            parts: Arc::new(parts),
            draining: Draining::default(),
            questions: Questions::default(),
        }
    }

    /// Serves until `stop` fires, then lets calls finish within the limit.
    pub async fn run(self, listener: TcpListener, stop: CancellationToken) {
        self.run_with_socket(listener, None, stop).await;
    }

    /// Like [`run`](Self::run), also on a Unix socket, where programs of the same user need no token.
    pub async fn run_with_socket(
        self,
        listener: TcpListener,
        socket: Option<UnixListener>,
        stop: CancellationToken,
    ) {
        listen::run(self, listener, socket, stop).await;
    }

    /// Responds to one request of a connection from `peer`.
    pub(crate) async fn answer(
        &self,
        request: Request<Incoming>,
        peer: ConnectionUser,
    ) -> Response {
        let (head, body) = request.into_parts();
        let line = self.parts.config.access_log.then(|| AccessLogLine::begin(&head));
        let page = AllowedOrigin::of(&self.parts.access, &head);
        let mut response = match page.as_ref().and_then(|page| page.preflight(&head)) {
            Some(response) => response,
            None => self.route(Request::from_parts(head, body), peer).await,
        };
        if let Some(page) = page {
            response = page.show(response);
        }
        match line {
            Some(line) => line.follow(response),
            None => response,
        }
    }

    async fn route(&self, mut request: Request<Incoming>, peer: ConnectionUser) -> Response {
        // Most requests are for `/mcp`, and need no routing.
        let response = if let Err(refusal) = admission::check_head(&request) {
            refusal.into_response()
        } else if admission::is_mcp(request.uri().path()) {
            admission::mcp(&self.parts, request, peer).await
        } else {
            let privacy = Privacy::of(request.uri().path());
            let (method, uri) = (request.method().clone(), request.uri().clone());
            request.extensions_mut().insert(peer);
            let router = self.router.get_or_init(|| self.routes());
            let Ok(response) = router.clone().call(request.map(Body::new)).await;
            privacy.mark(explain_wrong_method(response, &method, uri.path()))
        };
        self.parts.feed.metrics().answered(response.status().as_u16());
        response
    }

    fn routes(&self) -> Router {
        let admit = middleware::from_fn_with_state(self.parts.clone(), admission::admit);
        let chat = openai::with_openai_errors(openai::routes().route_layer(admit.clone()));
        let guarded = rest::routes().route_layer(admit).merge(chat);
        let own = middleware::from_fn_with_state(self.parts.clone(), admission::look);
        let session = rest::session_routes().merge(oauth::routes()).route_layer(own);
        let visit = middleware::from_fn_with_state(self.parts.clone(), admission::visit);
        let page = console::routes().merge(oauth::pages()).route_layer(visit);
        let open = rest::open_routes().merge(metadata::routes()).merge(session).merge(page);
        let open = open.merge(sign_in_page::routes(&self.parts));
        let router = guarded.merge(open).fallback(rest::nothing_here);
        // `admission` limits bodies, by the config.
        let router = router.layer(DefaultBodyLimit::disable());
        let router = router.layer(Extension(self.draining.clone()));
        let running = RunningCalls::default();
        let questions = self.questions.clone();
        let router = router.layer(Extension(running.clone()));
        let router = router.layer(Extension(InteractiveCalls { questions, running }));
        router.layer(Extension(self.questions.clone())).with_state(self.parts.clone())
    }

    /// Ends event streams, and closes connections once their requests have been answered.
    pub(crate) fn drain(&self) {
        self.draining.begin();
        self.parts.mcp.drain();
    }

    pub(crate) fn draining(&self) -> &Draining {
        &self.draining
    }

    pub(crate) fn parts(&self) -> &Arc<Parts> {
        &self.parts
    }
}
