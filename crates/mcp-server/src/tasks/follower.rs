//! Follows tasks for a client that listens.

use std::future::{pending, ready};

use futures_util::stream::{FuturesUnordered, StreamExt};
use switchboard_runtime::QueuedCall;
use switchboard_toolcall::BoxFuture;
use tokio::time::sleep;

use super::Tasks;

/// The tasks that one client follows.
pub(crate) struct TaskFollower {
    tasks: Tasks,
    /// For each task, its next change; `None` if the queue has forgotten it.
    updates: FuturesUnordered<BoxFuture<'static, Option<QueuedCall>>>,
}

impl TaskFollower {
    /// Makes a follower of no tasks.
    pub(crate) fn new(tasks: &Tasks) -> Self {
        Self { tasks: tasks.clone(), updates: FuturesUnordered::new() }
    }

    /// Follows this task too; its current state is reported first, so that no change is missed.
    pub(crate) fn add(&mut self, call: QueuedCall) {
        self.updates.push(Box::pin(ready(Some(call))));
    }

    /// Returns the next task that changed; waits forever if all have ended.
    ///
    /// # Cancel safety
    /// Nothing is lost when the future is dropped.
    pub(crate) async fn next(&mut self) -> QueuedCall {
        loop {
            let Some(update) = self.updates.next().await else { return pending().await };
            let Some(call) = update else { continue };
            if !call.state.is_over() {
                self.updates.push(Box::pin(change(self.tasks.clone(), &call)));
            }
            return call;
        }
    }
}

/// Returns the call once it has changed.
fn change(
    tasks: Tasks,
    call: &QueuedCall,
) -> impl Future<Output = Option<QueuedCall>> + Send + use<> {
    let (id, since) = (call.id, call.changed);
    async move {
        loop {
            match tasks.queue.changed(id, since).await {
                Ok(call) => return call,
                // The queue may be unreachable for a while.
                Err(error) => tracing::debug!(%id, error, "a task is not followed"),
            }
            sleep(tasks.poll).await;
        }
    }
}
