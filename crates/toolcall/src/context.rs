//! The context of a call: who makes it, how long it may take, how it is cancelled and observed.

use std::{fmt, sync::Arc, time::Duration};

use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{
    BoxFuture, CallId, CallerChannel, CallerToken, Principal, ToolResult, TraceContext, Visibility,
};

/// The context of one call. Cheap to clone.
///
/// The caller sets what it knows; the executor passes the tool a copy with `deadline`, `call_id` and a new cancellation
/// token.
#[derive(Clone, Debug, Default)]
pub struct CallContext {
    /// Fires when the caller cancels or drops the call, or when the deadline passes.
    pub cancel: CancellationToken,
    /// The caller's own timeout; it wins over the tool's, the server's and the global one.
    pub timeout: Option<Duration>,
    /// When the caller made the call, if it had to wait before reaching the executor, for example for servers to
    /// connect: the call's duration counts from then (EX-7).
    pub asked: Option<Instant>,
    /// When the executor will cancel the tool; set by the executor.
    pub deadline: Option<Instant>,
    /// The id of this execution; set by the executor.
    pub call_id: Option<CallId>,
    /// Where the tool reports progress.
    pub progress: Progress,
    /// Who makes the call, for records and policy.
    pub caller: Option<Arc<str>>,
    /// Who the caller was authenticated as: decides whose credentials the tool uses.
    pub principal: Principal,
    /// The JWT with which the caller was authenticated, if it was by one: exchanged for tokens of servers.
    pub token: Option<CallerToken>,
    /// The client program, as it names itself: for records, never for decisions.
    pub client: Option<Arc<str>>,
    /// What the caller may know: which tools exist for it, and whose calls.
    pub visibility: Visibility,
    /// The claims of a trusted issuer about the caller, for policy; a JSON object.
    pub claims: Option<Arc<Value>>,
    /// The conversation that the call belongs to, for records.
    pub conversation: Option<Arc<str>>,
    /// The idempotency key: a call that is repeated with the same key does not run again.
    pub idempotency_key: Option<Arc<str>>,
    /// A key that is the same if a call is repeated after a crash; goes along with the call to its tool, which may heed it
    /// (SPEC RN-2).
    pub call_key: Option<Arc<str>>,
    /// The SHA-256 of what the file of the run holds up to the turn that makes the call, for its record.
    pub turn_sha256: Option<Arc<str>>,
    /// Notified just before the tool runs.
    pub before_run: BeforeRun,
    /// Notified of the result before the call's record is closed.
    pub before_close: BeforeClose,
    /// Whether only a tool that is annotated as read-only may run.
    pub read_only: bool,
    /// Whether the caller wants the result without truncation.
    pub whole: bool,
    /// How a tool can ask the caller something during the call, if the caller accepts questions.
    pub caller_channel: Option<Arc<dyn CallerChannel>>,
    /// The trace that the call belongs to; a tool passes it on in its own requests.
    pub trace: Option<Arc<TraceContext>>,
}

impl CallContext {
    /// Creates the context of the caller `name`.
    pub fn for_caller(name: impl Into<Arc<str>>) -> Self {
        Self { caller: Some(name.into()), ..Self::default() }
    }

    /// Creates the context of a call that the user who runs this process makes, recorded under `name`.
    pub fn for_owner(name: impl Into<Arc<str>>) -> Self {
        Self { principal: Principal::Owner, ..Self::for_caller(name) }
    }

    /// Sets the name of the client program, see [`client_name`].
    #[must_use]
    pub fn with_client(mut self, name: &str) -> Self {
        self.client = client_name(name);
        self
    }

    /// Returns whether the caller may know of calls that `caller` made.
    pub fn knows_caller(&self, caller: Option<&str>) -> bool {
        self.visibility.knows_caller(self.caller.as_deref(), caller)
    }

    /// Sets the caller's timeout.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets the idempotency key.
    #[must_use]
    pub fn with_idempotency_key(mut self, key: impl Into<Arc<str>>) -> Self {
        self.idempotency_key = Some(key.into());
        self
    }
}

/// How many characters of a client's name are recorded.
const CLIENT_NAME_CHARS: usize = 64;

/// Returns a client's name as it is recorded: truncated, with characters that could harm a terminal or a page replaced,
/// since clients can send any text. Returns `None` if nothing is left.
pub fn client_name(name: &str) -> Option<Arc<str>> {
    let safe = |c: char| match c {
        ' '..='~' => c,
        _ if c.is_alphanumeric() => c,
        _ => '_',
    };
    let name: String = name.trim().chars().take(CLIENT_NAME_CHARS).map(safe).collect();
    (!name.is_empty()).then(|| name.into())
}

/// Notified by the executor when a call has passed all checks and its tool runs next; does nothing without a listener.
#[derive(Clone, Default)]
pub struct BeforeRun(Option<Arc<RunListener>>);

type RunListener = dyn Fn() -> BoxFuture<'static, ()> + Send + Sync;

impl BeforeRun {
    /// Calls `listener`. The call waits for what it returns.
    pub fn to(listener: impl Fn() -> BoxFuture<'static, ()> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(listener)))
    }

    /// Notifies the listener, if there is one, and waits for it.
    pub async fn notify(&self) {
        if let Some(listener) = &self.0 {
            listener().await;
        }
    }
}

impl fmt::Debug for BeforeRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BeforeRun").field(&self.0.is_some()).finish()
    }
}

type ResultListener = dyn Fn(&ToolResult) -> BoxFuture<'static, ()> + Send + Sync;

/// Notified by the executor of a result before the record of the call is closed, so that nobody finds the end of a call in
/// the records that its caller has not written down; does nothing without a listener.
#[derive(Clone, Default)]
pub struct BeforeClose(Option<Arc<ResultListener>>);

impl BeforeClose {
    /// Calls `listener`. The record waits for what it returns.
    pub fn to(
        listener: impl Fn(&ToolResult) -> BoxFuture<'static, ()> + Send + Sync + 'static,
    ) -> Self {
        Self(Some(Arc::new(listener)))
    }

    /// Notifies the listener, if there is one, and waits for it.
    pub async fn notify(&self, result: &ToolResult) {
        if let Some(listener) = &self.0 {
            listener(result).await;
        }
    }
}

impl fmt::Debug for BeforeClose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BeforeClose").field(&self.0.is_some()).finish()
    }
}

/// Where a tool reports its progress; does nothing without a listener.
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<dyn Fn(ProgressUpdate) + Send + Sync>>);

impl Progress {
    /// Calls `listener` with each update, in order and before the call's result.
    pub fn to(listener: impl Fn(ProgressUpdate) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(listener)))
    }

    /// Reports an update to the listener, if there is one.
    pub fn report(&self, update: ProgressUpdate) {
        if let Some(listener) = &self.0 {
            listener(update);
        }
    }

    /// Returns whether there is a listener.
    pub fn is_watched(&self) -> bool {
        self.0.is_some()
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Progress").field(&self.is_watched()).finish()
    }
}

/// One progress update.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProgressUpdate {
    /// How much is done.
    pub progress: f64,
    /// The total, if it is known.
    pub total: Option<f64>,
    /// A message for people.
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
