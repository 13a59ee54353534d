//! Says of each call that takes long that we are still at it.

use std::{sync::Arc, time::Duration};

use tokio::time::sleep;

use super::Shared;
use crate::wire::Reply;

/// How often that is said.
const ALIVE: Duration = Duration::from_secs(1);

/// Says it until dropped. A task of its own: what a call computes must not keep it.
pub(super) async fn run(shared: Arc<Shared>) {
    loop {
        sleep(ALIVE).await;
        for (call, reply) in shared.running.older_than(ALIVE) {
            shared.ask(&reply, call, &Reply::Alive).await;
        }
    }
}
