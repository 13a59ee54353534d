//! Spans: what those who trace learn of calls, of a model's turns and of an agent's runs.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use switchboard_toolcall::{CallId, TraceContext};

/// Gives work its context in a trace. The spans of calls follow from what a [`CallObserver`](super::CallObserver) learns.
pub trait Tracer: Send + Sync {
    /// The context of a new span under `parent`, or in a trace of its own. The same id gives the same context.
    fn context(&self, id: CallId, parent: Option<&TraceContext>) -> Arc<TraceContext>;

    /// Takes the span of something that is no call. Must not block.
    fn span_ended(&self, span: &Span<'_>);
}

/// Work that has ended and is no tool call.
#[derive(Clone, Copy, Debug)]
pub struct Span<'a> {
    /// Its own context.
    pub context: &'a TraceContext,
    /// What it is part of.
    pub parent: Option<&'a TraceContext>,
    /// When it began.
    pub started: SystemTime,
    /// How long it took.
    pub duration: Duration,
    /// The stable code of what went wrong, where something did.
    pub error: Option<&'a str>,
    /// The conversation it is part of.
    pub conversation: Option<&'a str>,
    /// What was done.
    pub work: Work,
    /// The model's name at its provider.
    pub model: &'a str,
    /// The provider's name.
    pub provider: &'a str,
    /// How many tokens went in.
    pub input_tokens: u64,
    /// How many tokens came out.
    pub output_tokens: u64,
}

/// What a span is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A whole run of an agent.
    Run,
    /// One turn of a model.
    Turn,
}
