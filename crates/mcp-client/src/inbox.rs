//! Routes what a server sends beside responses: progress, log messages, changed lists, requests of its own.
//!
//! What is buffered and what runs for a server is bounded, however much the server sends.

mod changes;
mod refusals;

use std::{
    collections::VecDeque,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};
use switchboard_mcp_wire::{
    IncomingMessage, RpcError, ServerChange, ServerRequest, ServerRequestHandler, questions,
    server_request::NoRecipient,
};
use switchboard_toolcall::{LogLevel, ProgressUpdate};
use tokio::sync::{Semaphore, watch};
use tracing::{debug, info, warn};

use super::{
    in_flight::{InFlightCalls, Recipient},
    transport::{Inbox, Transport},
};
pub(crate) use changes::PendingChanges;
use refusals::Refusals;

/// How many requests of one server are handled at once.
const MOST_REQUESTS: usize = 64;

/// How many pages that are done are remembered, and how long their ids may be.
const MOST_COMPLETED: usize = 256;
const MOST_ID_BYTES: usize = 256;

/// Routes the notifications and requests of one server.
pub(crate) struct NotificationRouter {
    server: Arc<str>,
    answers: Arc<dyn ServerRequestHandler>,
    in_flight: Arc<InFlightCalls>,
    changes: Arc<PendingChanges>,
    /// Whether the warning about too many changes was logged.
    told_of_flood: AtomicBool,
    /// Permits for the server's requests that are handled at once.
    slots: Arc<Semaphore>,
    refusals: Refusals,
    /// The ids of the pages that the server last said are done.
    completed: watch::Sender<VecDeque<String>>,
    /// Where responses are sent; set when the transport is open.
    transport: OnceLock<Weak<dyn Transport>>,
}

impl NotificationRouter {
    /// Creates the router of a server, and returns it with the changes that the server reports.
    pub(crate) fn new(
        server: &str,
        answers: Arc<dyn ServerRequestHandler>,
    ) -> (Arc<Self>, Arc<PendingChanges>) {
        let changes = Arc::new(PendingChanges::default());
        let router = Self {
            server: server.into(),
            answers,
            in_flight: Arc::default(),
            changes: changes.clone(),
            told_of_flood: AtomicBool::new(false),
            slots: Arc::new(Semaphore::new(MOST_REQUESTS)),
            refusals: Refusals::default(),
            completed: watch::Sender::default(),
            transport: OnceLock::new(),
        };
        (Arc::new(router), changes)
    }

    /// Sets the transport that responses go to.
    pub(crate) fn attach(&self, transport: &Arc<dyn Transport>) {
        // A router serves one transport: setting a second one would be a bug, and is ignored.
        _ = self.transport.set(Arc::downgrade(transport));
    }

    /// The server's name.
    pub(crate) fn server(&self) -> &Arc<str> {
        &self.server
    }

    /// Returns the calls in flight.
    pub(crate) fn in_flight(&self) -> &Arc<InFlightCalls> {
        &self.in_flight
    }

    fn notification(&self, method: &str, params: Option<&RawValue>, during: Option<u64>) {
        match method {
            "notifications/progress" => self.progress(params),
            "notifications/message" => self.log(params, during),
            "notifications/elicitation/complete" => self.complete(params),
            _ => match ServerChange::read(method, params) {
                Some(changed) => self.changed(changed),
                None => debug!(server = &*self.server, method, "notification left unread"),
            },
        }
    }

    fn progress(&self, params: Option<&RawValue>) {
        let update =
            params.and_then(|params| serde_json::from_str::<ReportedProgress>(params.get()).ok());
        let Some(update) = update else {
            debug!(server = &*self.server, "an invalid progress notification");
            return;
        };
        let token = update.token.get().trim_matches('"').parse().ok();
        let listener = token.and_then(|token: u64| self.in_flight.progress(token));
        if let Some(listener) = listener {
            listener.report(ProgressUpdate {
                progress: update.progress,
                total: update.total,
                message: update.message,
            });
        }
    }

    fn complete(&self, params: Option<&RawValue>) {
        let params = params.and_then(|params| serde_json::from_str::<Value>(params.get()).ok());
        let Some(id) = params.as_ref().and_then(|params| params["elicitationId"].as_str()) else {
            debug!(server = &*self.server, "an invalid notification about a page");
            return;
        };
        if id.len() > MOST_ID_BYTES {
            return;
        }
        self.completed.send_modify(|completed| {
            if completed.len() == MOST_COMPLETED {
                completed.pop_front();
            }
            completed.push_back(id.to_owned());
        });
    }

    /// Waits until the server has said that all these pages are done.
    pub(crate) async fn completed(&self, ids: &[&str]) {
        let is_done = |completed: &VecDeque<String>| {
            ids.iter().all(|id| completed.iter().any(|done| done == id))
        };
        // Cannot fail: the sender is a field of `self`.
        _ = self.completed.subscribe().wait_for(is_done).await;
    }

    fn changed(&self, changed: ServerChange) {
        if !self.changes.add(changed) && !self.told_of_flood.swap(true, Ordering::Relaxed) {
            let server = &*self.server;
            warn!(server, "MCP server '{server}' tells of too many changes; some are left out");
        }
    }

    fn log(&self, params: Option<&RawValue>, during: Option<u64>) {
        let Some((raw, Ok(line))) =
            params.map(|params| (params, serde_json::from_str::<Value>(params.get())))
        else {
            return;
        };
        let level = line["level"].as_str().and_then(LogLevel::named).unwrap_or(LogLevel::Info);
        if let Some(recipient) = self.in_flight.log_recipient(during) {
            recipient.log(level, raw);
        }
        let server = &*self.server;
        let data = switchboard_runtime::redact::value(&line["data"]);
        match level {
            LogLevel::Debug => debug!(server, "{server}: {data}"),
            LogLevel::Info | LogLevel::Notice => info!(server, "{server}: {data}"),
            _ => warn!(server, "{server}: {data}"),
        }
    }

    /// Responds to a request of the server in a task. Refuses it if too many are in progress.
    fn request(
        &self,
        id: Box<RawValue>,
        method: String,
        params: Option<Box<RawValue>>,
        during: Option<u64>,
    ) {
        let Some(weak) = self.transport.get() else { return };
        let Some(transport) = weak.upgrade() else { return };
        let Ok(slot) = self.slots.clone().try_acquire_owned() else {
            return self.refusals.add(&self.server, id, weak);
        };
        let (answers, server) = (self.answers.clone(), self.server.clone());
        // Servers also send these outside of calls, and go on with their calls meanwhile.
        let blocks = !matches!(method.as_str(), "ping" | "roots/list");
        let recipient = self.in_flight.recipient(during, blocks);
        tokio::spawn(async move {
            let params = params.and_then(|params| serde_json::from_str(params.get()).ok());
            let params: Value = params.unwrap_or_default();
            let outcome = match method.as_str() {
                "ping" => Ok(Value::Object(Map::new())),
                _ => answer(&*answers, recipient, server, method, params).await,
            };
            let outcome = outcome.and_then(|value| {
                serde_json::value::to_raw_value(&value)
                    .map_err(|error| RpcError::new(-32603, error.to_string()))
            });
            if let Err(error) = transport.respond(&id, outcome).await {
                debug!(%error, "an answer to the server was not sent");
            }
            drop(slot);
        });
    }
}

/// Responds to a request of the server: asks the caller, if it is known and can be asked.
async fn answer(
    answers: &dyn ServerRequestHandler,
    recipient: Recipient,
    server: Arc<str>,
    method: String,
    params: Value,
) -> Result<Value, RpcError> {
    let (recipient, call) = match (recipient, questions::kind(&method)) {
        (Recipient::Caller(question), Some(kind)) => {
            let answer = question.ask(&server, kind, params).await;
            return answer.map_err(|error| RpcError::new(RpcError::REFUSED, error.for_model));
        }
        (Recipient::Caller(question), None) => (NoRecipient::CannotBeAsked, Some(question.call())),
        (Recipient::Unaskable(call), _) => (NoRecipient::CannotBeAsked, Some(call)),
        (Recipient::NoCall, _) => (NoRecipient::NoCall, None),
        (Recipient::Unknown, _) => (NoRecipient::Unknown, None),
    };
    let answer = answers.answer(ServerRequest { server, method, params, recipient }).await;
    if let (Err(error), Some(call)) = (&answer, call) {
        call.refused(&error.message);
    }
    answer
}

impl NotificationRouter {
    fn take_message(&self, message: IncomingMessage, during: Option<u64>) {
        match message {
            IncomingMessage::Notification { method, params } => {
                self.notification(&method, params.as_deref(), during);
            }
            IncomingMessage::Request { id, method, params } => {
                self.request(id, method, params, during)
            }
            IncomingMessage::Response { id, .. } => {
                debug!(server = &*self.server, ?id, "a response to an unknown request was dropped");
            }
        }
    }
}

impl Inbox for NotificationRouter {
    fn take(&self, message: IncomingMessage) {
        self.take_message(message, None);
    }

    fn take_during(&self, message: IncomingMessage, request: u64) {
        self.take_message(message, Some(request));
    }
}

#[derive(Deserialize)]
struct ReportedProgress {
    #[serde(rename = "progressToken")]
    token: Box<RawValue>,
    progress: f64,
    #[serde(default)]
    total: Option<f64>,
    #[serde(default)]
    message: Option<String>,
}

#[cfg(test)]
mod tests;
