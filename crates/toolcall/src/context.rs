//! What surrounds a call: who asked, how long it may take, how it is stopped and watched.

use std::{fmt, sync::Arc, time::Duration};

use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{CallId, TraceContext, Visibility, WayBack};

/// What surrounds one call. Cheap to clone.
///
/// The caller fills in what it knows; the executor hands the tool a copy with `deadline`, `call_id` and a
/// cancellation token of its own.
#[derive(Clone, Debug, Default)]
pub struct CallContext {
    /// Fires when the caller cancels, when the deadline passes or when the caller walks away.
    pub cancel: CancellationToken,
    /// The caller's own time limit; it wins over the tool's, the server's and the global one.
    pub timeout: Option<Duration>,
    /// When the caller asked, if something had to be waited for before the executor was handed the call, such as servers
    /// that connect: the call's time counts from then (EX-7).
    pub asked: Option<Instant>,
    /// When the executor will give up; set by the executor.
    pub deadline: Option<Instant>,
    /// The id of this execution; set by the executor.
    pub call_id: Option<CallId>,
    /// Where the tool reports how far it is.
    pub progress: Progress,
    /// Who asks, for records and policy.
    pub caller: Option<Arc<str>>,
    /// The program that the caller uses, as it names itself: for records, never for decisions.
    pub client: Option<Arc<str>>,
    /// What the caller may know: which tools exist for it, and whose calls.
    pub visibility: Visibility,
    /// What a trusted issuer says of who asks, for policy; a JSON object.
    pub claims: Option<Arc<Value>>,
    /// The conversation that the call is part of, for records.
    pub conversation: Option<Arc<str>>,
    /// The caller's word for this very act: asked again with the same word, it is not done again.
    pub idempotency_key: Option<Arc<str>>,
    /// Whether the result is wanted whole: who asks bounds it.
    pub whole: bool,
    /// The way back to the caller, if it can be asked something in the middle of the call.
    pub way_back: Option<Arc<dyn WayBack>>,
    /// The trace that the call is part of; a tool passes it on to whom it asks.
    pub trace: Option<Arc<TraceContext>>,
}

impl CallContext {
    /// The context of a caller that is known by `name`.
    pub fn for_caller(name: impl Into<Arc<str>>) -> Self {
        Self { caller: Some(name.into()), ..Self::default() }
    }

    /// Returns the same context with the name of the program that the caller uses, see [`client_name`].
    #[must_use]
    pub fn with_client(mut self, name: &str) -> Self {
        self.client = client_name(name);
        self
    }

    /// Returns whether the caller may know of calls that `caller` made.
    pub fn knows_caller(&self, caller: Option<&str>) -> bool {
        self.visibility.knows_caller(self.caller.as_deref(), caller)
    }

    /// The same context with the caller's own time limit.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// The same context with the caller's word for this very act.
    #[must_use]
    pub fn with_idempotency_key(mut self, key: impl Into<Arc<str>>) -> Self {
        self.idempotency_key = Some(key.into());
        self
    }
}

/// How many characters of a client's name are recorded.
const CLIENT_NAME_CHARS: usize = 64;

/// Returns a client's name as it is recorded: anybody can send any text, so it is cut, and characters that could
/// harm a terminal or a page are replaced. Returns `None` if nothing is left.
pub fn client_name(name: &str) -> Option<Arc<str>> {
    let safe = |c: char| match c {
        ' '..='~' => c,
        _ if c.is_alphanumeric() => c,
        _ => '_',
    };
    let name: String = name.trim().chars().take(CLIENT_NAME_CHARS).map(safe).collect();
    (!name.is_empty()).then(|| name.into())
}

/// Where a tool reports its progress; silent unless somebody listens.
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<dyn Fn(ProgressUpdate) + Send + Sync>>);

impl Progress {
    /// Calls `listener` with each report, in order and before the call's result.
    pub fn to(listener: impl Fn(ProgressUpdate) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(listener)))
    }

    /// Tells the listener, if there is one.
    pub fn report(&self, update: ProgressUpdate) {
        if let Some(listener) = &self.0 {
            listener(update);
        }
    }

    /// Whether anybody listens.
    pub fn is_watched(&self) -> bool {
        self.0.is_some()
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Progress").field(&self.is_watched()).finish()
    }
}

/// One report of progress.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProgressUpdate {
    /// How much is done.
    pub progress: f64,
    /// How much there is to do, where that is known.
    pub total: Option<f64>,
    /// What is going on, for people.
    pub message: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    // GW-8
    #[test]
    fn a_clients_name_is_short_and_harmless() {
        let check = |name: &str| client_name(name).map(|name| name.to_string());
        assert_eq!(check(" Claude Code/2 "), Some("Claude Code/2".to_owned()));
        assert_eq!(check("a\u{1b}]0;x\u{7}\u{202e}b\u{9b}\n日"), Some("a_]0;x__b__日".to_owned()));
        assert_eq!(check(&"ä".repeat(100)).map(|name| name.chars().count()), Some(64));
        assert_eq!(check(" \n"), None);
    }

    // GW-5
    #[test]
    fn a_caller_knows_its_own_calls_or_everybodys() {
        let mut cx = CallContext::for_caller("ada");
        assert!(cx.knows_caller(Some("bob")) && cx.knows_caller(None));
        cx.visibility = Visibility::of_tools(|name| name == "a").watching(false);
        assert!(cx.knows_caller(Some("ada")));
        assert!(!cx.knows_caller(Some("bob")) && !cx.knows_caller(None));
        assert!(cx.visibility.sees_name("a") && !cx.visibility.sees_name("b"));
    }
}
