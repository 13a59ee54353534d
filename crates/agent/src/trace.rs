//! Spans of runs and turns, for an executor that has a tracer; turns also for those who watch its calls.

use std::{sync::Arc, time::SystemTime};

use switchboard_models::Usage;
use switchboard_runtime::{ModelTurn, Span, SpanOperation};
use switchboard_toolcall::{CallContext, CallId, TraceContext};
use tokio::time::Instant;

use crate::Agent;

/// A span in progress. If it is dropped before its end, nothing is exported.
pub(crate) struct ModelSpan<'a> {
    agent: &'a Agent,
    parent: Option<Arc<TraceContext>>,
    place: Option<Arc<TraceContext>>,
    started: SystemTime,
    began: Instant,
}

impl<'a> ModelSpan<'a> {
    /// Begins something that is part of `parent`.
    pub(crate) fn begin(agent: &'a Agent, parent: Option<&Arc<TraceContext>>) -> Self {
        let place = match agent.executor.tracer() {
            Some(tracer) => {
                Some(tracer.context(CallId::generate(), parent.map(|parent| &**parent)))
            }
            None => parent.cloned(),
        };
        let (started, began) = (SystemTime::now(), Instant::now());
        Self { agent, parent: parent.cloned(), place, started, began }
    }

    /// What its parts are part of.
    pub(crate) fn place(&self) -> Option<Arc<TraceContext>> {
        self.place.clone()
    }

    /// Ends it.
    pub(crate) fn end(
        self,
        work: SpanOperation,
        usage: Usage,
        error: Option<&str>,
        cx: &CallContext,
    ) {
        let Self { agent, parent, place, started, began } = self;
        let (model, provider) = (agent.model.name(), agent.model.provider().info().telemetry_name);
        let (duration, conversation) = (began.elapsed(), cx.conversation.as_deref());
        let Usage { input_tokens, output_tokens } = usage;
        if work == SpanOperation::Turn {
            agent.executor.turn_ended(&ModelTurn {
                started,
                duration,
                error,
                caller: cx.caller.as_ref(),
                conversation,
                model,
                provider,
                input_tokens,
                output_tokens,
            });
        }
        let (Some(tracer), Some(place)) = (agent.executor.tracer(), &place) else { return };
        tracer.span_ended(&Span {
            context: place,
            parent: parent.as_deref(),
            started,
            duration,
            error,
            conversation,
            work,
            model,
            provider,
            input_tokens,
            output_tokens,
        });
    }
}
