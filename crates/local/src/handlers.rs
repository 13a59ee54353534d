//! What the host gives to defined tools: the functions that they may call, Switchboard's own and the host application's
//! (SPEC LT-2), and the guard of the programs that they start (MC-7).

use std::{
    collections::BTreeMap,
    fmt,
    future::Future,
    sync::{Arc, OnceLock, PoisonError, RwLock},
};

use serde_json::Value;
use switchboard_process::ProcessGuard;
use switchboard_sandbox::SandboxDeps;
use switchboard_toolcall::{
    BoxFuture, CallContext, ErrorKind, IntoOutput, Tool, ToolError, ToolOutput,
};

/// A function that a defined tool may call.
pub type Handler = Arc<
    dyn Fn(Value, CallContext) -> BoxFuture<'static, Result<ToolOutput, ToolError>> + Send + Sync,
>;

/// Creates a handler of an async function.
///
/// ```
/// use serde_json::json;
/// use switchboard_local::{Handlers, handler_fn};
///
/// let handlers = Handlers::new();
/// handlers.register_internal("lights", handler_fn(|args, cx| async move { json!({"on": args["on"]}) }));
/// ```
pub fn handler_fn<F, Fut>(function: F) -> Handler
where
    F: Fn(Value, CallContext) -> Fut + Send + Sync + 'static,
    Fut: Future + Send + 'static,
    Fut::Output: IntoOutput,
{
    Arc::new(move |args, cx| {
        let answer = function(args, cx);
        Box::pin(async move { answer.await.into_output() })
    })
}

/// Who provides a handler; each kind has its own names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HandlerKind {
    /// Switchboard.
    Builtin,
    /// The host application.
    Internal,
}

impl HandlerKind {
    /// The error of a call whose handler does not exist (SPEC §12).
    pub fn not_found(self, name: &str) -> ToolError {
        let kind = match self {
            Self::Builtin => "Builtin",
            Self::Internal => "Internal",
        };
        let text = format!("{kind} handler '{name}' not found");
        ToolError::new(ErrorKind::Internal, text)
    }
}

impl fmt::Display for HandlerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Builtin => "builtin",
            Self::Internal => "internal",
        })
    }
}

/// The registered handlers. Cheap to clone; clones share all registrations.
#[derive(Clone, Default)]
pub struct Handlers(Arc<HandlersInner>);

#[derive(Default)]
struct HandlersInner {
    functions: RwLock<BTreeMap<HandlerKind, BTreeMap<String, Handler>>>,
    guard: OnceLock<ProcessGuard>,
    sandbox: OnceLock<SandboxDeps>,
}

impl Handlers {
    /// No handlers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers a function of Switchboard under `name`, in place of an earlier one.
    pub fn register_builtin(&self, name: impl Into<String>, handler: Handler) {
        self.register(HandlerKind::Builtin, name.into(), handler);
    }

    /// Registers a service of the host application under `name`, in place of an earlier one.
    pub fn register_internal(&self, name: impl Into<String>, handler: Handler) {
        self.register(HandlerKind::Internal, name.into(), handler);
    }

    /// Registers what `tool` does under its name.
    pub fn register_tool(&self, kind: HandlerKind, tool: Arc<dyn Tool>) {
        let name = tool.spec().name.clone();
        let call = move |args, cx: CallContext| {
            let tool = Arc::clone(&tool);
            async move { tool.call(args, &cx).await }
        };
        self.register(kind, name, handler_fn(call));
    }

    /// Starts the programs of `command` tools behind this guard, so that none of them outlives a host that is killed. The
    /// first guard stays.
    pub fn set_guard(&self, guard: ProcessGuard) {
        let _ = self.0.guard.set(guard);
    }

    /// Confines the programs of `command` tools that are to be confined in this way; without it they do not start. The first
    /// one stays.
    pub fn set_sandbox(&self, sandbox: SandboxDeps) {
        let _ = self.0.sandbox.set(sandbox);
    }

    /// How programs are confined, if they can be.
    pub(crate) fn sandbox(&self) -> Option<&SandboxDeps> {
        self.0.sandbox.get()
    }

    /// The guard of the programs that tools start, if there is one.
    pub(crate) fn guard(&self) -> Option<ProcessGuard> {
        self.0.guard.get().cloned()
    }

    /// Returns the handler registered under `name`.
    pub fn lookup(&self, kind: HandlerKind, name: &str) -> Option<Handler> {
        let spaces = self.0.functions.read().unwrap_or_else(PoisonError::into_inner);
        spaces.get(&kind)?.get(name).cloned()
    }

    /// The registered names of one kind, sorted.
    pub fn names(&self, kind: HandlerKind) -> Vec<String> {
        let spaces = self.0.functions.read().unwrap_or_else(PoisonError::into_inner);
        let names = spaces.get(&kind).into_iter().flat_map(BTreeMap::keys);
        names.cloned().collect()
    }

    fn register(&self, kind: HandlerKind, name: String, handler: Handler) {
        let mut spaces = self.0.functions.write().unwrap_or_else(PoisonError::into_inner);
        spaces.entry(kind).or_default().insert(name, handler);
    }
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handlers")
            .field("builtin", &self.names(HandlerKind::Builtin))
            .field("internal", &self.names(HandlerKind::Internal))
            .finish()
    }
}
