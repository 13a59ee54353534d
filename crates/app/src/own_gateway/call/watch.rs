//! Events of a call while the gateway runs it: its progress, that it waits for approval, and questions of its server.

use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};
use switchboard_toolcall::{CallId, CallerChannel, QuestionKind, ServerQuestion, ServerQuestions};
use tokio_util::task::AbortOnDropHandle;

use super::super::{OwnGateway, path};
use crate::{
    approvals::HeldCalls,
    settings::LoadedConfig,
    terminal::progress::{self, ProgressLabel},
};

/// Handles the events of a call for a command.
pub(crate) struct CallWatch {
    held: HeldCalls,
    /// Answers questions of servers; `None` if there is nobody to ask.
    channel: Option<Arc<dyn CallerChannel>>,
    label: ProgressLabel,
    /// Questions that are being asked; withdrawn when the call ends.
    questions: Vec<AbortOnDropHandle<()>>,
}

impl CallWatch {
    pub(crate) fn new(
        loaded: &LoadedConfig,
        channel: Option<Arc<dyn CallerChannel>>,
        label: ProgressLabel,
    ) -> Self {
        Self { held: HeldCalls::new(loaded), channel, label, questions: Vec::new() }
    }

    /// Returns the kinds of questions that are answered here, as REST names them; `None` if there is nobody to ask.
    pub(super) fn answers(&self) -> Option<String> {
        let channel = self.channel.as_ref()?;
        let kinds = [(QuestionKind::Elicit, "elicitation"), (QuestionKind::Sample, "own-model")];
        let kinds = kinds.iter().filter(|(kind, _)| channel.answers(*kind));
        Some(kinds.map(|(_, name)| *name).collect::<Vec<_>>().join(", "))
    }

    pub(super) fn hear(&mut self, gateway: &OwnGateway, kind: &str, event: &Value) {
        match kind {
            "progress" => {
                let update = progress::update(event);
                if !self.held.hear(update.message.as_deref().unwrap_or_default()) {
                    self.label.set(&update);
                }
            }
            "question" => {
                let Some(channel) = self.channel.clone() else { return };
                let asked = ask(gateway.clone(), channel, event.clone());
                self.questions.push(AbortOnDropHandle::new(tokio::spawn(asked)));
            }
            _ => {}
        }
    }
}

/// Asks a question here, and sends the answer to the gateway.
async fn ask(gateway: OwnGateway, channel: Arc<dyn CallerChannel>, event: Value) {
    let word = |key: &str| event[key].as_str().unwrap_or_default();
    let kind = match word("method") {
        "sampling/createMessage" => QuestionKind::Sample,
        _ => QuestionKind::Elicit,
    };
    const KEY: &str = "question";
    let question = ServerQuestion { kind, params: event["request"].clone() };
    let asked = ServerQuestions {
        server: word("server").into(),
        tool: word("tool").to_owned(),
        call_id: CallId::parse(word("call_id")),
        questions: vec![(KEY.to_owned(), question)],
    };
    let answer = channel.ask(asked).await.map(|mut answers| answers.shift_remove(KEY));
    let body = match (answer, kind) {
        (Ok(Some(answer)), QuestionKind::Sample) => json!({"action": "accept", "content": answer}),
        // MCP's words for the answer are those of REST.
        (Ok(Some(answer)), _) => answer,
        (Ok(None), _) => json!({"action": "cancel"}),
        (Err(error), _) => json!({"action": "fail", "error": error.for_model}),
    };
    let target = format!("/api/questions/{}", path(word("id")));
    let headers = [OwnGateway::caller(), ("content-type", "application/json".to_owned())];
    let sent = gateway.send(Method::POST, &target, &headers, body.to_string().into_bytes()).await;
    let told = match sent {
        Ok(reply) => reply.successful().await,
        Err(error) => Err(error),
    };
    if let Err(error) = told {
        tracing::warn!("the answer did not reach the gateway: {error:#}");
    }
}
