//! A session of the old era: opened by `initialize`, ended by the client, by idleness or by us.

mod client_requests;
mod scope;

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU8, AtomicU64, Ordering},
    },
};

use serde_json::{Value, value::RawValue};
use tokio::{
    sync::oneshot,
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

use super::{Caller, exchange::Level, outbox::Outbox};
use switchboard_mcp_wire::{IncomingMessage, RpcError};

pub(crate) use scope::{SessionInit, SessionScope};

/// How many ended streams are kept for clients that come back.
const KEPT_STREAMS: usize = 16;

/// No level was set.
const UNSET: u8 = u8::MAX;

/// A session with one client.
pub(crate) struct Session {
    pub(crate) id: Arc<str>,
    /// What gateways call it among themselves: the id, without what is sealed into it.
    pub(crate) name: Arc<str>,
    pub(crate) caller: Caller,
    /// The revision that was agreed on.
    pub(crate) version: &'static str,
    /// What the client can do.
    pub(crate) capabilities: Value,
    /// What the client calls itself.
    pub(crate) client: Option<Arc<str>>,
    scope: SessionScope,
    /// How long the client may take to answer a question.
    patience: Duration,
    /// Where messages go that belong to no request.
    pub(crate) outbox: Arc<Outbox>,
    /// Cancelled when the session ends.
    pub(crate) end: CancellationToken,
    log_level: AtomicU8,
    next: AtomicU64,
    inner: Mutex<SessionState>,
}

struct SessionState {
    used: Instant,
    /// How many streams the client has open.
    attached: usize,
    /// The requests under way, by their ids as they came.
    in_flight: HashMap<Box<str>, CancellationToken>,
    /// What we have asked the client.
    pending: HashMap<u64, oneshot::Sender<Result<Box<RawValue>, RpcError>>>,
    subscriptions: HashSet<String>,
    /// The streams that answers went out on, the oldest first.
    streams: VecDeque<(u64, Arc<Outbox>)>,
}

impl Session {
    /// A session that has just been agreed on.
    pub(crate) fn new(
        id: String,
        caller: Caller,
        init: SessionInit,
        scope: SessionScope,
        patience: Duration,
        outbox: Arc<Outbox>,
    ) -> Arc<Self> {
        let inner = SessionState {
            used: Instant::now(),
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
            log_level: AtomicU8::new(UNSET),
            next: AtomicU64::new(scope.first() + 1),
            inner: Mutex::new(inner),
        })
    }

    fn lock(&self) -> MutexGuard<'_, SessionState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody uses it.
    pub(crate) fn touch(&self) {
        self.lock().used = Instant::now();
    }

    /// Since when nobody has used it; none, while something is under way.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        let inner = self.lock();
        (inner.in_flight.is_empty() && inner.attached == 0).then_some(inner.used)
    }

    /// When somebody last used it.
    pub(crate) fn used(&self) -> Instant {
        self.lock().used
    }

    /// Whether other gateways may have it too.
    pub(crate) fn is_portable(&self) -> bool {
        matches!(self.scope, SessionScope::Cluster { .. })
    }

    /// Whether the client has a stream open here.
    pub(crate) fn is_attached(&self) -> bool {
        self.lock().attached > 0
    }

    /// Notes that the client has a stream open until the guard is dropped.
    pub(crate) fn attach(self: &Arc<Self>) -> StreamGuard {
        self.lock().attached += 1;
        StreamGuard(self.clone())
    }

    /// Notes that a request is under way until the guard is dropped.
    pub(crate) fn begin(self: &Arc<Self>, id: &RawValue) -> RequestGuard {
        let cancel = self.end.child_token();
        let key: Box<str> = id.get().into();
        let mut inner = self.lock();
        inner.used = Instant::now();
        inner.in_flight.insert(key.clone(), cancel.clone());
        drop(inner);
        RequestGuard { session: self.clone(), key, cancel }
    }

    /// Cancels the request of this id; says whether it was still under way.
    fn cancel(&self, id: &RawValue) -> bool {
        let inner = self.lock();
        let in_flight = inner.in_flight.get(id.get());
        in_flight.inspect(|cancel| cancel.cancel()).is_some()
    }

    /// Takes what the client says: a notification, or an answer to something that we have asked. What somebody else may
    /// wait for, and nobody here, comes back.
    pub(crate) fn take(&self, message: IncomingMessage) -> Option<IncomingMessage> {
        self.touch();
        match &message {
            IncomingMessage::Response { id: Some(id), .. } => {
                let Some(waiting) = self.lock().pending.remove(id) else { return Some(message) };
                let IncomingMessage::Response { outcome, .. } = message else { return None };
                // Who asked may have given up.
                _ = waiting.send(outcome);
                None
            }
            IncomingMessage::Notification { method, params }
                if method == "notifications/cancelled" =>
            {
                #[derive(serde::Deserialize)]
                struct CancelParams<'a> {
                    #[serde(rename = "requestId", borrow)]
                    id: &'a RawValue,
                }
                let params = params.as_deref().map_or("{}", RawValue::get);
                match serde_json::from_str(params) {
                    Ok(CancelParams { id }) => (!self.cancel(id)).then_some(message),
                    Err(_) => None,
                }
            }
            _ => None,
        }
    }

    /// From which level on the client wants to hear log messages, if it has said so.
    pub(crate) fn log_level(&self) -> Option<Level> {
        match self.log_level.load(Ordering::Relaxed) {
            UNSET => None,
            level => Some(Level(level)),
        }
    }

    /// The client wants to hear log messages from this level on.
    pub(crate) fn set_log_level(&self, level: Level) {
        self.log_level.store(level.0, Ordering::Relaxed);
    }

    /// The client wants to hear when the resource changes.
    pub(crate) fn subscribe(&self, uri: &str) {
        self.lock().subscriptions.insert(uri.to_owned());
    }

    /// The client no longer wants to hear of the resource; says whether it did.
    pub(crate) fn unsubscribe(&self, uri: &str) -> bool {
        self.lock().subscriptions.remove(uri)
    }

    /// Whether the client wants to hear of the resource.
    pub(crate) fn is_subscribed(&self, uri: &str) -> bool {
        self.lock().subscriptions.contains(uri)
    }

    /// Keeps a stream for a client that comes back, and numbers it.
    pub(crate) fn keep_stream(&self, stream: Arc<Outbox>) -> u64 {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut inner = self.lock();
        if inner.streams.len() >= KEPT_STREAMS {
            inner.streams.pop_front();
        }
        inner.streams.push_back((number, stream));
        number
    }

    /// The number of the session's own stream.
    pub(crate) fn own_stream(&self) -> u64 {
        self.scope.first()
    }

    /// The stream of this number, if it is still kept.
    pub(crate) fn stream(&self, number: u64) -> Option<Arc<Outbox>> {
        if number == self.own_stream() {
            return Some(self.outbox.clone());
        }
        let inner = self.lock();
        let found = inner.streams.iter().find(|(kept, _)| *kept == number);
        found.map(|(_, stream)| stream.clone())
    }

    /// Ends it: what is under way is cancelled, its streams end. Returns the resources that it watched.
    pub(crate) fn close(&self) -> HashSet<String> {
        self.end.cancel();
        self.outbox.end();
        std::mem::take(&mut self.lock().subscriptions)
    }
}

/// The name in a session's id.
pub(crate) fn name(id: &str) -> &str {
    id.split_once('.').map_or(id, |(name, _)| name)
}

/// A request under way.
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

/// A stream that the client has open.
pub(crate) struct StreamGuard(Arc<Session>);

impl Drop for StreamGuard {
    fn drop(&mut self) {
        let mut inner = self.0.lock();
        inner.attached -= 1;
        inner.used = Instant::now();
    }
}
