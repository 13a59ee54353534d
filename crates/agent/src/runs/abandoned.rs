//! Interrupted runs that nobody can go on with: those of clients that sent no key along, and reruns, whose tools may have been the
//! record. They end as soon as they are found, so that their secrets are redacted at once and not after `max_age` (SPEC RN-2).

use std::io;

use switchboard_toolcall::CallId;

use super::{
    RunDetail, RunStart, RunState, RunStore,
    live::{self, RecordedRun},
};

/// The client program of runs that `runs rerun` makes.
pub const RERUN: &str = "rerun";

/// Why such a run has no answer.
const WITHOUT_KEY: &str = "its gateway stopped before it ended, and without an Idempotency-Key nobody can ask for its answer again";
const OF_RERUN: &str = "its process stopped before it ended; `runs rerun` asks the question again";

impl RunStart {
    /// Whether somebody can go on with the run if its process ends: its owner, or the client that sent a key along.
    pub(super) fn can_be_resumed(&self) -> bool {
        !self.is_rerun() && (self.is_of_owner() || self.request.is_some())
    }

    fn is_rerun(&self) -> bool {
        self.client.as_deref() == Some(RERUN)
    }

    /// Returns why a run that cannot be resumed has no answer.
    fn abandoned(&self) -> &'static str {
        if self.is_rerun() { OF_RERUN } else { WITHOUT_KEY }
    }
}

impl RunStore {
    /// Ends a run that was interrupted, and returns what people are shown of it.
    pub(super) fn end_abandoned(&self, id: CallId, run: &RecordedRun) -> RunDetail {
        if let Err(cause) = self.end_unless_held(id) {
            tracing::warn!(run = %id, %cause, "an abandoned run keeps its file, with its secrets");
        }
        RunDetail::of(run, RunState::Failed, Some(run.start.abandoned()))
    }

    fn end_unless_held(&self, id: CallId) -> io::Result<()> {
        match live::take(self, id) {
            Ok(Some(unfinished)) => {
                let reason = unfinished.start().abandoned();
                unfinished.live.end(RunState::Failed, Some(reason))
            }
            Ok(None) => Ok(()),
            // Another process was first.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }
}
