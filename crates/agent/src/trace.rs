//! Spans of runs and turns, for an executor that has a tracer.

use std::{sync::Arc, time::SystemTime};

use switchboard_models::{Model, Usage};
use switchboard_runtime::{Span, Tracer, Work};
use switchboard_toolcall::{CallId, TraceContext};
use tokio::time::Instant;

use crate::Agent;

/// Work under way. Dropped before its end it leaves no span: nobody waits for what came of it.
pub(crate) struct ModelSpan<'a> {
    tracer: Option<&'a Arc<dyn Tracer>>,
    model: &'a dyn Model,
    parent: Option<Arc<TraceContext>>,
    place: Option<Arc<TraceContext>>,
    started: SystemTime,
    began: Instant,
}

impl<'a> ModelSpan<'a> {
    /// Begins something that is part of `parent`.
    pub(crate) fn begin(agent: &'a Agent, parent: Option<&Arc<TraceContext>>) -> Self {
        let tracer = agent.executor.tracer();
        let place = match tracer {
            Some(tracer) => {
                Some(tracer.context(CallId::generate(), parent.map(|parent| &**parent)))
            }
            None => parent.cloned(),
        };
        let (parent, model) = (parent.cloned(), &*agent.model);
        let (started, began) = (SystemTime::now(), Instant::now());
        Self { tracer, model, parent, place, started, began }
    }

    /// What its parts are part of.
    pub(crate) fn place(&self) -> Option<Arc<TraceContext>> {
        self.place.clone()
    }

    /// Ends it.
    pub(crate) fn end(
        self,
        work: Work,
        usage: Usage,
        error: Option<&str>,
        conversation: Option<&str>,
    ) {
        let (Some(tracer), Some(place)) = (self.tracer, &self.place) else { return };
        tracer.span_ended(&Span {
            context: place,
            parent: self.parent.as_deref(),
            started: self.started,
            duration: self.began.elapsed(),
            error,
            conversation,
            work,
            model: self.model.name(),
            provider: self.model.provider().code(),
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
        });
    }
}
