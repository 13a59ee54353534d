//! Trace contexts and spans of calls, model turns and agent runs.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use switchboard_toolcall::{CallId, TraceContext};

/// Creates trace contexts. The spans of calls follow from what a [`CallObserver`](super::CallObserver) sees.
pub trait Tracer: Send + Sync {
    /// Returns the context of a new span under `parent`, or of a new trace. The same id gives the same context.
    fn context(&self, id: CallId, parent: Option<&TraceContext>) -> Arc<TraceContext>;

    /// Exports a span that is not a tool call. Must not block: runs on a serving thread.
    fn span_ended(&self, span: &Span<'_>);
}

/// A finished span that is not a tool call.
#[derive(Clone, Copy, Debug)]
pub struct Span<'a> {
    /// Its own context.
    pub context: &'a TraceContext,
    /// The parent's context.
    pub parent: Option<&'a TraceContext>,
    /// When it began.
    pub started: SystemTime,
    /// How long it took.
    pub duration: Duration,
    /// The stable code of the error, if it failed.
    pub error: Option<&'a str>,
    /// The conversation that it belongs to.
    pub conversation: Option<&'a str>,
    /// The kind of work.
    pub work: SpanOperation,
    /// The model's name at its provider.
    pub model: &'a str,
    /// The provider's name.
    pub provider: &'a str,
    /// How many tokens went in.
    pub input_tokens: u64,
    /// How many tokens came out.
    pub output_tokens: u64,
}

/// The kind of work that a span describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanOperation {
    /// A whole run of an agent.
    Run,
    /// One turn of a model.
    Turn,
}
