//! The held calls of this process.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use switchboard_approvals::PendingApproval;

#[derive(Default)]
pub(super) struct OwnApprovals(Mutex<HashMap<String, PendingApproval>>);

/// A held call; removed when this is dropped.
pub(super) struct OwnApprovalGuard {
    own: Arc<OwnApprovals>,
    id: String,
}

impl OwnApprovals {
    pub(super) fn hold(self: &Arc<Self>, question: PendingApproval) -> OwnApprovalGuard {
        let id = question.id.clone();
        self.lock().insert(id.clone(), question);
        OwnApprovalGuard { own: self.clone(), id }
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

impl Drop for OwnApprovalGuard {
    fn drop(&mut self) {
        self.own.lock().remove(&self.id);
    }
}
