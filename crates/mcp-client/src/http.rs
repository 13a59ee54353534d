//! Streamable HTTP: each message is a POST, its response JSON or a stream of events.
//!
//! Speaks both eras: sessions, the listening stream and resumed responses up to 2025-11-25; stateless requests in
//! 2026-07-28. The session sets the era ([`HttpTransport::set_era`]).

use std::{
    pin::{Pin, pin},
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::Duration,
};

use http::{HeaderMap, Method, header::CONTENT_TYPE};
use serde_json::value::RawValue;
use switchboard_mcp_wire::{Era, Outgoing, RpcError};
use switchboard_toolcall::BoxFuture;
use tokio::{sync::oneshot, time::timeout};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use super::transport::{Failure, SharedInbox, Transport, TransportRequest};

mod config;
pub(super) mod shared;
pub(super) mod request_headers;
pub(super) mod engine;
mod pool;
mod connect;
mod proxy;
pub(super) mod answer;
pub(super) mod stream;
mod error_reason;

pub use config::{HttpConfig, HttpConfigError};
use engine::Engine;
pub use proxy::Proxies;
use request_headers::HttpState;
use shared::{CancelOnDrop, HttpShared};

/// How long ending a session may take.
const GOODBYE: Duration = Duration::from_secs(2);

/// How long a server has to open the listening stream before requests go on without it.
const LISTENING: Duration = Duration::from_millis(500);

/// A server behind streamable HTTP.
pub struct HttpTransport {
    shared: Arc<HttpShared>,
    listener: Mutex<Option<AbortOnDropHandle<()>>>,
    closed: CancellationToken,
}

impl HttpTransport {
    /// Creates a transport for the server `name`. Opens no connection before the first request.
    ///
    /// # Errors
    /// Fails if the settings are invalid.
    pub fn new(
        name: &str,
        config: &HttpConfig,
        inbox: SharedInbox,
    ) -> Result<Arc<Self>, HttpConfigError> {
        let url = config.url()?;
        let headers = request_headers::configured(
            &url,
            &config.headers,
            "application/json, text/event-stream",
        )?;
        let shared = HttpShared {
            name: name.into(),
            engine: match &config.socket {
                Some(socket) => Engine::over_socket(url, socket, config.connect_timeout)?,
                None => Engine::new(url, &config.proxies, config.connect_timeout)?,
            }
            .signed_in(config.authorizer.clone()),
            state: RwLock::new(HttpState::new(headers)),
            inbox,
            max_message: config.max_message,
        };
        Ok(Arc::new(Self {
            shared: Arc::new(shared),
            listener: Mutex::default(),
            closed: CancellationToken::new(),
        }))
    }

    /// Sets the era that was agreed on: all further messages follow it.
    pub fn set_era(&self, era: Era) {
        self.shared.with_state(|state| state.set_era(era));
    }

    async fn ask(&self, request: TransportRequest<'_>) -> Result<Box<RawValue>, Failure> {
        let first_message = request.method == "initialize";
        if first_message {
            self.set_listener(None);
            self.shared.with_state(HttpState::forget);
        }
        let request_headers = self.shared.state().headers_of(request.method, request.headers)?;
        let mut cancel_on_drop = (request_headers.legacy && request.cancellable)
            .then(|| CancelOnDrop::new(self.shared.clone(), request.id));
        let asked = async {
            let response = self.shared.post(&request_headers, request.message).await?;
            if first_message && response.status().is_success() {
                let session = response.headers().get(request_headers::SESSION).cloned();
                self.shared.with_state(|state| state.set_session(session));
            }
            self.shared.answer(response, request.id, &request_headers).await
        };
        let answer = self.unless_closed(pin!(asked)).await;
        cancel_on_drop.as_mut().map(CancelOnDrop::disarm);
        answer
    }

    /// Runs `work` until it completes or the transport is closed. Takes it pinned, because moving it in would double the
    /// size of the future.
    async fn unless_closed<T>(
        &self,
        work: Pin<&mut impl Future<Output = Result<T, Failure>>>,
    ) -> Result<T, Failure> {
        tokio::select! {
            biased;
            () = self.closed.cancelled() => Err(Failure::Lost("the connection was closed".to_owned())),
            done = work => done,
        }
    }

    fn set_listener(&self, listener: Option<AbortOnDropHandle<()>>) {
        *self.listener.lock().unwrap_or_else(PoisonError::into_inner) = listener;
    }

    /// Opens the stream on which legacy servers send messages outside of responses. Returns once the server has responded
    /// to that: a request that it sends before the stream is open would get lost, and the call that needs it would hang.
    async fn listen(&self) {
        let shared = self.shared.clone();
        let (answered, opened) = oneshot::channel();
        let task = tokio::spawn(async move { stream::listen(&shared, answered).await });
        self.set_listener(Some(AbortOnDropHandle::new(task)));
        // Some servers do not send the response head before the first event.
        let _ = timeout(LISTENING, opened).await;
    }
}

impl Transport for HttpTransport {
    fn request<'a>(
        &'a self,
        request: TransportRequest<'a>,
    ) -> BoxFuture<'a, Result<Box<RawValue>, Failure>> {
        Box::pin(self.ask(request))
    }

    fn notify<'a>(
        &'a self,
        method: &'a str,
        params: Option<&'a RawValue>,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            let body = Outgoing::notification(method, params).to_bytes();
            let request_headers = self.shared.state().headers_of(method, &[])?;
            self.unless_closed(pin!(self.shared.tell(&request_headers, body))).await?;
            if request_headers.legacy && method == "notifications/initialized" {
                self.listen().await;
            }
            Ok(())
        })
    }

    fn respond<'a>(
        &'a self,
        id: &'a RawValue,
        outcome: Result<Box<RawValue>, RpcError>,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            let body = Outgoing::response(id, &outcome).to_bytes();
            let request_headers = self.shared.request_headers();
            self.unless_closed(pin!(self.shared.tell(&request_headers, body))).await
        })
    }

    fn lost(&self) -> BoxFuture<'_, String> {
        // Each request has its own connection, so there is no connection that could be lost.
        Box::pin(std::future::pending())
    }

    fn has_session(&self) -> bool {
        self.shared.state().session().is_some()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.closed.cancel();
            self.set_listener(None);
            let mut headers = HeaderMap::clone(&self.shared.request_headers().headers);
            headers.remove(CONTENT_TYPE);
            let open = self.shared.state().session().is_some();
            self.shared.with_state(HttpState::forget);
            if open {
                // The session is over for us, whether and whatever the server responds.
                let goodbye = self.shared.send(Method::DELETE, &headers);
                let _ = timeout(GOODBYE, goodbye).await;
            }
        })
    }
}
