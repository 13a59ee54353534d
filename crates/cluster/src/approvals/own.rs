//! The questions that wait in this process.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use switchboard_approvals::Pending;

#[derive(Default)]
pub(super) struct Own(Mutex<HashMap<String, Pending>>);

/// A question that waits until this is dropped.
pub(super) struct Waits {
    own: Arc<Own>,
    id: String,
}

impl Own {
    pub(super) fn hold(self: &Arc<Self>, question: Pending) -> Waits {
        let id = question.id.clone();
        self.lock().insert(id.clone(), question);
        Waits { own: self.clone(), id }
    }

    pub(super) fn get(&self, id: &str) -> Option<Pending> {
        self.lock().get(id).cloned()
    }

    pub(super) fn all(&self) -> Vec<Pending> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Pending>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.own.lock().remove(&self.id);
    }
}
