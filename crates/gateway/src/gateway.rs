//! The gateway: what it is made of, and how a request finds its way.

use std::sync::Arc;

use axum::{Router, extract::Request, middleware, response::Response};
use switchboard_runtime::ToolExecutor;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower_service::Service;

use crate::{Access, Config, Feed, Models, admission, listen, openai, rest};

/// What a gateway is made of.
pub struct Parts {
    /// Runs the calls.
    pub executor: ToolExecutor,
    /// Tells of them; the executor's recorder.
    pub feed: Arc<Feed>,
    /// Decides about requests.
    pub access: Access,
    /// What chat clients may ask.
    pub models: Models,
    /// The settings.
    pub config: Config,
}

/// Serves tools over HTTP. Cheap to clone.
#[derive(Clone)]
pub struct Gateway {
    parts: Arc<Parts>,
    router: Router,
}

impl Gateway {
    /// A gateway of these parts.
    pub fn new(parts: Parts) -> Self {
        let parts = Arc::new(parts);
        let admit = middleware::from_fn_with_state(parts.clone(), admission::admit);
        let chat = openai::in_its_words(openai::routes().route_layer(admit.clone()));
        let guarded = rest::routes().route_layer(admit).merge(chat);
        let router = guarded.merge(rest::open_routes()).fallback(rest::nothing_here);
        Self { router: router.with_state(parts.clone()), parts }
    }

    /// Serves until `stop` fires, then lets calls finish within the limit.
    pub async fn run(self, listener: TcpListener, stop: CancellationToken) {
        listen::run(self, listener, stop).await;
    }

    /// Answers one request.
    pub(crate) async fn answer(&self, request: Request) -> Response {
        let Ok(response) = self.router.clone().call(request).await;
        response
    }

    pub(crate) fn parts(&self) -> &Arc<Parts> {
        &self.parts
    }
}
