//! What a server says unasked: progress, log lines, changed lists, requests of its own.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
};

use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use switchboard_toolcall::{BoxFuture, Progress, ProgressUpdate};
use tokio::sync::mpsc;
use tracing::{debug, info, warn};

use super::transport::{Inbox, Transport};
use crate::wire::{Incoming, RpcError};

/// Answers what a server asks of its client: elicitation, sampling, roots.
pub trait Answers: Send + Sync {
    /// The capabilities that are declared to servers, as `initialize` and `_meta` carry them.
    fn capabilities(&self) -> Value;

    /// Answers one request.
    fn answer(&self, method: String, params: Value) -> BoxFuture<'_, Result<Value, RpcError>>;
}

/// Answers nothing, and says so.
pub struct NoAnswers;

impl Answers for NoAnswers {
    fn capabilities(&self) -> Value {
        Value::Object(serde_json::Map::new())
    }

    fn answer(&self, method: String, _: Value) -> BoxFuture<'_, Result<Value, RpcError>> {
        let text = format!("Switchboard does not answer '{method}' here");
        Box::pin(std::future::ready(Err(RpcError::new(RpcError::METHOD_NOT_FOUND, text))))
    }
}

/// A list of the server's that has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// Its tools.
    Tools,
    /// Its resources or their templates.
    Resources,
    /// Its prompts.
    Prompts,
}

/// The inbox of one session.
pub struct Desk {
    server: String,
    answers: Arc<dyn Answers>,
    listeners: Mutex<HashMap<u64, Progress>>,
    changes: mpsc::UnboundedSender<Changed>,
    /// Where answers go; set when the transport is there.
    transport: OnceLock<Weak<dyn Transport>>,
}

impl Desk {
    /// A desk for the server's messages; changed lists come out of the receiver.
    pub fn new(
        server: &str,
        answers: Arc<dyn Answers>,
    ) -> (Arc<Self>, mpsc::UnboundedReceiver<Changed>) {
        let (changes, changed) = mpsc::unbounded_channel();
        let desk = Self {
            server: server.to_owned(),
            answers,
            listeners: Mutex::default(),
            changes,
            transport: OnceLock::new(),
        };
        (Arc::new(desk), changed)
    }

    /// Tells the desk where answers go.
    pub fn attach(&self, transport: &Arc<dyn Transport>) {
        // A desk serves one transport: a second one would be a fault of ours, and harmless.
        _ = self.transport.set(Arc::downgrade(transport));
    }

    /// Reports the progress of request `token` to the listener until the guard is dropped.
    pub fn listen(self: &Arc<Self>, token: u64, progress: &Progress) -> Listening {
        self.listeners().insert(token, progress.clone());
        Listening { desk: self.clone(), token }
    }

    fn listeners(&self) -> MutexGuard<'_, HashMap<u64, Progress>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn notification(&self, method: &str, params: Option<&RawValue>) {
        match method {
            "notifications/progress" => self.progress(params),
            "notifications/message" => self.log(params),
            "notifications/tools/list_changed" => _ = self.changes.send(Changed::Tools),
            "notifications/resources/list_changed" => _ = self.changes.send(Changed::Resources),
            "notifications/prompts/list_changed" => _ = self.changes.send(Changed::Prompts),
            _ => debug!(server = self.server, method, "notification left unread"),
        }
    }

    fn progress(&self, params: Option<&RawValue>) {
        let update =
            params.and_then(|params| serde_json::from_str::<ReportedProgress>(params.get()).ok());
        let Some(update) = update else {
            debug!(server = self.server, "a progress notification that is none");
            return;
        };
        let token = update.token.get().trim_matches('"').parse().ok();
        let listener = token.and_then(|token: u64| self.listeners().get(&token).cloned());
        if let Some(listener) = listener {
            listener.report(ProgressUpdate {
                progress: update.progress,
                total: update.total,
                message: update.message,
            });
        }
    }

    fn log(&self, params: Option<&RawValue>) {
        let Some(Ok(line)) = params.map(|params| serde_json::from_str::<Value>(params.get()))
        else {
            return;
        };
        let server = &self.server;
        let data = switchboard_runtime::redact::value(&line["data"]);
        match line["level"].as_str().unwrap_or("info") {
            "debug" => debug!(server, "{server}: {data}"),
            "info" | "notice" => info!(server, "{server}: {data}"),
            _ => warn!(server, "{server}: {data}"),
        }
    }

    /// Answers a request of the server's; nobody waits for it.
    fn request(&self, id: Box<RawValue>, method: String, params: Option<Box<RawValue>>) {
        let Some(transport) = self.transport.get().and_then(Weak::upgrade) else {
            return;
        };
        let answers = self.answers.clone();
        tokio::spawn(async move {
            let outcome = match method.as_str() {
                "ping" => Ok(Value::Object(serde_json::Map::new())),
                _ => {
                    let params = params.and_then(|params| serde_json::from_str(params.get()).ok());
                    answers.answer(method, params.unwrap_or_default()).await
                }
            };
            let outcome = outcome.and_then(|value| {
                serde_json::value::to_raw_value(&value)
                    .map_err(|error| RpcError::new(-32603, error.to_string()))
            });
            if let Err(error) = transport.respond(&id, outcome).await {
                debug!(%error, "an answer to the server was not sent");
            }
        });
    }
}

impl Inbox for Desk {
    fn take(&self, message: Incoming) {
        match message {
            Incoming::Notification { method, params } => {
                self.notification(&method, params.as_deref())
            }
            Incoming::Request { id, method, params } => self.request(id, method, params),
            Incoming::Response { id, .. } => {
                debug!(server = self.server, ?id, "an answer that nobody waits for");
            }
        }
    }
}

/// Reports progress while it lives.
pub struct Listening {
    desk: Arc<Desk>,
    token: u64,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.desk.listeners().remove(&self.token);
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
