//! Who learns of calls as they happen.

use super::{CallEnd, CallStart};
use crate::approval::{Approval, CallHeld};

/// Learns of calls as they happen: metrics, live events, spans. No method may block.
pub trait CallObserver: Send + Sync {
    /// A call has come; its record is about to be opened.
    fn started(&self, _start: &CallStart) {}

    /// Its record could not be opened.
    fn unrecorded(&self, _start: &CallStart) {}

    /// It waits for a person.
    fn held(&self, _held: &CallHeld<'_>) {}

    /// A person, or the end of the wait, has decided about it.
    fn decided(&self, _held: &CallHeld<'_>, _approval: &Approval) {}

    /// It has ended.
    fn ended(&self, _end: &CallEnd<'_>) {}

    /// Whether somebody may read the record as soon as [`ended`](Self::ended) is told: it is then written before.
    fn reads_records(&self) -> bool {
        false
    }
}
