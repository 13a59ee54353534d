//! Dead letters: calls that were given up, with what is needed to look into them.
//!
//! They lie there for a month and are read by people, so nothing secret is in them. A call is made again where it was made first: a
//! letter does not have its exact arguments any more.

use serde::{Deserialize, Serialize};
use serde_json::{Map, json};
use switchboard_runtime::redact;
use switchboard_toolcall::CallId;

use super::{Job, Jobs};
use crate::{Error, clock::now_ms, wire, wire::Failure};

/// A call that was given up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeadLetter {
    /// The id under which it was queued.
    pub call: CallId,
    /// How often it was begun.
    pub attempts: u32,
    /// Why the last attempt failed.
    pub error: Failure,
    /// When it was given up, in milliseconds since 1970.
    pub died_ms: u64,
    /// The call as it lay in the queue, with secrets redacted and without claims.
    pub job: Job,
}

impl DeadLetter {
    fn new(job: &Job, attempts: u32, error: Failure) -> Self {
        let hidden = |text: &String| redact::text(text).into_owned();
        let error = Failure {
            text: hidden(&error.text),
            hint: error.hint.as_ref().map(hidden),
            output: None,
            kind: error.kind,
        };
        let mut job = job.clone();
        let args = redact::object(&job.request.args);
        // What was redacted is JSON.
        job.request.args = serde_json::from_str(&args).unwrap_or_default();
        job.request.large_args = None;
        job.request.claims = None;
        job.request.idempotency_key = job.request.idempotency_key.as_ref().map(hidden);
        Self { call: job.id(), attempts, error, died_ms: now_ms(), job }
    }
}

impl Jobs {
    /// Lays a call to the dead letters, once.
    pub(crate) async fn bury(&self, job: &Job, attempts: u32, error: Failure) -> Result<(), Error> {
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
    use crate::wire::{Output, Request};

    // RC-3
    #[test]
    fn no_secret_is_in_a_letter() {
        let mut cx = CallContext::for_caller("ada").with_idempotency_key("k");
        cx.claims = Some(Arc::new(json!({"email": "ada@example.com"})));
        let args = json!({"path": "cat.png", "login": {"password": "hunter2hunter2"}});
        let args = args.as_object().unwrap().clone();
        let mut request = Request::new(CallId::generate(), "resize", args, &cx);
        request.large_args = Some("there".to_owned());
        let (name, group) = ("gpu__resize".to_owned(), "gpu".to_owned());
        let job = Job { name, group, may_repeat: true, request };
        let error = Failure {
            kind: ErrorKind::Unavailable,
            text: "no answer to Authorization: Bearer abcdefghijklmnop".to_owned(),
            hint: None,
            output: Some(Output::Value(json!("hunter2hunter2"))),
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
