//! A caller over HTTP that answers questions.

use std::{fmt, sync::Arc, time::Duration};

use axum::response::sse::Event;
use http::HeaderMap;
use serde_json::{Map, Value};
use switchboard_access::Caller;
use switchboard_mcp_wire::elicitation::{ElicitResult, Elicitation};
use switchboard_mcp_wire::questions;
use switchboard_mcp_wire::sampling::SamplingRequest;
use switchboard_mcp_wire::server_request::{cannot_be_asked, cannot_be_shown};
use switchboard_runtime::{CallNames, ToolManager, validate::checker};
use switchboard_toolcall::{
    BoxFuture, CallerChannel, ErrorKind, HumanDuration, QuestionKind, ServerQuestion,
    ServerQuestions, ToolError, Visibility,
};
use tokio::{sync::mpsc::Sender, time::timeout};

use super::{Question, Questions, new_id, times};
use crate::{Feed, Models, gateway::Parts, sampling, sse::named};

/// The header with the kinds of questions that a caller accepts.
const HEADER: &str = "x-switchboard-answers";
/// How long to wait for an answer. The timeout of the call is paused meanwhile, so there has to be a limit.
const PATIENCE: Duration = Duration::from_secs(10 * 60);

/// The kinds of questions that a caller accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answers {
    elicitation: bool,
    /// Accepts or declines that a model of the config is asked.
    sampling: bool,
    /// Asks a model of its own, and sends that model's answer.
    own_model: bool,
}

impl Answers {
    /// Reads the header `X-Switchboard-Answers`.
    ///
    /// # Errors
    /// Fails if it names anything but `elicitation`, `sampling` and `own-model`.
    pub(crate) fn read(headers: &HeaderMap) -> Result<Self, String> {
        let mut answers = Self::default();
        let values = headers.get_all(HEADER).iter().map(|value| value.to_str().unwrap_or("?"));
        for word in values.flat_map(|value| value.split(',')) {
            match word.trim() {
                "elicitation" => answers.elicitation = true,
                "sampling" => answers.sampling = true,
                "own-model" => answers.own_model = true,
                other => {
                    return Err(format!(
                        "the header X-Switchboard-Answers: '{other}' is not one of `elicitation`, `sampling` and `own-model`"
                    ));
                }
            }
        }
        Ok(answers)
    }
}

/// A caller that answers questions through `/api/questions`.
pub(crate) struct Asker {
    caller: Option<Arc<str>>,
    answers: Answers,
    questions: Questions,
    feed: Arc<Feed>,
    models: Models,
    /// The model that servers may use, if the caller allows it; `None` if the caller asks its own.
    model: Option<String>,
    /// What the caller sees of the tools.
    visibility: Visibility,
    tools: Arc<ToolManager>,
    /// The events of the call, if the caller reads them.
    events: Option<Sender<Event>>,
}

impl Asker {
    /// Returns the channel to `caller`; `None` if it answers no questions. Servers may use `model`, or the first one if it is
    /// `None`. Questions are also sent to `events`, if there are any.
    pub(crate) fn channel_to(
        caller: &Caller,
        answers: Answers,
        questions: &Questions,
        parts: &Parts,
        model: Option<&str>,
        events: Option<Sender<Event>>,
    ) -> Option<Arc<dyn CallerChannel>> {
        if answers == Answers::default() {
            return None;
        }
        let model = model.map(str::to_owned).or_else(|| parts.models.names().into_iter().next());
        let model = model.filter(|_| !answers.own_model);
        Some(Arc::new(Self {
            caller: caller.name.clone(),
            answers,
            questions: questions.clone(),
            feed: parts.feed.clone(),
            models: parts.models.clone(),
            model,
            visibility: caller.visibility().clone(),
            tools: parts.executor.tools().clone(),
            events,
        }))
    }

    async fn one(
        &self,
        asked: &ServerQuestions,
        question: &ServerQuestion,
    ) -> Result<Value, ToolError> {
        let (server, kind) = (&asked.server, question.kind);
        if kind == QuestionKind::Sample && self.answers.sampling && self.model.is_none() {
            let text = format!(
                "MCP server '{server}' asked for a model's answer, and the config has no [models.*]"
            );
            return Err(failed(text));
        }
        if !self.answers(kind) {
            return Err(failed(cannot_be_asked(server, kind)));
        }
        let unshown = |reason: String| failed(cannot_be_shown(server, kind, &reason));
        if kind == QuestionKind::Sample {
            let request = SamplingRequest::read(&question.params).map_err(unshown)?;
            return match self.put(asked, question).await? {
                ElicitResult::Accept(Some(said)) if self.answers.own_model => {
                    Ok(Value::Object(said))
                }
                ElicitResult::Accept(_) => self.sample(&request).await,
                _ => Err(failed("the user does not allow that a model is asked")),
            };
        }
        Elicitation::read(&question.params, checker).map_err(unshown)?;
        Ok(self.put(asked, question).await?.into_json())
    }

    /// Opens a question and waits for the answer.
    async fn put(
        &self,
        asked: &ServerQuestions,
        question: &ServerQuestion,
    ) -> Result<ElicitResult, ToolError> {
        let (now, expires) = times(PATIENCE);
        let names = CallNames { tool: &asked.tool, ..CallNames::default() };
        let tool = self.tools.shown_tool(&self.visibility, &names);
        let question = Question {
            id: new_id().map_err(|error| failed(format!("no random numbers: {error}")))?,
            call_id: asked.call_id.map(|id| id.to_string()),
            tool: tool.unwrap_or_else(|| asked.tool.clone()),
            server: asked.server.to_string(),
            method: questions::method(question.kind).to_owned(),
            request: question.params.clone(),
            model: self.model.clone().filter(|_| question.kind == QuestionKind::Sample),
            asked: now,
            expires,
        };
        let event = self.events.as_ref().map(|events| (events, named("question", &question)));
        let (_open, answered) = self.questions.open(self.caller.clone(), question, &self.feed);
        if let Some((events, event)) = event {
            // A caller that no longer reads events has disconnected, which cancels the call.
            _ = events.send(event).await;
        }
        match timeout(PATIENCE, answered).await {
            Ok(Ok(reply)) => reply.map_err(failed),
            Ok(Err(_)) | Err(_) => {
                let limit = HumanDuration(PATIENCE);
                Err(failed(format!(
                    "nobody answered the question of '{}' within {limit}",
                    asked.server
                )))
            }
        }
    }

    async fn sample(&self, request: &SamplingRequest) -> Result<Value, ToolError> {
        let name = self.model.as_deref().unwrap_or_default();
        let broken =
            |error: &dyn fmt::Display| failed(format!("the model '{name}' failed: {error}"));
        let model = self.models.model(name).map_err(|error| broken(&error))?;
        sampling::ask(&*model, name, request).await.map_err(|error| broken(&error))
    }
}

impl CallerChannel for Asker {
    fn answers(&self, kind: QuestionKind) -> bool {
        match kind {
            QuestionKind::Elicit => self.answers.elicitation,
            QuestionKind::Sample => {
                self.answers.own_model || (self.answers.sampling && self.model.is_some())
            }
            QuestionKind::Roots => false,
        }
    }

    fn ask(&self, asked: ServerQuestions) -> BoxFuture<'_, Result<Map<String, Value>, ToolError>> {
        Box::pin(async move {
            let mut answers = Map::new();
            for (key, question) in &asked.questions {
                answers.insert(key.clone(), self.one(&asked, question).await?);
            }
            Ok(answers)
        })
    }
}

impl fmt::Debug for Asker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asker").field("caller", &self.caller).finish_non_exhaustive()
    }
}

fn failed(text: impl Into<String>) -> ToolError {
    ToolError::new(ErrorKind::ToolError, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_says_what_it_answers() {
        let read = |values: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(HEADER, http::HeaderValue::from_static(value));
            }
            Answers::read(&headers)
        };
        let answers =
            |elicitation, sampling| Ok(Answers { elicitation, sampling, own_model: false });
        assert_eq!(read(&[]), answers(false, false));
        assert_eq!(read(&["elicitation"]), answers(true, false));
        assert_eq!(read(&["elicitation, sampling"]), answers(true, true));
        assert_eq!(read(&["sampling", "elicitation"]), answers(true, true));
        let own = Answers { elicitation: true, sampling: false, own_model: true };
        assert_eq!(read(&["elicitation, own-model"]), Ok(own));
        let text = "the header X-Switchboard-Answers: 'roots' is not one of `elicitation`, `sampling` and \
                    `own-model`";
        assert_eq!(read(&["elicitation,roots"]), Err(text.to_owned()));
        assert_eq!(read(&[""]), Err(text.replace("roots", "")));
    }
}
