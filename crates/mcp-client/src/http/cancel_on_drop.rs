//! Sends `notifications/cancelled` to a legacy server if a request is dropped.

use std::{sync::Arc, time::Duration};

use serde_json::value::RawValue;
use switchboard_mcp_wire::Outgoing;
use tokio::time::timeout;

use super::HttpShared;

/// How long sending it may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Cancels a request when dropped before it was answered.
pub(super) struct CancelOnDrop {
    shared: Option<Arc<HttpShared>>,
    id: u64,
}

impl CancelOnDrop {
    /// Cancels request `id` unless [`disarm`](Self::disarm)ed.
    pub(super) fn new(shared: Arc<HttpShared>, id: u64) -> Self {
        Self { shared: Some(shared), id }
    }

    /// Cancels nothing from now on: the request was answered.
    pub(super) fn disarm(&mut self) {
        self.shared = None;
    }
}

impl Drop for CancelOnDrop {
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
            let request_headers = shared.request_headers();
            let told = timeout(PATIENCE, shared.tell(&request_headers, body)).await;
            tracing::debug!(server = &*shared.name, ?told, "a request was cancelled");
        });
    }
}

/// The parameters of `notifications/cancelled`.
pub(crate) fn cancelled(id: u64) -> Option<Box<RawValue>> {
    let params = serde_json::json!({"requestId": id, "reason": "the caller no longer waits"});
    serde_json::value::to_raw_value(&params).ok()
}
