//! Sends heartbeats of calls that take long.

use std::{sync::Arc, time::Duration};

use tokio::time::sleep;

use super::WorkerInner;
use crate::wire::WorkerReply;

/// The interval of heartbeats.
const ALIVE: Duration = Duration::from_secs(1);

/// Sends heartbeats until dropped. Its own task, so that a busy call cannot delay it.
pub(super) async fn run(shared: Arc<WorkerInner>) {
    loop {
        sleep(ALIVE).await;
        for (call, reply) in shared.running.older_than(ALIVE) {
            shared.ask(&reply, call, &WorkerReply::Alive).await;
        }
    }
}
