//! One request in progress: its caller, its reply channel, and its cancellation.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::{Map, Value, value::RawValue};
use switchboard_mcp_wire::{JsonText, Outgoing, RpcError, questions};
use switchboard_toolcall::{
    BoxFuture, CallContext, CallKey, CallerChannel, ErrorKind, LogLevel, Progress, ProgressUpdate,
    QuestionKind, ServerQuestion, ServerQuestions, ToolError, TraceContext,
};
use tokio_util::sync::CancellationToken;

use super::{McpCaller, outbox::Outbox, questions::CallQuestions, session::Session};

/// The result or error of a request.
pub(crate) type RpcResult = Result<JsonText, RpcError>;

/// The key in `_meta` that marks repeated requests as the same operation.
const KEY: &str = "switchboard/idempotencyKey";

/// A request in flight.
pub(crate) struct Exchange {
    pub(crate) caller: McpCaller,
    pub(crate) client: ExchangeClient,
    pub(crate) cancel: CancellationToken,
    /// Questions to a modern client.
    pub(crate) questions: CallQuestions,
    /// The rest of the request's `_meta`, for the tool.
    notes: Map<String, Value>,
    /// The trace that the request is part of.
    pub(crate) trace: Option<Arc<TraceContext>>,
    channel: Mutex<ReplyChannel>,
}

/// The client of a request.
pub(crate) enum ExchangeClient {
    /// A session opened by `initialize`.
    Legacy(Arc<Session>),
    /// A stateless request.
    Modern(ModernClient),
}

/// The sender of a stateless request.
#[derive(Clone, Debug, Default)]
pub(crate) struct ModernClient {
    pub(crate) capabilities: Value,
    /// Its name.
    pub(crate) client: Option<Arc<str>>,
    /// The minimum log level; `None` if the client wants no log messages.
    pub(crate) log_level: Option<LogLevel>,
}

/// The queue for messages before the response, and the token for progress.
#[derive(Clone)]
pub(crate) struct ReplyChannel {
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) progress_token: Option<Box<RawValue>>,
}

impl Exchange {
    /// Creates the exchange of a new request.
    pub(crate) fn new(
        caller: McpCaller,
        client: ExchangeClient,
        cancel: CancellationToken,
        channel: ReplyChannel,
        notes: Map<String, Value>,
        trace: Option<Arc<TraceContext>>,
    ) -> Arc<Self> {
        let questions = CallQuestions::default();
        Arc::new(Self {
            caller,
            client,
            cancel,
            questions,
            notes,
            trace,
            channel: Mutex::new(channel),
        })
    }

    /// Returns whether the client speaks the stateless revision.
    pub(crate) fn is_modern(&self) -> bool {
        matches!(self.client, ExchangeClient::Modern(_))
    }

    /// Returns whether the client declares the extension in this request.
    pub(crate) fn knows(&self, extension: &str) -> bool {
        match &self.client {
            ExchangeClient::Legacy(_) => false,
            ExchangeClient::Modern(modern) => {
                modern.capabilities["extensions"].get(extension).is_some()
            }
        }
    }

    /// Returns the capabilities that the client declares.
    fn capabilities(&self) -> &Value {
        match &self.client {
            ExchangeClient::Legacy(session) => &session.capabilities,
            ExchangeClient::Modern(modern) => &modern.capabilities,
        }
    }

    /// Returns the channel that messages go to now.
    pub(crate) fn channel(&self) -> MutexGuard<'_, ReplyChannel> {
        self.channel.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a notification on the stream of the request.
    pub(crate) fn notify(&self, method: &str, params: &RawValue) {
        self.channel().outbox.send(&Outgoing::notification(method, Some(params)));
    }

    /// Makes the context of the tool call that this request asks for.
    pub(crate) fn context(self: &Arc<Self>) -> CallContext {
        let watched = self.channel().progress_token.is_some();
        let heard = watched.then(|| self.clone());
        let key = self.notes.get(KEY).and_then(Value::as_str).map(Arc::<str>::from);
        CallContext {
            cancel: self.cancel.clone(),
            caller: self.caller.name.clone(),
            principal: self.caller.principal.clone(),
            token: self.caller.token.clone(),
            client: self.caller.client.as_ref().or(self.client_name()).cloned(),
            visibility: self.caller.visibility.clone(),
            claims: self.caller.claims.clone(),
            idempotency_key: key.clone(),
            conversation: key.as_deref().and_then(run_of),
            // Goes on to the tool's own server, too.
            call_key: key,
            progress: heard.map_or_else(Progress::default, |heard| {
                Progress::to(move |update| heard.progress(&update))
            }),
            caller_channel: Some(self.clone()),
            trace: self.trace.clone(),
            ..CallContext::default()
        }
    }

    /// Returns the client's name.
    fn client_name(&self) -> Option<&Arc<str>> {
        match &self.client {
            ExchangeClient::Legacy(session) => session.client.as_ref(),
            ExchangeClient::Modern(modern) => modern.client.as_ref(),
        }
    }

    fn progress(&self, update: &ProgressUpdate) {
        #[derive(serde::Serialize)]
        struct ProgressParams<'a> {
            #[serde(rename = "progressToken")]
            token: &'a RawValue,
            progress: IntegralNumber,
            #[serde(skip_serializing_if = "Option::is_none")]
            total: Option<IntegralNumber>,
            #[serde(skip_serializing_if = "Option::is_none")]
            message: Option<&'a str>,
        }
        let channel = self.channel();
        let Some(token) = &channel.progress_token else {
            return;
        };
        let params = serde_json::value::to_raw_value(&ProgressParams {
            token,
            progress: IntegralNumber(update.progress),
            total: update.total.map(IntegralNumber),
            message: update.message.as_deref(),
        });
        if let Ok(params) = params {
            let message = Outgoing::notification("notifications/progress", Some(&params));
            channel.outbox.send(&message);
        }
    }
}

/// A number that is written without a fraction if it has none.
struct IntegralNumber(f64);

impl serde::Serialize for IntegralNumber {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[expect(clippy::cast_possible_truncation, reason = "whole and small, as just checked")]
        match self.0 {
            whole if whole.fract() == 0.0 && whole.abs() < 9e15 => {
                serializer.serialize_i64(whole as i64)
            }
            other => serializer.serialize_f64(other),
        }
    }
}

impl CallerChannel for Exchange {
    fn answers(&self, kind: QuestionKind) -> bool {
        questions::declares(self.capabilities(), kind)
    }

    fn ask(&self, asked: ServerQuestions) -> BoxFuture<'_, Result<Map<String, Value>, ToolError>> {
        Box::pin(async move {
            let questions = asked.questions;
            for (_, ServerQuestion { kind, .. }) in &questions {
                if !self.answers(*kind) {
                    let method = questions::method(*kind);
                    let text = format!("the client that made the call does not take '{method}'");
                    return Err(ToolError::new(ErrorKind::ToolError, text));
                }
            }
            match &self.client {
                ExchangeClient::Legacy(session) => {
                    let outbox = self.channel().outbox.clone();
                    session.ask_all(questions, &outbox).await
                }
                ExchangeClient::Modern(_) => {
                    let requests = questions.iter();
                    let requests =
                        requests.map(|(key, one)| (key.clone(), questions::to_json(one)));
                    self.questions.put(requests.collect()).await.map_err(|_| {
                        ToolError::new(ErrorKind::Cancelled, "the client gave no answer")
                    })
                }
            }
        })
    }

    fn declared(&self) -> Option<&Value> {
        Some(self.capabilities())
    }

    fn notes(&self) -> Map<String, Value> {
        self.notes.clone()
    }

    fn log_level(&self) -> Option<LogLevel> {
        match &self.client {
            // A client that sets no level gets everything.
            ExchangeClient::Legacy(session) => Some(session.log_level().unwrap_or(LogLevel::Debug)),
            ExchangeClient::Modern(modern) => modern.log_level,
        }
    }

    fn log(&self, level: LogLevel, message: &RawValue) {
        if self.log_level().is_some_and(|wanted| level >= wanted) {
            self.notify("notifications/message", message);
        }
    }

    fn session(&self) -> Option<&Arc<str>> {
        match &self.client {
            ExchangeClient::Legacy(session) => Some(&session.id),
            ExchangeClient::Modern(_) => None,
        }
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange").field("caller", &self.caller).finish_non_exhaustive()
    }
}

/// Returns the run whose call has this key, if the key is that of one of our own agents.
fn run_of(key: &str) -> Option<Arc<str>> {
    Some(CallKey::parse(key)?.turn.run.to_string().into())
}
