//! Stateless requests of a pipe, so that they can be cancelled by their ids.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use crate::session::cancelled_id;

/// The requests in flight, and whether each is a `subscriptions/listen`.
#[derive(Default)]
pub(super) struct InFlightRequests(Mutex<HashMap<Box<str>, (CancellationToken, bool)>>);

impl InFlightRequests {
    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, (CancellationToken, bool)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin(self: &Arc<Self>, id: &RawValue, listens: bool) -> StdioRequestGuard {
        let (key, cancel): (Box<str>, _) = (id.get().into(), CancellationToken::new());
        self.lock().insert(key.clone(), (cancel.clone(), listens));
        StdioRequestGuard { in_flight: self.clone(), key, cancel }
    }

    pub(super) fn take(&self, method: &str, params: Option<&RawValue>) {
        if method == "notifications/cancelled"
            && let Some(id) = cancelled_id(params)
            && let Some((cancel, _)) = self.lock().get(id.get())
        {
            cancel.cancel();
        }
    }

    /// Cancels `subscriptions/listen` requests, which would never end by themselves.
    pub(super) fn stop_listening(&self) {
        for (cancel, listens) in self.lock().values() {
            if *listens {
                cancel.cancel();
            }
        }
    }
}

/// A request in flight; removed when dropped.
pub(super) struct StdioRequestGuard {
    in_flight: Arc<InFlightRequests>,
    key: Box<str>,
    pub(super) cancel: CancellationToken,
}

impl Drop for StdioRequestGuard {
    fn drop(&mut self) {
        self.in_flight.lock().remove(&self.key);
    }
}
