//! Dead letters: failed calls, with what is needed to investigate them.
//!
//! They are kept for a month and read by people, so secrets are redacted. To repeat a call, make it again where it was
//! made: a letter does not have the exact arguments.

use serde::{Deserialize, Serialize};
use serde_json::{Map, json};
use switchboard_runtime::redact;
use switchboard_toolcall::CallId;
use switchboard_toolcall::time::unix_milliseconds;

use super::{Job, Jobs};
use crate::{Error, wire, wire::WireFailure};

/// A failed call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DeadLetter {
    /// The id under which it was queued.
    pub call: CallId,
    /// How many attempts were made.
    pub attempts: u32,
    /// Why the last attempt failed.
    pub error: WireFailure,
    /// When it failed, in milliseconds since 1970.
    pub died_ms: u64,
    /// The call as it was queued, with secrets redacted and without claims.
    pub job: Job,
}

impl DeadLetter {
    fn new(job: &Job, attempts: u32, error: WireFailure) -> Self {
        let hidden = |text: &String| redact::text(text).into_owned();
        let error = WireFailure {
            text: hidden(&error.text),
            hint: error.hint.as_ref().map(hidden),
            output: None,
            kind: error.kind,
        };
        let mut job = job.clone();
        let args = redact::object(&job.request.args);
        // The redacted arguments are JSON.
        job.request.args = serde_json::from_str(&args).unwrap_or_default();
        job.request.large_args = None;
        job.request.claims = None;
        job.request.idempotency_key = job.request.idempotency_key.as_ref().map(hidden);
        Self { call: job.id(), attempts, error, died_ms: unix_milliseconds(), job }
    }
}

impl Jobs {
    /// Publishes a call to the dead letter queue, once.
    pub(crate) async fn bury(
        &self,
        job: &Job,
        attempts: u32,
        error: WireFailure,
    ) -> Result<(), Error> {
        let mut letter = DeadLetter::new(job, attempts, error);
        let mut bytes = wire::write(&letter)?;
        if self.cluster().is_large(bytes.len()) {
            let note = json!(format!("left out: the letter would have {} bytes", bytes.len()));
            letter.job.request.args = Map::from_iter([("arguments".to_owned(), note)]);
            bytes = wire::write(&letter)?;
        }
        let subject = self.cluster().names().subject(&["dead", &job.group, &job.request.tool]);
        self.publish(&subject, &letter.call.to_string(), bytes).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use switchboard_toolcall::{CallContext, ErrorKind};

    use super::*;
    use crate::wire::{WireOutput, WorkerRequest};

    // RC-3
    #[test]
    fn no_secret_is_in_a_letter() {
        let mut cx = CallContext::for_caller("ada").with_idempotency_key("k");
        cx.claims = Some(Arc::new(json!({"email": "ada@example.com"})));
        let args = json!({"path": "cat.png", "login": {"password": "hunter2hunter2"}});
        let args = args.as_object().unwrap().clone();
        let mut request = WorkerRequest::new(CallId::generate(), "resize", args, &cx);
        request.large_args = Some("there".to_owned());
        let (name, group) = ("gpu__resize".to_owned(), "gpu".to_owned());
        let job = Job { name, group, may_repeat: true, request };
        let error = WireFailure {
            kind: ErrorKind::Unavailable,
            text: "no answer to Authorization: Bearer abcdefghijklmnop".to_owned(),
            hint: None,
            output: Some(WireOutput::Value(json!("hunter2hunter2"))),
        };
        let letter = DeadLetter::new(&job, 5, error);
        let text = serde_json::to_string(&letter).unwrap();
        for secret in ["hunter2", "abcdefghijklmnop", "ada@example.com", "there"] {
            assert!(!text.contains(secret), "{text}");
        }
        assert_eq!(letter.job.request.args["path"], json!("cat.png"));
        assert_eq!(letter.job.request.caller.as_deref(), Some("ada"));
        assert_eq!((letter.call, letter.attempts), (job.id(), 5));
        assert!(letter.error.text.starts_with("no answer to"), "{}", letter.error.text);
    }
}
