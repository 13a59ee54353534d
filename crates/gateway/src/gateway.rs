//! The gateway: what it is made of, and how a request finds its way.

use std::sync::{Arc, OnceLock};

use axum::{
    Extension, Router,
    body::Body,
    extract::DefaultBodyLimit,
    middleware,
    response::{IntoResponse, Response},
};
use hyper::{Request, body::Incoming};
use switchboard_access::{Access, Peer};
use switchboard_agent::ChatStore;
use switchboard_approvals::ApprovalQueue;
use switchboard_audit::Store;
use switchboard_mcp_client::Servers;
use switchboard_runtime::{DurableCalls, ToolExecutor};
use tokio::net::{TcpListener, UnixListener};
use tokio_util::sync::CancellationToken;
use tower_service::Service;

use crate::{
    About, Config, ConfigState, Feed, Models, access_log::AccessLogLine, admission, console,
    cors::AllowedOrigin, draining::Draining, listen, metadata, openai, privacy::Privacy,
    questions::Questions, rest, tls::Tls,
};

/// What a gateway is made of.
pub struct Parts {
    /// Runs the calls.
    pub executor: ToolExecutor,
    /// Speaks to MCP clients.
    pub mcp: switchboard_mcp_server::Server,
    /// The MCP servers, if there are any.
    pub servers: Option<Arc<Servers>>,
    /// Tells of them; the executor's recorder.
    pub feed: Arc<Feed>,
    /// Where the calls are written down; without it they are only in memory.
    pub store: Option<Store>,
    /// Decides about requests.
    pub access: Access,
    /// The certificate, if TLS is spoken here.
    pub tls: Option<Tls>,
    /// Where held calls wait for a person; without it there is no place for them.
    pub approvals: Option<Arc<ApprovalQueue>>,
    /// Where calls wait that outlive who asks; without it none can.
    pub queue: Option<Arc<dyn DurableCalls>>,
    /// What chat clients may ask.
    pub models: Models,
    /// Where chats are kept.
    pub chats: ChatStore,
    /// What is shown of the config.
    pub config_state: ConfigState,
    /// What it says of itself.
    pub about: About,
    /// The settings.
    pub config: Config,
}

/// Serves tools over HTTP. Cheap to clone.
#[derive(Clone)]
pub struct Gateway {
    parts: Arc<Parts>,
    /// Made for the first request that needs it: many clients only come to `/mcp`.
    router: Arc<OnceLock<Router>>,
    /// Fires when nothing new is begun any more.
    draining: Draining,
    /// What servers ask callers over HTTP.
    questions: Questions,
}

impl Gateway {
    /// A gateway of these parts.
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

    /// As [`run`](Self::run), also on a Unix socket, where programs of the same user need no token.
    pub async fn run_with_socket(
        self,
        listener: TcpListener,
        socket: Option<UnixListener>,
        stop: CancellationToken,
    ) {
        listen::run(self, listener, socket, stop).await;
    }

    /// Answers one request that came over a connection from `peer`.
    pub(crate) async fn answer(&self, request: Request<Incoming>, peer: Peer) -> Response {
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

    async fn route(&self, mut request: Request<Incoming>, peer: Peer) -> Response {
        // Most requests are to `/mcp`, and they need no routing.
        let response = if let Err(refusal) = admission::check_head(&request) {
            refusal.into_response()
        } else if request.uri().path() == "/mcp" {
            admission::mcp(&self.parts, request, peer).await
        } else {
            let privacy = Privacy::of(request.uri().path());
            request.extensions_mut().insert(peer);
            let router = self.router.get_or_init(|| self.routes());
            let Ok(response) = router.clone().call(request.map(Body::new)).await;
            privacy.mark(response)
        };
        self.parts.feed.metrics().answered(response.status().as_u16());
        response
    }

    fn routes(&self) -> Router {
        let admit = middleware::from_fn_with_state(self.parts.clone(), admission::admit);
        let chat = openai::with_openai_errors(openai::routes().route_layer(admit.clone()));
        let guarded = rest::routes().route_layer(admit).merge(chat);
        let own = middleware::from_fn_with_state(self.parts.clone(), admission::look);
        let session = rest::session_routes().route_layer(own);
        let visit = middleware::from_fn_with_state(self.parts.clone(), admission::visit);
        let page = console::routes().route_layer(visit);
        let open = rest::open_routes().merge(metadata::routes()).merge(session).merge(page);
        let router = guarded.merge(open).fallback(rest::nothing_here);
        // How large a body may be is said in `admission`, by the config.
        let router = router.layer(DefaultBodyLimit::disable());
        let router = router.layer(Extension(self.draining.clone()));
        router.layer(Extension(self.questions.clone())).with_state(self.parts.clone())
    }

    /// Ends what only watches, and lets connections end when they have been answered.
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
