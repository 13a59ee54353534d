//! Everything that an executor reports its calls to.

use std::sync::Arc;

use switchboard_toolcall::{CallId, TraceContext};

use super::{
    CallEnd, CallHistory, CallObserver, CallStart, IdempotencyStore, MemoryRecorder, NoHistory,
    RecordClose, Recorder, Tracer,
};

/// Where calls are recorded and observed.
pub(crate) struct CallSinks {
    pub(crate) recorder: Arc<dyn Recorder>,
    pub(crate) history: Arc<dyn CallHistory>,
    pub(crate) idempotency: Option<Arc<dyn IdempotencyStore>>,
    pub(crate) observers: Vec<Arc<dyn CallObserver>>,
    pub(crate) tracer: Option<Arc<dyn Tracer>>,
}

impl CallSinks {
    /// Records in memory if `recorder` is `None`.
    pub(crate) fn new(
        recorder: Option<Arc<dyn Recorder>>,
        history: Option<Arc<dyn CallHistory>>,
    ) -> Self {
        let memory = || Arc::new(MemoryRecorder::default());
        let (recorder, history): (Arc<dyn Recorder>, Arc<dyn CallHistory>) =
            match (recorder, history) {
                (Some(recorder), Some(history)) => (recorder, history),
                (Some(recorder), None) => (recorder, Arc::new(NoHistory)),
                (None, Some(history)) => (memory(), history),
                (None, None) => {
                    let memory = memory();
                    (memory.clone(), memory)
                }
            };
        Self { recorder, history, idempotency: None, observers: Vec::new(), tracer: None }
    }

    pub(crate) fn observe(&self, tell: impl Fn(&dyn CallObserver)) {
        self.observers.iter().for_each(|observer| tell(&**observer));
    }

    /// Records how a call ended, and notifies the observers.
    pub(super) fn close(&self, end: CallEnd<'_>) -> RecordClose<'_> {
        let mut closing = self.recorder.close(end);
        if self.observers.iter().any(|observer| observer.reads_records()) {
            closing = RecordClose::Done;
        }
        self.observe(|observer| observer.ended(&end));
        closing
    }

    /// Returns the parent of the call's spans: the call's own span, or else `parent`.
    pub(super) fn trace(
        &self,
        call: CallId,
        parent: Option<&Arc<TraceContext>>,
    ) -> Option<Arc<TraceContext>> {
        match &self.tracer {
            Some(tracer) => Some(tracer.context(call, parent.map(|parent| &**parent))),
            None => parent.cloned(),
        }
    }

    pub(super) fn started(&self, start: &CallStart) {
        self.observe(|observer| observer.started(start));
    }
}
