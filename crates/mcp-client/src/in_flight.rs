//! The calls in flight in one session, with their callers, so that messages from the server reach the right caller.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use serde_json::{Map, Value};
use switchboard_toolcall::{
    CallContext, CallId, CallerChannel, ErrorKind, Progress, QuestionKind, ServerQuestion,
    ServerQuestions, ToolError, ToolSpec,
};
use tokio_util::sync::CancellationToken;

/// The calls in flight, by the ids of their requests.
#[derive(Default)]
pub(crate) struct InFlightCalls(Mutex<HashMap<u64, InFlightCall>>);

struct InFlightCall {
    /// Receives the progress of the call.
    progress: Progress,
    call: Arc<CallOrigin>,
    /// How many questions of the server about this call are unanswered.
    open_questions: usize,
    /// Fires when the call is over; created with its first question.
    ended: Option<CancellationToken>,
}

/// The call that a request to a server is part of.
#[derive(Debug, Default)]
pub struct CallOrigin {
    tool: String,
    id: Option<CallId>,
    caller: Option<Arc<str>>,
    /// The key that is the same if the call is repeated after a crash.
    key: Option<Arc<str>>,
    caller_channel: Option<Arc<dyn CallerChannel>>,
    /// Why a question that the server asked during the call was refused.
    refusal: OnceLock<String>,
}

impl CallOrigin {
    /// Creates the origin of a call of `spec` with the context `cx`.
    pub fn new(spec: &ToolSpec, cx: &CallContext) -> Arc<Self> {
        Arc::new(Self {
            tool: spec.name.clone(),
            id: cx.call_id,
            caller: cx.caller.clone(),
            key: cx.call_key.clone(),
            caller_channel: cx.caller_channel.clone(),
            refusal: OnceLock::new(),
        })
    }

    /// Returns the key that is the same if the call is repeated after a crash.
    pub(crate) fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// Returns the channel to the caller; `None` if the caller cannot be asked anything.
    pub fn caller_channel(&self) -> Option<&dyn CallerChannel> {
        self.caller_channel.as_deref()
    }

    /// Asks the caller the server's questions.
    ///
    /// # Errors
    /// Fails if the caller cannot be asked these, or did not answer.
    pub async fn ask(
        &self,
        caller_channel: &dyn CallerChannel,
        server: &Arc<str>,
        questions: Vec<(String, ServerQuestion)>,
    ) -> Result<Map<String, Value>, ToolError> {
        let (server, tool) = (server.clone(), self.tool.clone());
        let asked = ServerQuestions { server, tool, call_id: self.id, questions };
        caller_channel.ask(asked).await.inspect_err(|error| self.refused(&error.for_model))
    }

    /// Stores why a question was refused.
    pub fn refused(&self, reason: &str) {
        // Only the first reason is kept: the others follow from it, or are like it.
        _ = self.refusal.set(reason.to_owned());
    }

    /// Adds the reason of a refused question to an error, unless the error or its hint has it already.
    pub fn explained(&self, error: ToolError) -> ToolError {
        match self.refusal.get() {
            Some(refusal) if error.hint.is_none() && !error.for_model.contains(refusal) => {
                error.with_hint(refusal)
            }
            _ => error,
        }
    }
}

/// The recipient of a server's question.
pub(crate) enum Recipient {
    /// The caller, who can be asked.
    Caller(CallerQuestion),
    /// The caller, who cannot be asked.
    Unaskable(Arc<CallOrigin>),
    /// No recipient: no call is in flight.
    NoCall,
    /// One of several callers, and it is not known which.
    Unknown,
}

impl InFlightCalls {
    /// Registers the call of request `id` until the guard is dropped. Requests that belong to no call, such as those for
    /// lists, are not registered.
    pub(crate) fn begin(
        self: &Arc<Self>,
        id: u64,
        progress: &Progress,
        call: Option<&Arc<CallOrigin>>,
    ) -> Option<InFlightGuard> {
        let (progress, call) = (progress.clone(), call?.clone());
        let entry = InFlightCall { progress, call, open_questions: 0, ended: None };
        self.lock().insert(id, entry);
        Some(InFlightGuard { in_flight: self.clone(), id })
    }

    /// Returns where the progress of request `id` is reported.
    pub(crate) fn progress(&self, id: u64) -> Option<Progress> {
        self.lock().get(&id).map(|entry| entry.progress.clone())
    }

    /// Returns the recipient of a log message: the caller of the request that it came `during`, else of the only request
    /// in flight. Returns `None` if several are in flight: a guess could show one client another's messages.
    pub(crate) fn log_recipient(&self, during: Option<u64>) -> Option<Arc<dyn CallerChannel>> {
        let in_flight = self.lock();
        if let Some(entry) = during.and_then(|id| in_flight.get(&id)) {
            return entry.call.caller_channel.clone();
        }
        let mut entries = in_flight.values();
        match (entries.next(), entries.next()) {
            (Some(only), None) => only.call.caller_channel.clone(),
            _ => None,
        }
    }

    /// Returns the recipient of a question. Like [`log_recipient`](Self::log_recipient), but if all requests are of one caller
    /// and one client session, requests that already wait for an answer are not considered. Clients of 2026-07-28 have no session,
    /// so several clients of one caller cannot be told apart. `blocks` says whether the server waits for the answer.
    pub(crate) fn recipient(self: &Arc<Self>, during: Option<u64>, blocks: bool) -> Recipient {
        let mut in_flight = self.lock();
        let id = match during {
            Some(id) if in_flight.contains_key(&id) => id,
            // It came with the response to a request of ours that is not a call.
            Some(_) => return Recipient::NoCall,
            None if in_flight.is_empty() => return Recipient::NoCall,
            None => match only_one(&in_flight) {
                Some(id) => id,
                None => return Recipient::Unknown,
            },
        };
        let Some(entry) = in_flight.get_mut(&id) else { return Recipient::NoCall };
        let call = entry.call.clone();
        match call.caller_channel.clone() {
            Some(caller_channel) => {
                entry.open_questions += usize::from(blocks);
                let ended = entry.ended.get_or_insert_default().clone();
                let in_flight = self.clone();
                Recipient::Caller(CallerQuestion {
                    in_flight,
                    id,
                    call,
                    caller_channel,
                    ended,
                    blocks,
                })
            }
            None => Recipient::Unaskable(call),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, InFlightCall>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the id of the only request that a question can belong to; `None` if there are several.
fn only_one(in_flight: &HashMap<u64, InFlightCall>) -> Option<u64> {
    let session = |entry: &InFlightCall| {
        let back = entry.call.caller_channel.as_ref();
        (entry.call.caller.clone(), back.and_then(|back| back.session().cloned()))
    };
    let mut sessions = in_flight.values().map(session);
    let first = sessions.next()?;
    let one_session = sessions.all(|session| session == first);
    let alone = in_flight.len() == 1;
    let mut free = in_flight.iter().filter(|(_, entry)| alone || entry.open_questions == 0);
    match (free.next(), free.next()) {
        (Some((id, _)), None) if one_session => Some(*id),
        _ => None,
    }
}

/// Removes a call in flight when dropped.
pub(crate) struct InFlightGuard {
    in_flight: Arc<InFlightCalls>,
    id: u64,
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        let entry = self.in_flight.lock().remove(&self.id);
        if let Some(ended) = entry.and_then(|entry| entry.ended) {
            ended.cancel();
        }
    }
}

/// A question of the server, until it is answered.
pub(crate) struct CallerQuestion {
    in_flight: Arc<InFlightCalls>,
    id: u64,
    call: Arc<CallOrigin>,
    caller_channel: Arc<dyn CallerChannel>,
    ended: CancellationToken,
    blocks: bool,
}

impl CallerQuestion {
    /// Returns the call during which it is asked.
    pub(crate) fn call(&self) -> Arc<CallOrigin> {
        self.call.clone()
    }

    /// Asks the caller. The question ends with the call, so that nobody is asked for an answer that is no longer needed.
    ///
    /// # Errors
    /// Fails if the caller cannot be asked this, or did not answer.
    pub(crate) async fn ask(
        &self,
        server: &Arc<str>,
        kind: QuestionKind,
        params: Value,
    ) -> Result<Value, ToolError> {
        const KEY: &str = "question";
        let questions = vec![(KEY.to_owned(), ServerQuestion { kind, params })];
        let mut answers = tokio::select! {
            biased;
            answers = self.call.ask(&*self.caller_channel, server, questions) => answers?,
            () = self.ended.cancelled() => {
                return Err(ToolError::new(ErrorKind::Cancelled, "the call is over"));
            }
        };
        Ok(answers.remove(KEY).unwrap_or_default())
    }
}

impl Drop for CallerQuestion {
    fn drop(&mut self) {
        if let Some(entry) = self.in_flight.lock().get_mut(&self.id) {
            entry.open_questions -= usize::from(self.blocks);
        }
    }
}

#[cfg(test)]
mod tests;
