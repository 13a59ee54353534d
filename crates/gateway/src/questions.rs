//! Questions that MCP servers ask during calls over HTTP. Only the caller sees them: neither other callers nor those who
//! watch everybody's calls do (GW-5).

mod asker;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use indexmap::IndexMap;
use serde::Serialize;
use serde_json::Value;
use switchboard_access::Caller;
use switchboard_mcp_wire::elicitation::{ElicitResult, Elicitation};
use switchboard_runtime::validate::checker;
use tokio::sync::oneshot;
use utoipa::ToSchema;

use crate::{Feed, error::ApiError, feed::timestamp};
pub(crate) use asker::{Answers, Asker};

/// The questions that wait for an answer. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Questions(Arc<Mutex<IndexMap<String, OpenQuestion>>>);

struct OpenQuestion {
    /// The caller.
    caller: Option<Arc<str>>,
    question: Question,
    answer: oneshot::Sender<QuestionReply>,
}

/// A caller's answer to a question, or why it cannot answer.
pub(crate) type QuestionReply = Result<ElicitResult, String>;

/// A question that waits for an answer.
#[derive(Clone, Serialize, ToSchema)]
pub(crate) struct Question {
    id: String,
    /// The call in whose middle it is asked, as the records know it.
    call_id: Option<String>,
    /// The tool that was called.
    tool: String,
    /// The MCP server that asks.
    server: String,
    /// `elicitation/create` or `sampling/createMessage`.
    method: String,
    /// The parameters of the method, as in MCP.
    #[schema(value_type = Object)]
    request: Value,
    /// The model that is asked if a request for sampling is accepted; none if the caller asks one of its own.
    model: Option<String>,
    asked: String,
    /// When the question expires.
    expires: String,
}

impl Questions {
    /// Returns the caller's own questions, oldest first.
    pub(crate) fn of(&self, caller: &Caller) -> Vec<Question> {
        let open = self.lock();
        let own = open.values().filter(|open| open.caller == caller.name);
        own.map(|open| open.question.clone()).collect()
    }

    /// Answers one of the caller's own questions.
    ///
    /// # Errors
    /// Fails if there is no such question, or the answer is invalid; the question then stays open.
    pub(crate) fn answer(
        &self,
        id: &str,
        caller: &Caller,
        reply: QuestionReply,
    ) -> Result<(), ApiError> {
        let mut all = self.lock();
        let open = all.get(id).filter(|open| open.caller == caller.name);
        let open =
            open.ok_or_else(|| ApiError::NotFound(format!("there is no question '{id}'")))?;
        let reply = match reply {
            Ok(answer) => Ok(checked(&open.question, answer).map_err(ApiError::BadRequest)?),
            failed => failed,
        };
        // If the call has ended meanwhile, nothing receives the answer, which is not an error.
        if let Some(open) = all.shift_remove(id) {
            _ = open.answer.send(reply);
        }
        Ok(())
    }

    /// Opens a question until the guard is dropped.
    fn open(
        &self,
        caller: Option<Arc<str>>,
        question: Question,
        feed: &Arc<Feed>,
    ) -> (QuestionGuard, oneshot::Receiver<QuestionReply>) {
        let (answer, answered) = oneshot::channel();
        feed.tell_question(caller.as_ref(), &QuestionEvent::new("question", &question));
        let closed = QuestionEvent::new("question_closed", &question);
        let guard = QuestionGuard {
            questions: self.clone(),
            feed: feed.clone(),
            caller: caller.clone(),
            closed,
        };
        self.lock().insert(question.id.clone(), OpenQuestion { caller, question, answer });
        (guard, answered)
    }

    fn lock(&self) -> MutexGuard<'_, IndexMap<String, OpenQuestion>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the answer if it fits the question; else why not.
fn checked(question: &Question, answer: ElicitResult) -> Result<ElicitResult, String> {
    let ElicitResult::Accept(content) = answer else { return Ok(answer) };
    let form = match question.method.as_str() {
        "elicitation/create" => Elicitation::read(&question.request, checker)?,
        _ if question.model.is_some() => return Ok(ElicitResult::Accept(None)),
        _ if content.is_some() => return Ok(ElicitResult::Accept(content)),
        _ => return Err("the content must be what the caller's own model said".to_owned()),
    };
    let Elicitation::Form(form) = form else { return Ok(ElicitResult::Accept(None)) };
    let content = content.unwrap_or_default();
    match form.check(&content) {
        Ok(()) => Ok(ElicitResult::Accept(Some(content))),
        Err(problems) => {
            let said = problems.iter().map(|(name, problem)| format!("'{name}' {problem}"));
            Err(format!("the content does not fit: {}", said.collect::<Vec<_>>().join("; ")))
        }
    }
}

/// An open question; closed when this is dropped.
struct QuestionGuard {
    questions: Questions,
    feed: Arc<Feed>,
    caller: Option<Arc<str>>,
    closed: QuestionEvent,
}

impl Drop for QuestionGuard {
    fn drop(&mut self) {
        self.questions.lock().shift_remove(&self.closed.id);
        self.feed.tell_question(self.caller.as_ref(), &self.closed);
    }
}

/// A question's event on `/api/events`, for its caller.
#[derive(Clone, Serialize)]
pub(crate) struct QuestionEvent {
    #[serde(rename = "type")]
    kind: &'static str,
    id: String,
    pub(crate) tool: String,
    server: String,
    call_id: Option<String>,
}

impl QuestionEvent {
    fn new(kind: &'static str, question: &Question) -> Self {
        let Question { id, tool, server, call_id, .. } = question.clone();
        Self { kind, id, tool, server, call_id }
    }
}

/// Returns an unguessable id.
pub(crate) fn new_id() -> Result<String, getrandom::Error> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Returns the current time, and the time `later` after it.
fn times(later: std::time::Duration) -> (String, String) {
    let now = SystemTime::now();
    (timestamp(now), timestamp(now.checked_add(later).unwrap_or(now)))
}
