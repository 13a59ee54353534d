//! A session with a server: the era is agreed on, and requests can be sent.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde_json::{Map, Value, value::RawValue};
use switchboard_lock::InstanceGate;
use switchboard_mcp_wire::{
    Era, RpcError, ServerRequest, ServerRequestHandler, questions,
    server_request::{NoRecipient, cannot_be_answered},
    write_request,
};
use switchboard_toolcall::{CallerChannel, LogLevel, Progress, TraceContext};
use tokio::time::{Instant, sleep};

use super::{
    in_flight::CallOrigin,
    inbox::NotificationRouter,
    request_params::{CALL_KEY, OutgoingParams, ParamsWithMeta, RequestMeta},
    transport::{Failure, Transport, TransportRequest},
};

/// The `resultType` of a result that asks for input.
const ASKS_BACK: &str = "input_required";

/// How many times a server may ask for input before it must return a result.
const MOST_ROUNDS: usize = 16;

/// A session with a server.
pub struct Session {
    pub(super) transport: Arc<dyn Transport>,
    pub(super) router: Arc<NotificationRouter>,
    pub(super) answers: Arc<dyn ServerRequestHandler>,
    pub(super) era: Era,
    /// The name and version that the server reports.
    pub(super) info: Value,
    pub(super) capabilities: Value,
    /// Holds back what is not in the lock; if `None`, nothing is.
    pub(super) gate: Option<Arc<InstanceGate>>,
    pub(super) instructions: Option<String>,
    pub(super) ids: Arc<AtomicU64>,
    pub(super) usage: SessionUsage,
}

/// A request to be sent: its parameters and its metadata.
pub struct OutgoingRequest<'a> {
    /// The method.
    pub method: &'a str,
    /// The parameters without `_meta`.
    pub params: OutgoingParams<'a>,
    /// The headers of the modern era.
    pub headers: Vec<(String, String)>,
    /// Receives its progress.
    pub progress: Progress,
    /// The call that it belongs to, if any.
    pub call: Option<Arc<CallOrigin>>,
    /// The trace that it belongs to.
    pub trace: Option<Arc<TraceContext>>,
}

impl<'a> OutgoingRequest<'a> {
    /// Creates a request without any metadata.
    pub fn new(method: &'a str, params: Map<String, Value>) -> Self {
        let params = OutgoingParams::Fields(params);
        let progress = Progress::default();
        Self { method, params, headers: Vec::new(), progress, call: None, trace: None }
    }
}

impl Session {
    /// Sends a request and returns its result. Answers the server's requests for input on the way.
    ///
    /// # Errors
    /// Fails if the server returned an error, or could not be reached.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the request.
    pub async fn ask(&self, outgoing: OutgoingRequest<'_>) -> Result<Value, Failure> {
        read(&self.ask_raw(outgoing).await?)
    }

    /// Like [`ask`](Self::ask), but returns the result as raw JSON.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub async fn ask_raw(
        &self,
        mut outgoing: OutgoingRequest<'_>,
    ) -> Result<Box<RawValue>, Failure> {
        let trace = outgoing.trace.as_deref().map(trace_fields).unwrap_or_default();
        outgoing.headers.extend(trace.iter().cloned());
        let (method, headers) = (outgoing.method, &outgoing.headers);
        let (progress, call) = (&outgoing.progress, outgoing.call.as_ref());
        let mut further = Map::new();
        for _ in 0..MOST_ROUNDS {
            let id = self.ids.fetch_add(1, Ordering::Relaxed);
            let _remembered = self.router.in_flight().begin(id, progress, call);
            let meta = self.meta(progress.is_watched().then_some(id), call, &trace);
            let params =
                ParamsWithMeta { meta: &meta, params: &outgoing.params, further: &further };
            let message = write_request(id, method, |json| params.write(json)).into();
            let request = TransportRequest { id, method, message, headers, cancellable: true };
            let result = self.transport.request(request).await?;
            // Only the modern era asks for input in a result. Most results lack the word and need no parsing.
            if self.era != Era::Modern || !result.get().contains(ASKS_BACK) {
                return Ok(result);
            }
            let raw = result;
            let result = read(&raw)?;
            if result["resultType"] != ASKS_BACK {
                return Ok(raw);
            }
            let responses = self.input(&result["inputRequests"], call).await?;
            further.insert("inputResponses".to_owned(), Value::Object(responses));
            // The state is returned unchanged, or left out if there is none.
            match result.get("requestState") {
                Some(state) => _ = further.insert("requestState".to_owned(), state.clone()),
                None => _ = further.remove("requestState"),
            }
        }
        Err(Failure::Protocol(format!("the server asked back more than {MOST_ROUNDS} times")))
    }

    /// Returns the `_meta` of a request: the era's required fields, and the progress token.
    fn meta<'a>(
        &self,
        progress: Option<u64>,
        call: Option<&Arc<CallOrigin>>,
        trace: &'a [(String, String)],
    ) -> RequestMeta<'a> {
        let caller_channel = call.and_then(|call| call.caller_channel());
        let mut notes = caller_channel.map(CallerChannel::notes).unwrap_or_default();
        if let Some(key) = call.and_then(|call| call.key()) {
            notes.insert(CALL_KEY.to_owned(), key.into());
        }
        let is_modern = self.era == Era::Modern;
        let capabilities = || match (call, caller_channel) {
            (_, Some(caller_channel)) => questions::capabilities_of(caller_channel),
            (Some(_), None) => self.answers.own_capabilities(),
            (None, None) => self.answers.capabilities(),
        };
        let level = caller_channel.and_then(CallerChannel::log_level).filter(|_| is_modern);
        let level = level.map(LogLevel::name);
        let capabilities = is_modern.then(capabilities);
        RequestMeta { notes, capabilities, level, progress, trace }
    }

    /// Answers the questions in a modern server's result.
    async fn input(
        &self,
        requests: &Value,
        call: Option<&Arc<CallOrigin>>,
    ) -> Result<Map<String, Value>, Failure> {
        let (server, requests) = (self.router.server(), requests.as_object());
        if let Some((call, caller_channel)) =
            call.and_then(|call| Some((call, call.caller_channel()?)))
        {
            let refused = |text: String| Failure::Rpc(RpcError::new(RpcError::REFUSED, text));
            let questions = requests.map_or(Ok(Vec::new()), questions::read);
            let questions = questions.map_err(|method| {
                let text = cannot_be_answered(server, &method);
                call.refused(&text);
                refused(text)
            })?;
            let answers = call.ask(caller_channel, server, questions).await;
            return answers.map_err(|error| refused(error.for_model));
        }
        let mut responses = Map::new();
        for (key, request) in requests.into_iter().flatten() {
            let request = ServerRequest {
                server: server.clone(),
                method: request["method"].as_str().unwrap_or("").to_owned(),
                params: request["params"].clone(),
                recipient: NoRecipient::CannotBeAsked,
            };
            let answer = self.answers.answer(request).await;
            responses.insert(key.clone(), answer.map_err(Failure::Rpc)?);
        }
        Ok(responses)
    }

    /// Returns the era, with its revision.
    pub fn era(&self) -> &Era {
        &self.era
    }

    /// Returns the name and version that the server reports.
    pub fn info(&self) -> &Value {
        &self.info
    }

    /// Returns the capabilities that the server declares.
    pub fn capabilities(&self) -> &Value {
        &self.capabilities
    }

    /// Returns the server's `instructions`, unless they wait to be trusted.
    pub fn instructions(&self) -> Option<&str> {
        let text = self.instructions.as_deref();
        let is_admitted = self.gate.as_ref().is_none_or(|gate| gate.admits_instructions(text));
        text.filter(|_| is_admitted)
    }

    /// Returns the usage counter.
    pub(crate) fn usage(&self) -> &SessionUsage {
        &self.usage
    }

    /// Returns the transport.
    pub fn transport(&self) -> &Arc<dyn Transport> {
        &self.transport
    }
}

/// Returns the trace context as fields, which `_meta` and the HTTP headers both carry (SEP-414).
fn trace_fields(trace: &TraceContext) -> Vec<(String, String)> {
    let mut fields = vec![("traceparent".to_owned(), trace.traceparent())];
    fields.extend(trace.tracestate().map(|state| ("tracestate".to_owned(), state.to_owned())));
    fields
}

/// Parses the result.
pub(super) fn read(raw: &RawValue) -> Result<Value, Failure> {
    serde_json::from_str(raw.get())
        .map_err(|error| Failure::Protocol(format!("the answer cannot be read: {error}")))
}

/// Counts the calls in flight, and stores when the last one ended.
pub(crate) struct SessionUsage(Mutex<(usize, Instant)>);

impl SessionUsage {
    /// Creates a counter without calls.
    pub(crate) fn new() -> Self {
        Self(Mutex::new((0, Instant::now())))
    }

    /// Counts a call until the guard is dropped.
    pub(crate) fn busy(&self) -> BusyGuard<'_> {
        self.lock().0 += 1;
        BusyGuard(self)
    }

    /// Resolves when no call has been in flight for `limit`.
    pub(crate) async fn idle_for(&self, limit: Duration) {
        loop {
            let left = match *self.lock() {
                (0, since) => limit.saturating_sub(since.elapsed()),
                _ => limit,
            };
            if left.is_zero() {
                return;
            }
            sleep(left).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, (usize, Instant)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for SessionUsage {
    fn default() -> Self {
        Self::new()
    }
}

/// A call in flight.
pub(crate) struct BusyGuard<'a>(&'a SessionUsage);

impl Drop for BusyGuard<'_> {
    fn drop(&mut self) {
        let mut usage = self.0.lock();
        *usage = (usage.0 - 1, Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // MC-7
    #[tokio::test(start_paused = true)]
    async fn idle_means_nothing_under_way() {
        let usage = SessionUsage::new();
        let began = Instant::now();
        let busy = usage.busy();
        let limit = Duration::from_secs(10);
        let work = async {
            sleep(Duration::from_secs(25)).await;
            drop(busy);
        };
        tokio::join!(work, usage.idle_for(limit));
        assert!(began.elapsed() >= Duration::from_secs(35), "{:?}", began.elapsed());
    }
}
