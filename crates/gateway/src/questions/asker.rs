//! A caller over HTTP who says that it answers questions.

use std::{fmt, sync::Arc, time::Duration};

use http::HeaderMap;
use serde_json::{Map, Value};
use switchboard_access::Caller;
use switchboard_mcp_wire::elicitation::{ElicitResult, Elicitation};
use switchboard_mcp_wire::questions;
use switchboard_mcp_wire::sampling::SamplingRequest;
use switchboard_mcp_wire::server_request::{cannot_be_asked, cannot_be_shown};
use switchboard_runtime::validate::checker;
use switchboard_toolcall::{
    BoxFuture, ErrorKind, HumanDuration, QuestionKind, ServerQuestion, ServerQuestions, ToolError,
    WayBack,
};
use tokio::time::timeout;

use super::{Question, Questions, new_id, times};
use crate::{Feed, Models, gateway::Parts, sampling};

/// The header with which a caller says what it answers.
const HEADER: &str = "x-switchboard-answers";
/// How long an answer is waited for. The time of the call does not run meanwhile, so there has to be an end.
const PATIENCE: Duration = Duration::from_secs(10 * 60);

/// What a caller says that it answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answers {
    elicitation: bool,
    sampling: bool,
}

impl Answers {
    /// Reads the header `X-Switchboard-Answers`.
    ///
    /// # Errors
    /// It names something else than `elicitation` and `sampling`.
    pub(crate) fn read(headers: &HeaderMap) -> Result<Self, String> {
        let mut answers = Self::default();
        let values = headers.get_all(HEADER).iter().map(|value| value.to_str().unwrap_or("?"));
        for word in values.flat_map(|value| value.split(',')) {
            match word.trim() {
                "elicitation" => answers.elicitation = true,
                "sampling" => answers.sampling = true,
                other => {
                    return Err(format!(
                        "the header X-Switchboard-Answers: '{other}' is neither `elicitation` nor `sampling`"
                    ));
                }
            }
        }
        Ok(answers)
    }
}

/// A caller who answers questions through `/api/questions`.
pub(crate) struct Asker {
    caller: Option<Arc<str>>,
    answers: Answers,
    questions: Questions,
    feed: Arc<Feed>,
    models: Models,
    /// The model that servers may use, if the caller allows it.
    model: Option<String>,
}

impl Asker {
    /// The way back to `caller`; `None` if it answers nothing. Servers may use `model`, or else the first.
    pub(crate) fn way_back(
        caller: &Caller,
        answers: Answers,
        questions: &Questions,
        parts: &Parts,
        model: Option<&str>,
    ) -> Option<Arc<dyn WayBack>> {
        if answers == Answers::default() {
            return None;
        }
        let model = model.map(str::to_owned).or_else(|| parts.models.names().into_iter().next());
        Some(Arc::new(Self {
            caller: caller.name.clone(),
            answers,
            questions: questions.clone(),
            feed: parts.feed.clone(),
            models: parts.models.clone(),
            model,
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
        let question = Question {
            id: new_id().map_err(|error| failed(format!("no random numbers: {error}")))?,
            call_id: asked.call_id.map(|id| id.to_string()),
            tool: asked.tool.clone(),
            server: asked.server.to_string(),
            method: questions::method(question.kind).to_owned(),
            request: question.params.clone(),
            model: self.model.clone().filter(|_| question.kind == QuestionKind::Sample),
            asked: now,
            expires,
        };
        let (_open, answered) = self.questions.open(self.caller.clone(), question, &self.feed);
        match timeout(PATIENCE, answered).await {
            Ok(Ok(answer)) => Ok(answer),
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

impl WayBack for Asker {
    fn answers(&self, kind: QuestionKind) -> bool {
        match kind {
            QuestionKind::Elicit => self.answers.elicitation,
            QuestionKind::Sample => self.answers.sampling && self.model.is_some(),
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
        let answers = |elicitation, sampling| Ok(Answers { elicitation, sampling });
        assert_eq!(read(&[]), answers(false, false));
        assert_eq!(read(&["elicitation"]), answers(true, false));
        assert_eq!(read(&["elicitation, sampling"]), answers(true, true));
        assert_eq!(read(&["sampling", "elicitation"]), answers(true, true));
        let text =
            "the header X-Switchboard-Answers: 'roots' is neither `elicitation` nor `sampling`";
        assert_eq!(read(&["elicitation,roots"]), Err(text.to_owned()));
        assert_eq!(read(&[""]), Err(text.replace("roots", "")));
    }
}
