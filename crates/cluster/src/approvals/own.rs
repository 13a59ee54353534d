//! The questions that wait in this process.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use switchboard_approvals::PendingApproval;

#[derive(Default)]
pub(super) struct Own(Mutex<HashMap<String, PendingApproval>>);

/// A question that waits until this is dropped.
pub(super) struct Waits {
    own: Arc<Own>,
    id: String,
}

impl Own {
    pub(super) fn hold(self: &Arc<Self>, question: PendingApproval) -> Waits {
        let id = question.id.clone();
        self.lock().insert(id.clone(), question);
        Waits { own: self.clone(), id }
    }

    pub(super) fn get(&self, id: &str) -> Option<PendingApproval> {
        self.lock().get(id).cloned()
    }

    pub(super) fn all(&self) -> Vec<PendingApproval> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, PendingApproval>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.own.lock().remove(&self.id);
    }
}
