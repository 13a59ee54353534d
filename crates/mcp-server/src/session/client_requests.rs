//! Our requests to a client of the legacy era.

use std::sync::atomic::Ordering;

use serde_json::{Map, Value, json, value};
use switchboard_toolcall::{ErrorKind, ServerQuestion, ToolError};
use tokio::{sync::oneshot, time::sleep};

use super::Session;
use crate::outbox::Outbox;
use switchboard_mcp_wire::{Outgoing, RpcError, questions};

impl Session {
    /// Asks the client questions, one after the other, on the stream of a request.
    pub(crate) async fn ask_all(
        &self,
        questions: Vec<(String, ServerQuestion)>,
        outbox: &Outbox,
    ) -> Result<Map<String, Value>, ToolError> {
        let mut answers = Map::new();
        for (key, ServerQuestion { kind, params }) in questions {
            let answer = self.ask(questions::method(kind), &params, outbox).await;
            let answer = answer.map_err(|error| {
                ToolError::new(ErrorKind::ToolError, error.message.clone()).caused_by(error)
            })?;
            answers.insert(key, answer);
        }
        Ok(answers)
    }

    async fn ask(&self, method: &str, params: &Value, outbox: &Outbox) -> Result<Value, RpcError> {
        let internal =
            |error: serde_json::Error| RpcError::new(RpcError::INTERNAL, error.to_string());
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        self.lock().pending.insert(id, answer);
        let _pending = PendingQuestion { session: self, id, outbox };
        let params = match params {
            Value::Null => None,
            params => Some(value::to_raw_value(params).map_err(internal)?),
        };
        outbox.send(&Outgoing::request(id, method, params.as_deref()));
        let gone = || RpcError::new(RpcError::REFUSED, "the client has ended the session");
        let answer = tokio::select! {
            answer = answered => answer.unwrap_or_else(|_| Err(gone()))?,
            () = self.end.cancelled() => return Err(gone()),
            () = sleep(self.patience) => {
                return Err(RpcError::new(RpcError::REFUSED, "the client gave no answer"));
            }
        };
        serde_json::from_str(answer.get()).map_err(internal)
    }
}

/// A request to the client; cancelled when dropped before the response.
struct PendingQuestion<'a> {
    session: &'a Session,
    id: u64,
    outbox: &'a Outbox,
}

impl Drop for PendingQuestion<'_> {
    fn drop(&mut self) {
        if self.session.lock().pending.remove(&self.id).is_some() {
            let params = json!({"requestId": self.id, "reason": "the call has ended"});
            if let Ok(params) = value::to_raw_value(&params) {
                let message = Outgoing::notification("notifications/cancelled", Some(&params));
                self.outbox.send(&message);
            }
        }
    }
}
