//! Tells an old server that nobody waits for an answer any more.

use std::{sync::Arc, time::Duration};

use serde_json::value::RawValue;
use switchboard_mcp_wire::Outgoing;
use tokio::time::timeout;

use super::Shared;

/// How long telling may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Takes a request back when dropped before it was answered.
pub(super) struct TakeBack {
    shared: Option<Arc<Shared>>,
    id: u64,
}

impl TakeBack {
    /// Watches over request `id`.
    pub(super) fn unless_answered(shared: Arc<Shared>, id: u64) -> Self {
        Self { shared: Some(shared), id }
    }

    /// The request has ended by itself.
    pub(super) fn answered(&mut self) {
        self.shared = None;
    }
}

impl Drop for TakeBack {
    fn drop(&mut self) {
        // Without a runtime there is no connection left that could tell it.
        let Some((shared, runtime)) =
            self.shared.take().zip(tokio::runtime::Handle::try_current().ok())
        else {
            return;
        };
        let params = cancelled(self.id);
        runtime.spawn(async move {
            let body =
                Outgoing::notification("notifications/cancelled", params.as_deref()).to_bytes();
            let outset = shared.outset();
            let told = timeout(PATIENCE, shared.tell(&outset, body)).await;
            tracing::debug!(server = &*shared.name, ?told, "a request was taken back");
        });
    }
}

/// The parameters of `notifications/cancelled`.
pub(crate) fn cancelled(id: u64) -> Option<Box<RawValue>> {
    let params = serde_json::json!({"requestId": id, "reason": "the caller no longer waits"});
    serde_json::value::to_raw_value(&params).ok()
}
