//! Sends heartbeats: that the worker is there, and those of calls that take long. Each is a task of its own, so that a busy
//! call cannot delay them.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::time::sleep;

use super::WorkerInner;
use crate::{offer::BEAT, wire::WorkerReply};

/// The interval of the heartbeats of a call.
const ALIVE: Duration = Duration::from_secs(1);

/// Sends the heartbeats of calls until dropped.
pub(super) async fn of_calls(shared: Arc<WorkerInner>) {
    loop {
        sleep(ALIVE).await;
        for (call, reply) in shared.running.older_than(ALIVE) {
            shared.ask(&reply, call, &WorkerReply::Alive).await;
        }
    }
}

/// Sends the worker's heartbeats until it leaves. A heartbeat is the worker's id, unsigned: a gateway that does not know
/// the worker asks the worker itself.
pub(super) async fn of_worker(shared: Arc<WorkerInner>) {
    let subject = shared.cluster.names().beats(&shared.group);
    let id = Bytes::from(shared.id.clone());
    while !shared.is_leaving() {
        // Otherwise all that were not sent would arrive later.
        if shared.cluster.is_connected()
            && let Err(error) = shared.cluster.publish(subject.clone(), None, id.clone()).await
        {
            tracing::debug!("a heartbeat is not sent: {error}");
        }
        sleep(BEAT).await;
    }
}
