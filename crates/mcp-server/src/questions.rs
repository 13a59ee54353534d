//! Questions of a running call to a modern client, which can only be asked in responses.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};
use tokio::sync::{Notify, oneshot};

/// The open questions of one call.
#[derive(Debug, Default)]
pub(crate) struct CallQuestions {
    state: Mutex<QuestionsState>,
    added: Notify,
}

#[derive(Debug, Default)]
struct QuestionsState {
    open: Vec<QuestionBatch>,
    /// Answers that were sent before their questions were asked.
    given: Map<String, Value>,
}

#[derive(Debug)]
struct QuestionBatch {
    /// The name that the client sees, the asker's own key, and the question.
    questions: Vec<(String, String, Value)>,
    answers: oneshot::Sender<Map<String, Value>>,
}

impl CallQuestions {
    /// Stores answers that the client sent with its request, before it was asked. Each answers one question.
    pub(crate) fn give(&self, answers: Map<String, Value>) {
        self.lock().given = answers;
    }

    /// Adds questions; the receiver gets the answers once the client has given all of them.
    pub(crate) fn put(
        &self,
        questions: Map<String, Value>,
    ) -> oneshot::Receiver<Map<String, Value>> {
        let (answers, answered) = oneshot::channel();
        let mut state = self.lock();
        if !questions.is_empty() && questions.keys().all(|key| state.given.contains_key(key)) {
            let mut given = |key: String| state.given.remove(&key).map(|answer| (key, answer));
            // Cannot fail: the receiver is still here.
            _ = answers.send(questions.into_iter().filter_map(|(key, _)| given(key)).collect());
            return answered;
        }
        let mut named = Vec::with_capacity(questions.len());
        for (key, question) in questions {
            // Two askers may use the same key.
            let taken = |name: &String| state.open.iter().any(|open| open.has(name));
            let mut name = key.clone();
            for number in 2.. {
                if !taken(&name) {
                    break;
                }
                name = format!("{key}-{number}");
            }
            named.push((name, key, question));
        }
        state.open.push(QuestionBatch { questions: named, answers });
        drop(state);
        self.added.notify_one();
        answered
    }

    /// Waits until a question is added.
    pub(crate) async fn question_added(&self) {
        self.added.notified().await;
    }

    /// Returns all open questions by the names that the client sees.
    pub(crate) fn open(&self) -> Map<String, Value> {
        let open = &mut self.lock().open;
        // The asker of a closed channel is gone.
        open.retain(|open| !open.answers.is_closed());
        let questions = open.iter().flat_map(|open| &open.questions);
        questions.map(|(name, _, question)| (name.clone(), question.clone())).collect()
    }

    /// Hands in answers. Questions of which some are still unanswered stay open.
    pub(crate) fn answer(&self, responses: &Map<String, Value>) {
        let open = &mut self.lock().open;
        let answered = |open: &mut QuestionBatch| {
            open.questions.iter().all(|(name, ..)| responses.contains_key(name))
        };
        for QuestionBatch { questions, answers } in open.extract_if(.., answered) {
            let pair = |(name, key, _): (String, String, Value)| {
                responses.get(&name).map(|response| (key, response.clone()))
            };
            // The asker may be gone.
            _ = answers.send(questions.into_iter().filter_map(pair).collect());
        }
    }

    fn lock(&self) -> MutexGuard<'_, QuestionsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QuestionBatch {
    fn has(&self, name: &str) -> bool {
        self.questions.iter().any(|(taken, ..)| taken == name)
    }
}
