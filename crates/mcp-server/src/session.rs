//! A session of the legacy era: opened by `initialize`, ended by the client, by idleness or by us.

mod client_requests;
mod scope;

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::{Value, value::RawValue};
use tokio::{
    sync::oneshot,
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

use super::{McpCaller, outbox::Outbox};
use switchboard_mcp_wire::{IncomingMessage, RpcError};
use switchboard_toolcall::LogLevel;

pub(crate) use scope::{SessionInit, SessionScope};

/// How many ended streams are kept so that clients can resume them.
const KEPT_STREAMS: usize = 16;

/// A session with one client.
pub(crate) struct Session {
    pub(crate) id: Arc<str>,
    /// The name among gateways: the id without its sealed part.
    pub(crate) name: Arc<str>,
    pub(crate) caller: McpCaller,
    /// The negotiated protocol version.
    pub(crate) version: &'static str,
    /// The client's capabilities.
    pub(crate) capabilities: Value,
    /// The client's name.
    pub(crate) client: Option<Arc<str>>,
    scope: SessionScope,
    /// How long the client may take to answer a question.
    patience: Duration,
    /// Queues messages that belong to no request.
    pub(crate) outbox: Arc<Outbox>,
    /// Cancelled when the session ends.
    pub(crate) end: CancellationToken,
    next: AtomicU64,
    /// The digest of the tools that the client was last told of.
    listed: AtomicU64,
    inner: Mutex<SessionState>,
}

struct SessionState {
    used: Instant,
    log_level: Option<LogLevel>,
    /// How many streams the client has open.
    attached: usize,
    /// The requests in flight, by their ids as the client wrote them.
    in_flight: HashMap<Box<str>, CancellationToken>,
    /// Our requests that the client has not answered yet, by their ids.
    pending: HashMap<u64, oneshot::Sender<Result<Box<RawValue>, RpcError>>>,
    subscriptions: HashSet<String>,
    /// The streams of earlier responses, the oldest first.
    streams: VecDeque<(u64, Arc<Outbox>)>,
}

impl Session {
    /// Makes a session that was just negotiated.
    pub(crate) fn new(
        id: String,
        caller: McpCaller,
        init: SessionInit,
        scope: SessionScope,
        patience: Duration,
        outbox: Arc<Outbox>,
    ) -> Arc<Self> {
        let inner = SessionState {
            used: Instant::now(),
            log_level: None,
            attached: 0,
            in_flight: HashMap::new(),
            pending: HashMap::new(),
            subscriptions: HashSet::new(),
            streams: VecDeque::new(),
        };
        Arc::new(Self {
            name: name(&id).into(),
            id: id.into(),
            caller,
            version: init.version,
            capabilities: init.capabilities,
            client: init.client,
            scope,
            patience,
            outbox,
            end: CancellationToken::new(),
            next: AtomicU64::new(scope.first() + 1),
            listed: AtomicU64::new(0),
            inner: Mutex::new(inner),
        })
    }

    fn lock(&self) -> MutexGuard<'_, SessionState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the digest of the tools that the client may list now. Returns whether it is another one.
    pub(crate) fn lists(&self, digest: u64) -> bool {
        self.listed.swap(digest, Ordering::Relaxed) != digest
    }

    /// Marks the session as used now.
    pub(crate) fn touch(&self) {
        self.lock().used = Instant::now();
    }

    /// Returns since when the session has been idle; `None` while a request is in flight or a stream is open.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        let inner = self.lock();
        (inner.in_flight.is_empty() && inner.attached == 0).then_some(inner.used)
    }

    /// Returns when the session was last used.
    pub(crate) fn used(&self) -> Instant {
        self.lock().used
    }

    /// Returns whether other gateways can adopt the session.
    pub(crate) fn is_portable(&self) -> bool {
        matches!(self.scope, SessionScope::Cluster { .. })
    }

    /// Returns whether the client has a stream open here.
    pub(crate) fn is_attached(&self) -> bool {
        self.lock().attached > 0
    }

    /// Counts an open stream of the client until the guard is dropped.
    pub(crate) fn attach(self: &Arc<Self>) -> StreamGuard {
        self.lock().attached += 1;
        StreamGuard(self.clone())
    }

    /// Counts a request as in flight until the guard is dropped.
    pub(crate) fn begin(self: &Arc<Self>, id: &RawValue) -> RequestGuard {
        let cancel = self.end.child_token();
        let key: Box<str> = id.get().into();
        let mut inner = self.lock();
        inner.used = Instant::now();
        inner.in_flight.insert(key.clone(), cancel.clone());
        drop(inner);
        RequestGuard { session: self.clone(), key, cancel }
    }

    /// Cancels the request of this id; returns whether it was still in flight.
    fn cancel(&self, id: &RawValue) -> bool {
        let inner = self.lock();
        let in_flight = inner.in_flight.get(id.get());
        in_flight.inspect(|cancel| cancel.cancel()).is_some()
    }

    /// Handles a notification, or a response to a request of ours. Returns a message that has no recipient here but may have
    /// one at another gateway.
    pub(crate) fn take<P>(&self, message: IncomingMessage<P>) -> Option<IncomingMessage<P>> {
        self.touch();
        match &message {
            IncomingMessage::Response { id: Some(id), .. } => {
                let Some(waiting) = self.lock().pending.remove(id) else { return Some(message) };
                let IncomingMessage::Response { outcome, .. } = message else { return None };
                // The receiver may be gone.
                _ = waiting.send(outcome);
                None
            }
            IncomingMessage::Notification { method, params }
                if method == "notifications/cancelled" =>
            {
                let id = cancelled_id(params.as_deref())?;
                (!self.cancel(id)).then_some(message)
            }
            _ => None,
        }
    }

    /// Returns the minimum log level, if the client has set one.
    pub(crate) fn log_level(&self) -> Option<LogLevel> {
        self.lock().log_level
    }

    /// Sets the minimum log level.
    pub(crate) fn set_log_level(&self, level: LogLevel) {
        self.lock().log_level = Some(level);
    }

    /// Subscribes to changes of the resource.
    pub(crate) fn subscribe(&self, uri: &str) {
        self.lock().subscriptions.insert(uri.to_owned());
    }

    /// Unsubscribes from the resource; returns whether the client was subscribed.
    pub(crate) fn unsubscribe(&self, uri: &str) -> bool {
        self.lock().subscriptions.remove(uri)
    }

    /// Returns whether the client is subscribed to the resource.
    pub(crate) fn is_subscribed(&self, uri: &str) -> bool {
        self.lock().subscriptions.contains(uri)
    }

    /// Keeps a stream so that the client can resume it, and returns its number.
    pub(crate) fn keep_stream(&self, stream: Arc<Outbox>) -> u64 {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut inner = self.lock();
        if inner.streams.len() >= KEPT_STREAMS {
            inner.streams.pop_front();
        }
        inner.streams.push_back((number, stream));
        number
    }

    /// Returns the number of the session's own stream.
    pub(crate) fn own_stream(&self) -> u64 {
        self.scope.first()
    }

    /// Returns the stream with this number, if it is still kept.
    pub(crate) fn stream(&self, number: u64) -> Option<Arc<Outbox>> {
        if number == self.own_stream() {
            return Some(self.outbox.clone());
        }
        let inner = self.lock();
        let found = inner.streams.iter().find(|(kept, _)| *kept == number);
        found.map(|(_, stream)| stream.clone())
    }

    /// Cancels the requests in flight and ends the streams. Returns the resources that the client was subscribed to.
    pub(crate) fn close(&self) -> HashSet<String> {
        self.end.cancel();
        self.outbox.end();
        std::mem::take(&mut self.lock().subscriptions)
    }
}

/// Returns the id of the request that the parameters of a `notifications/cancelled` name.
pub(crate) fn cancelled_id(params: Option<&RawValue>) -> Option<&RawValue> {
    #[derive(serde::Deserialize)]
    struct CancelParams<'a> {
        #[serde(rename = "requestId", borrow)]
        id: &'a RawValue,
    }
    let CancelParams { id } = serde_json::from_str(params?.get()).ok()?;
    Some(id)
}

/// Returns the name in a session's id.
pub(crate) fn name(id: &str) -> &str {
    id.split_once('.').map_or(id, |(name, _)| name)
}

/// A request in flight; no longer counted when dropped.
pub(crate) struct RequestGuard {
    session: Arc<Session>,
    key: Box<str>,
    pub(crate) cancel: CancellationToken,
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        let mut inner = self.session.lock();
        inner.in_flight.remove(&self.key);
        inner.used = Instant::now();
    }
}

/// An open stream of the client; no longer counted when dropped.
pub(crate) struct StreamGuard(Arc<Session>);

impl Drop for StreamGuard {
    fn drop(&mut self) {
        let mut inner = self.0.lock();
        inner.attached -= 1;
        inner.used = Instant::now();
    }
}
