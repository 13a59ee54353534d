//! Observes calls as they happen.

use super::{CallEnd, CallStart, ModelTurn};
use crate::approval::{Approval, CallHeld};

/// Observes calls: metrics, live events, spans. Methods must not block: they run on serving threads, within the call.
pub trait CallObserver: Send + Sync {
    /// A call was made; its record is about to be opened.
    fn started(&self, _start: &CallStart) {}

    /// The call's record could not be opened.
    fn unrecorded(&self, _start: &CallStart) {}

    /// The call is held for approval.
    fn held(&self, _held: &CallHeld<'_>) {}

    /// The held call was decided, or the wait ended.
    fn decided(&self, _held: &CallHeld<'_>, _approval: &Approval) {}

    /// The call has ended.
    fn ended(&self, _end: &CallEnd<'_>) {}

    /// A model that is offered tools has ended a turn.
    fn turn_ended(&self, _turn: &ModelTurn<'_>) {}

    /// Returns whether [`ended`](Self::ended) may read the record: it is then written first.
    fn reads_records(&self) -> bool {
        false
    }
}
