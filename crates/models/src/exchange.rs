//! One request and its response, whatever the provider: sends, reads, and retries if that may help.

use serde_json::Value;

use crate::{
    FailureKind, ModelConfig, ModelError, Provider, Request, Turn,
    frames::{Framing, StreamFrameReader},
    http::{self, ProviderEndpoint, ResponseBody},
    images::{self, Images},
    json,
    lower::LoweredTools,
    model::ModelEvents,
    retry::{self, FailedAttempt, Retries},
    sink::{Sink, TurnSummary},
    tool_cache::ToolCache,
    turn::{self, TurnDraft},
    window::Window,
};

/// Reads one response.
pub(crate) trait ResponseReader: Send {
    /// Takes one message of a stream; true at the last one.
    fn message(&mut self, message: &Value, sink: &mut Sink<'_>) -> Result<bool, ModelError>;

    /// Takes a response that came in one piece.
    fn whole(&mut self, answer: &Value, sink: &mut Sink<'_>) -> Result<(), ModelError>;

    /// What it all was.
    fn finish(self: Box<Self>) -> Result<TurnDraft, ModelError>;
}

/// How one model is asked.
pub(crate) struct ModelExchange {
    endpoint: ProviderEndpoint,
    pub(crate) config: ModelConfig,
    retries: Retries,
    tools: ToolCache,
    pub(crate) images: Images,
    window: Window,
}

impl ModelExchange {
    /// Asks `provider` at `path` below the config's address. `credentials` are headers with the key.
    pub(crate) fn new(
        provider: Provider,
        config: &ModelConfig,
        path: &str,
        credentials: Vec<(&'static str, String)>,
    ) -> Result<Self, ModelError> {
        let mut config = ModelConfig { provider, ..config.clone() };
        if let Some(problem) = config.context_management.and_then(|it| it.problem(provider)) {
            return Err(ModelError::new(FailureKind::Config, problem));
        }
        config.recover_calls &= provider.info().leaks_calls;
        let mut retries = Retries::default();
        if let Some(most) = config.max_retries {
            retries.most = most;
        }
        let endpoint = ProviderEndpoint::new(&config, path, credentials)?;
        let (tools, images) = (ToolCache::default(), Images::new(&config));
        Ok(Self { endpoint, config, retries, tools, images, window: Window::default() })
    }

    /// Returns how many tokens the model's window has.
    pub(crate) async fn window(&self) -> Option<u64> {
        self.window.get(&self.config).await
    }

    /// Returns the same if it is known without a request.
    pub(crate) fn known_window(&self) -> Option<u64> {
        self.window.known(&self.config)
    }

    /// Asks, with retries; once more without images if the request was refused and has any (RS-6).
    pub(crate) async fn ask(
        &self,
        request: &Request<'_>,
        events: ModelEvents<'_>,
    ) -> Result<Turn, ModelError> {
        let lowered = &*self.tools.lowered(self.config.provider, &request.tools);
        let messages = self.images.fitted(request.messages, events);
        let request = Request { messages: &messages, ..request.clone() };
        let asked = self.attempts(self.retries, &request, lowered, events).await;
        let FailedAttempt { error, has_emitted } = match asked {
            Ok(turn) => return Ok(turn),
            Err(failed) => failed,
        };
        self.window.learn(&error);
        if has_emitted || !images::has_any(&messages) || !images::may_be_refused(&error) {
            return Err(error);
        }
        tracing::info!(%error, "the model is asked once more without images");
        let without = images::without_any(&messages);
        let request = Request { messages: &without, ..request };
        // What is the server's own failure was tried often enough.
        let most = if error.kind == FailureKind::Server { 0 } else { self.retries.most };
        let retries = Retries { most, ..self.retries };
        let turn = self.attempts(retries, &request, lowered, events).await;
        let turn = turn.map_err(|failed| failed.error)?;
        self.images.refuse(&messages, &error, events);
        Ok(turn)
    }

    async fn attempts(
        &self,
        retries: Retries,
        request: &Request<'_>,
        lowered: &LoweredTools,
        events: ModelEvents<'_>,
    ) -> Result<Turn, FailedAttempt> {
        let body = &(self.config.provider.info().request)(&self.config, request, lowered);
        retry::run(retries, events, || {
            Box::pin(async move {
                let wary = turn::is_wary(request, self.config.recover_calls);
                let live = request.stream && !request.whole_turns;
                let mut sink = Sink::new(events, &lowered.names, live, wary);
                match self.once(body, request, lowered, &mut sink).await {
                    Ok(turn) => Ok(turn),
                    Err(error) => Err(FailedAttempt { error, has_emitted: sink.has_emitted() }),
                }
            })
        })
        .await
    }

    async fn once(
        &self,
        body: &Value,
        request: &Request<'_>,
        lowered: &LoweredTools,
        sink: &mut Sink<'_>,
    ) -> Result<Turn, ModelError> {
        let answer = self.endpoint.post(body.to_string().into_bytes()).await?;
        let info = self.config.provider.info();
        let mut reader = (info.reader)(body);
        // The content type decides: there are servers that do not stream although asked, and the other way round.
        match (answer.content_type(), request.stream) {
            ("text/event-stream", _) => stream(Framing::Events, answer, &mut *reader, sink).await?,
            ("application/x-ndjson", _) => {
                stream(Framing::Lines, answer, &mut *reader, sink).await?
            }
            // Proxies rename lines of JSON; one line is read as well as many.
            ("application/json", true) if info.framing == Framing::Lines => {
                stream(Framing::Lines, answer, &mut *reader, sink).await?;
            }
            ("application/json", _) | (_, false) => whole(answer, &mut *reader, sink).await?,
            (_, true) => stream(info.framing, answer, &mut *reader, sink).await?,
        }
        complete(reader, &self.config, request, lowered, sink)
    }
}

/// Returns the turn that was read; `sink` hears the rest of it.
pub(crate) fn complete(
    reader: Box<dyn ResponseReader>,
    config: &ModelConfig,
    request: &Request<'_>,
    lowered: &LoweredTools,
    sink: &mut Sink<'_>,
) -> Result<Turn, ModelError> {
    let mut draft = reader.finish()?;
    if let Some(warning) = draft.warning.take() {
        sink.warn(warning);
    }
    if draft.edits.is_any() {
        sink.edited(draft.edits);
    }
    let reasoning = draft.reasoning.clone();
    let turn = turn::complete(draft, config.provider, request, lowered, config.recover_calls);
    sink.finish(&TurnSummary {
        reasoning: &reasoning,
        calls: turn.message.tool_calls.iter().map(|call| &*call.name).collect(),
        recovered: turn.message.tool_calls.iter().any(|call| call.recovered),
        usage: turn.usage,
    });
    Ok(turn)
}

async fn stream(
    framing: Framing,
    mut body: ResponseBody,
    reader: &mut dyn ResponseReader,
    sink: &mut Sink<'_>,
) -> Result<(), ModelError> {
    let mut stream = ResponseStream::new(framing);
    loop {
        let chunk = body.next().await?;
        if stream.take(chunk.as_deref(), reader, sink)? || chunk.is_none() {
            return Ok(());
        }
    }
}

/// A stream as far as it has come.
pub(crate) struct ResponseStream {
    frames: StreamFrameReader,
    messages: Vec<Vec<u8>>,
}

impl ResponseStream {
    pub(crate) fn new(framing: Framing) -> Self {
        Self { frames: StreamFrameReader::new(framing), messages: Vec::new() }
    }

    /// Reads the next piece, or with none what the end of the body ends; true at the last message.
    pub(crate) fn take(
        &mut self,
        chunk: Option<&[u8]>,
        reader: &mut dyn ResponseReader,
        sink: &mut Sink<'_>,
    ) -> Result<bool, ModelError> {
        let fed = match chunk {
            Some(chunk) => self.frames.feed(chunk, &mut self.messages),
            None => self.frames.finish(&mut self.messages),
        };
        fed.map_err(|large| {
            ModelError::new(FailureKind::Unreadable, format!("the provider sent {large}"))
        })?;
        for message in self.messages.drain(..) {
            let message = message.trim_ascii();
            if message == b"[DONE]" {
                return Ok(true);
            }
            if message.is_empty() {
                continue;
            }
            // What the end of the body cuts in half was no message.
            let message =
                parse(message).map_err(|error| if chunk.is_none() { cut() } else { error })?;
            fail_if_error(&message)?;
            if reader.message(&message, sink)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

async fn whole(
    body: ResponseBody,
    reader: &mut dyn ResponseReader,
    sink: &mut Sink<'_>,
) -> Result<(), ModelError> {
    let answer = parse(&body.whole().await?)?;
    fail_if_error(&answer)?;
    reader.whole(&answer, sink)
}

/// An error can come after the status has said success.
fn fail_if_error(message: &Value) -> Result<(), ModelError> {
    let Some(said) = json::error_text(message).filter(|_| json::has_error(message)) else {
        return Ok(());
    };
    let text = format!("the provider failed while it answered: {said}");
    Err(ModelError::new(http::late_kind(&said), text))
}

/// Reads JSON that should be some.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value, ModelError> {
    serde_json::from_slice(bytes).map_err(|error| {
        let start: String = String::from_utf8_lossy(bytes).chars().take(200).collect();
        let text = format!("the provider sent something that is not JSON: {start}");
        ModelError::new(FailureKind::Unreadable, text).caused_by(error)
    })
}

/// The stream ended before the turn did.
pub(crate) fn cut() -> ModelError {
    ModelError::new(FailureKind::Cut, "the answer ended before it was complete")
}
