//! The calls in flight in one session, and who made each, so that what a server sends meanwhile reaches that caller.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use serde_json::{Map, Value};
use switchboard_toolcall::{
    CallContext, CallId, ErrorKind, Progress, QuestionKind, ServerQuestion, ServerQuestions,
    ToolError, ToolSpec, WayBack,
};
use tokio_util::sync::CancellationToken;

/// The calls in flight, by the ids of their requests.
#[derive(Default)]
pub(crate) struct InFlightCalls(Mutex<HashMap<u64, InFlightCall>>);

struct InFlightCall {
    /// Who hears of its progress.
    progress: Progress,
    call: Arc<CallOrigin>,
    /// How many questions the server waits to have answered before it goes on with the call.
    open_questions: usize,
    /// Fires when the call is over; made for its first question.
    ended: Option<CancellationToken>,
}

/// The call that a request to a server is part of.
#[derive(Debug, Default)]
pub struct CallOrigin {
    tool: String,
    id: Option<CallId>,
    caller: Option<Arc<str>>,
    way_back: Option<Arc<dyn WayBack>>,
    /// Why a question that the server asked in the middle of it was refused.
    refusal: OnceLock<String>,
}

impl CallOrigin {
    /// The call of `spec` that `cx` surrounds.
    pub fn new(spec: &ToolSpec, cx: &CallContext) -> Arc<Self> {
        Arc::new(Self {
            tool: spec.name.clone(),
            id: cx.call_id,
            caller: cx.caller.clone(),
            way_back: cx.way_back.clone(),
            refusal: OnceLock::new(),
        })
    }

    /// Who can be asked in the middle of it.
    pub fn way_back(&self) -> Option<&dyn WayBack> {
        self.way_back.as_deref()
    }

    /// Puts questions of its server to who made the call.
    ///
    /// # Errors
    /// It cannot be asked these, or gave no answer.
    pub async fn ask(
        &self,
        way_back: &dyn WayBack,
        server: &Arc<str>,
        questions: Vec<(String, ServerQuestion)>,
    ) -> Result<Map<String, Value>, ToolError> {
        let (server, tool) = (server.clone(), self.tool.clone());
        let asked = ServerQuestions { server, tool, call_id: self.id, questions };
        way_back.ask(asked).await.inspect_err(|error| self.refused(&error.for_model))
    }

    /// Notes why a question was refused.
    pub fn refused(&self, reason: &str) {
        // The first is told: the others follow from it, or are like it.
        _ = self.refusal.set(reason.to_owned());
    }

    /// Adds to an error that a question was refused, unless the error or its hint says so.
    pub fn explained(&self, error: ToolError) -> ToolError {
        match self.refusal.get() {
            Some(refusal) if error.hint.is_none() && !error.for_model.contains(refusal) => {
                error.with_hint(refusal)
            }
            _ => error,
        }
    }
}

/// Who a question of a server's is for.
pub(crate) enum Recipient {
    /// Who made the call, and can be asked.
    Caller(CallerQuestion),
    /// Who made the call, and cannot be asked.
    Unaskable(Arc<CallOrigin>),
    /// Nobody: no call is under way.
    NoCall,
    /// One of several, and it is not known which.
    Unknown,
}

impl InFlightCalls {
    /// Remembers the call of request `id` until the guard is dropped. Requests that are part of no call, such as those for
    /// lists, are not remembered.
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

    /// Who hears of the progress of request `id`.
    pub(crate) fn progress(&self, id: u64) -> Option<Progress> {
        self.lock().get(&id).map(|entry| entry.progress.clone())
    }

    /// Returns who gets a log message: the one who made the request that it came `during`, or else the only one who
    /// has a request under way. Where several have, nobody is: a guess would show one client another's.
    pub(crate) fn log_recipient(&self, during: Option<u64>) -> Option<Arc<dyn WayBack>> {
        let in_flight = self.lock();
        if let Some(entry) = during.and_then(|id| in_flight.get(&id)) {
            return entry.call.way_back.clone();
        }
        let mut entries = in_flight.values();
        match (entries.next(), entries.next()) {
            (Some(only), None) => only.call.way_back.clone(),
            _ => None,
        }
    }

    /// Returns who gets a question; as [`log_recipient`](Self::log_recipient), but a request that waits for an answer already asks no
    /// second question, as long as all are of one caller and of one client session. Clients of 2026-07-28 have no session: those
    /// of one caller cannot be told apart. `blocks` says whether a server that asks this waits for the answer.
    pub(crate) fn recipient(self: &Arc<Self>, during: Option<u64>, blocks: bool) -> Recipient {
        let mut in_flight = self.lock();
        let id = match during {
            Some(id) if in_flight.contains_key(&id) => id,
            // It came with the answer to a request of ours that is no call.
            Some(_) => return Recipient::NoCall,
            None if in_flight.is_empty() => return Recipient::NoCall,
            None => match only_one(&in_flight) {
                Some(id) => id,
                None => return Recipient::Unknown,
            },
        };
        let Some(entry) = in_flight.get_mut(&id) else { return Recipient::NoCall };
        let call = entry.call.clone();
        match call.way_back.clone() {
            Some(way_back) => {
                entry.open_questions += usize::from(blocks);
                let ended = entry.ended.get_or_insert_default().clone();
                let in_flight = self.clone();
                Recipient::Caller(CallerQuestion { in_flight, id, call, way_back, ended, blocks })
            }
            None => Recipient::Unaskable(call),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, InFlightCall>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The only request that a question can be for.
fn only_one(in_flight: &HashMap<u64, InFlightCall>) -> Option<u64> {
    let session = |entry: &InFlightCall| {
        let back = entry.call.way_back.as_ref();
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

/// A question of the server's, until it is answered.
pub(crate) struct CallerQuestion {
    in_flight: Arc<InFlightCalls>,
    id: u64,
    call: Arc<CallOrigin>,
    way_back: Arc<dyn WayBack>,
    ended: CancellationToken,
    blocks: bool,
}

impl CallerQuestion {
    /// The call in whose middle it is asked.
    pub(crate) fn call(&self) -> Arc<CallOrigin> {
        self.call.clone()
    }

    /// Asks who made the call. The question ends with the call: nobody is kept waiting for an answer that is of no use.
    ///
    /// # Errors
    /// It cannot be asked this, or gave no answer.
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
            answers = self.call.ask(&*self.way_back, server, questions) => answers?,
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
