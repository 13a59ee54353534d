//! Spans of runs and turns, for an executor whose recorder traces.

use std::{sync::Arc, time::SystemTime};

use switchboard_models::{Model, Usage};
use switchboard_runtime::{Recorder, Span, Work};
use switchboard_toolcall::{CallId, TraceContext};
use tokio::time::Instant;

use crate::Agent;

/// Work under way. Dropped before its end it leaves no span: nobody waits for what came of it.
pub(crate) struct Traced<'a> {
    recorder: &'a dyn Recorder,
    model: &'a dyn Model,
    parent: Option<Arc<TraceContext>>,
    place: Option<Arc<TraceContext>>,
    started: SystemTime,
    began: Instant,
}

impl<'a> Traced<'a> {
    /// Begins something that is part of `parent`.
    pub(crate) fn begin(agent: &'a Agent, parent: Option<&Arc<TraceContext>>) -> Self {
        let recorder = &**agent.executor.recorder();
        let place = match recorder.tracer() {
            Some(tracer) => Some(tracer.place(CallId::generate(), parent.map(|parent| &**parent))),
            None => parent.cloned(),
        };
        let (parent, model) = (parent.cloned(), &*agent.model);
        let (started, began) = (SystemTime::now(), Instant::now());
        Self { recorder, model, parent, place, started, began }
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
        let (Some(tracer), Some(place)) = (self.recorder.tracer(), &self.place) else { return };
        tracer.ended(&Span {
            place,
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
