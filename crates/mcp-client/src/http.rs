//! Streamable HTTP: each message is a POST, its answer JSON or a stream of events.
//!
//! Both eras: sessions, the listening stream and resumed answers up to 2025-11-25; requests that stand alone in
//! 2026-07-28. Which of them, the session says ([`HttpTransport::set_era`]).

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

use super::transport::{Failure, Request, SharedInbox, Transport};

mod config;
mod shared;
pub(super) mod state;
pub(super) mod engine;
mod pool;
mod connection;
mod connect;
mod proxy;
pub(super) mod answer;
pub(super) mod stream;
pub(super) mod take_back;
mod trouble;

pub use config::{Config, ConfigError};
use engine::Engine;
pub use proxy::Proxies;
use shared::Shared;
use state::State;
use take_back::TakeBack;

/// How long ending a session may take.
const GOODBYE: Duration = Duration::from_secs(2);

/// How long a server has to open the listening stream before requests go on without it.
const LISTENING: Duration = Duration::from_millis(500);

/// A server behind streamable HTTP.
pub struct HttpTransport {
    shared: Arc<Shared>,
    listener: Mutex<Option<AbortOnDropHandle<()>>>,
    closed: CancellationToken,
}

impl HttpTransport {
    /// A way to the server `name`. Nothing is connected before the first request.
    ///
    /// # Errors
    /// The settings are of no use.
    pub fn new(name: &str, config: &Config, inbox: SharedInbox) -> Result<Arc<Self>, ConfigError> {
        let url = config.url()?;
        let headers =
            state::configured(&url, &config.headers, "application/json, text/event-stream")?;
        let shared = Shared {
            name: name.into(),
            engine: Engine::new(url, &config.proxies, config.connect_timeout)?,
            state: RwLock::new(State::new(headers)),
            inbox,
            max_message: config.max_message,
        };
        Ok(Arc::new(Self {
            shared: Arc::new(shared),
            listener: Mutex::default(),
            closed: CancellationToken::new(),
        }))
    }

    /// Takes note of the era that was agreed on: what is sent from now on follows it.
    pub fn set_era(&self, era: Era) {
        self.shared.with_state(|state| state.set_era(era));
    }

    async fn ask(&self, request: Request<'_>) -> Result<Box<RawValue>, Failure> {
        let opening = request.method == "initialize";
        if opening {
            self.set_listener(None);
            self.shared.with_state(State::forget);
        }
        let outset = self.shared.state().outset_of(request.method, request.headers)?;
        let body = Outgoing::request(request.id, request.method, request.params).to_bytes();
        let mut taken_back = (outset.legacy && request.cancellable)
            .then(|| TakeBack::unless_answered(self.shared.clone(), request.id));
        let asked = async {
            let response = self.shared.post(&outset, body.into()).await?;
            if opening && response.status().is_success() {
                let session = response.headers().get(state::SESSION).cloned();
                self.shared.with_state(|state| state.set_session(session));
            }
            self.shared.answer(response, request.id, &outset).await
        };
        let answer = self.unless_closed(pin!(asked)).await;
        taken_back.as_mut().map(TakeBack::answered);
        answer
    }

    /// Takes the work where it is pinned: moved into here, it would take its room twice.
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

    /// Old servers may have things to say outside of answers. Returns once the server has answered to that: what it
    /// asks before the stream is there reaches nobody, and the call that it asks for never ends.
    async fn listen(&self) {
        let shared = self.shared.clone();
        let (answered, opened) = oneshot::channel();
        let task = tokio::spawn(async move { stream::listen(&shared, answered).await });
        self.set_listener(Some(AbortOnDropHandle::new(task)));
        // Some servers do not answer before they have something to say.
        let _ = timeout(LISTENING, opened).await;
    }
}

impl Transport for HttpTransport {
    fn request<'a>(
        &'a self,
        request: Request<'a>,
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
            let outset = self.shared.state().outset_of(method, &[])?;
            self.unless_closed(pin!(self.shared.tell(&outset, body))).await?;
            if outset.legacy && method == "notifications/initialized" {
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
            let outset = self.shared.outset();
            self.unless_closed(pin!(self.shared.tell(&outset, body))).await
        })
    }

    fn lost(&self) -> BoxFuture<'_, String> {
        // Each request has a connection of its own; there is none that could be lost.
        Box::pin(std::future::pending())
    }

    fn has_session(&self) -> bool {
        self.shared.state().session().is_some()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.closed.cancel();
            self.set_listener(None);
            let mut headers = HeaderMap::clone(&self.shared.outset().headers);
            headers.remove(CONTENT_TYPE);
            let open = self.shared.state().session().is_some();
            self.shared.with_state(State::forget);
            if open {
                // Whatever it answers, or if it does not, this session is over for us.
                let goodbye = self.shared.send(Method::DELETE, &headers);
                let _ = timeout(GOODBYE, goodbye).await;
            }
        })
    }
}
