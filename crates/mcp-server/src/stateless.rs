//! Stateless requests (2026-07-28): the parameters that they have in common, and calls that end in a question.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};
use switchboard_mcp_wire::{JsonText, RpcError, eras};
use switchboard_toolcall::TraceContext;
use tokio_util::sync::CancellationToken;

use super::{
    Caller, ServerInner,
    exchange::{Client, Exchange, Level, ModernClient, ReplyChannel, RpcResult},
    meta::Meta,
    outbox::Outbox,
    suspended_calls::{RequestTarget, ResumeRequest, SuspendedCall},
};

/// The parameters that are read before the method's own.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct CommonParams {
    #[serde(rename = "_meta", default)]
    pub(crate) meta: Option<Meta>,
    #[serde(default)]
    pub(crate) name: Option<String>,
    #[serde(default)]
    pub(crate) uri: Option<String>,
    #[serde(rename = "taskId", default)]
    task: Option<String>,
    #[serde(rename = "requestState", default)]
    state: Option<String>,
    #[serde(rename = "inputResponses", default)]
    responses: Option<Map<String, Value>>,
    /// The trace of `_meta`, or else of the headers.
    #[serde(skip)]
    pub(crate) trace: Option<Arc<TraceContext>>,
}

impl CommonParams {
    /// Reads them from a request's parameters.
    ///
    /// # Errors
    /// The parameters are no object, or one of these has the wrong type.
    pub(crate) fn of(params: Option<&RawValue>) -> Result<Self, RpcError> {
        let Some(params) = params else {
            return Ok(Self::default());
        };
        if !params.get().starts_with('{') {
            return Err(RpcError::new(RpcError::INVALID_PARAMS, "`params` must be an object"));
        }
        // All that is read here needs a `_meta`, and most requests of sessions have none: their method reads them.
        if !params.get().contains("_meta") {
            return Ok(Self::default());
        }
        let mut head: Self = serde_json::from_str(params.get()).map_err(|error| {
            RpcError::new(RpcError::INVALID_PARAMS, format!("`params` cannot be read: {error}"))
        })?;
        head.trace = head.meta.as_ref().and_then(Meta::trace);
        Ok(head)
    }

    /// Returns whether the request states a protocol version, as stateless ones do.
    pub(crate) fn is_modern(&self) -> bool {
        self.meta.as_ref().is_some_and(|meta| meta.version().is_some())
    }

    /// Returns the channel for the request's messages, and the rest of its `_meta`.
    pub(crate) fn channel(&mut self, outbox: Arc<Outbox>) -> (ReplyChannel, Map<String, Value>) {
        let meta = self.meta.take().unwrap_or_default();
        (ReplyChannel { outbox, progress_token: meta.progress_token() }, meta.notes)
    }

    /// Returns what the request names, as `Mcp-Name` repeats it.
    pub(crate) fn named(&self, method: &str) -> Option<&str> {
        match method {
            "tools/call" | "prompts/get" => self.name.as_deref(),
            "resources/read" => self.uri.as_deref(),
            "tasks/get" | "tasks/update" | "tasks/cancel" => self.task.as_deref(),
            _ => None,
        }
    }

    /// Returns what the sender says of itself.
    ///
    /// # Errors
    /// Something required is missing, or the protocol version is another.
    pub(crate) fn sender(&self) -> Result<ModernClient, RpcError> {
        let missing = |key: &str| {
            let text = format!("`_meta` must have `io.modelcontextprotocol/{key}`");
            RpcError::new(RpcError::INVALID_PARAMS, text)
        };
        let meta = self.meta.as_ref().ok_or_else(|| missing("protocolVersion"))?;
        let version = meta.version().ok_or_else(|| missing("protocolVersion"))?;
        let capabilities = meta.capabilities.as_ref();
        let capabilities = capabilities.ok_or_else(|| missing("clientCapabilities"))?;
        if !capabilities.is_object() || meta.is_misnamed {
            let text = "`clientCapabilities` and `clientInfo` must be objects";
            return Err(RpcError::new(RpcError::INVALID_PARAMS, text));
        }
        if version != eras::MODERN {
            let text = format!("protocol version {version:?} is not spoken here");
            let data = json!({"supported": supported(), "requested": version});
            return Err(RpcError::new(RpcError::UNSUPPORTED_VERSION, text).with_data(data));
        }
        let log_level = meta.log_level().and_then(Level::named);
        let (capabilities, client) = (capabilities.clone(), meta.client.clone());
        Ok(ModernClient { capabilities, client, log_level })
    }
}

/// Returns whether this is a valid request id.
pub(crate) fn is_id(id: &RawValue) -> bool {
    id.get().starts_with(|first: char| first == '"' || first == '-' || first.is_ascii_digit())
}

/// Returns the supported protocol versions, the newest first.
pub(crate) fn supported() -> Vec<&'static str> {
    std::iter::once(eras::MODERN).chain(eras::LEGACY.iter().copied()).collect()
}

impl ServerInner {
    /// Answers a stateless request. Dropping the future cancels it.
    pub(crate) async fn answer_stateless(
        self: Arc<Self>,
        request: StatelessRequest,
        caller: Caller,
        outbox: Arc<Outbox>,
        cancel: CancellationToken,
    ) -> RpcResult {
        let StatelessRequest { id, method, params, sender, mut head } = request;
        let (channel, notes) = head.channel(outbox);
        let target = RequestTarget { name: head.named(&method).map(str::to_owned), method };
        let call = match head.state {
            Some(handle) if self.is_remote(&handle) => {
                let caller = caller.name.as_deref().map(str::to_owned);
                let responses = head.responses.unwrap_or_default();
                let elsewhere =
                    self.resume_remote(ResumeRequest { handle, target, caller, responses });
                return Box::pin(elsewhere).await;
            }
            Some(handle) => {
                let call = self.suspended.take(&handle, &target, caller.name.as_ref())?;
                *call.exchange.channel() = channel;
                call.exchange.questions.answer(&head.responses.unwrap_or_default());
                call
            }
            None => {
                let exchange = Exchange::new(
                    caller,
                    Client::Modern(sender),
                    cancel,
                    channel,
                    notes,
                    head.trace,
                );
                exchange.questions.give(head.responses.unwrap_or_default());
                let method = target.method.clone();
                let work = self.clone().answer(exchange.clone(), id, method, params);
                SuspendedCall { target, exchange, work: Box::pin(work) }
            }
        };
        self.run(call).await
    }

    /// Runs a call until it asks for input or ends. Open questions are asked again at once.
    pub(crate) async fn run(&self, mut call: SuspendedCall) -> RpcResult {
        while call.exchange.questions.open().is_empty() {
            tokio::select! {
                biased;
                outcome = &mut call.work => return outcome,
                () = call.exchange.questions.asked() => {}
            }
        }
        self.ask_for_input(call)
    }

    /// Suspends the call and returns the response that asks for input.
    fn ask_for_input(&self, call: SuspendedCall) -> RpcResult {
        let questions = call.exchange.questions.open();
        let handle = self.suspended.keep(call)?;
        let result = json!({
            "resultType": "input_required",
            "inputRequests": questions,
            "requestState": handle,
            "_meta": {"io.modelcontextprotocol/serverInfo": self.info},
        });
        Ok(JsonText(result.to_string()))
    }
}

/// A stateless request, its common parameters checked.
pub(crate) struct StatelessRequest {
    pub(crate) id: Box<RawValue>,
    pub(crate) method: String,
    pub(crate) params: Option<Box<RawValue>>,
    /// What the sender says of itself, checked.
    pub(crate) sender: ModernClient,
    pub(crate) head: CommonParams,
}
