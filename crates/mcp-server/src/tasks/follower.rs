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
    /// For each of them, how it is once that is worth telling; none, where the queue has forgotten it.
    updates: FuturesUnordered<BoxFuture<'static, Option<QueuedCall>>>,
}

impl TaskFollower {
    /// Follows none yet.
    pub(crate) fn new(tasks: &Tasks) -> Self {
        Self { tasks: tasks.clone(), updates: FuturesUnordered::new() }
    }

    /// Follows this one too; how it is now is told first, so that nothing is missed.
    pub(crate) fn add(&mut self, call: QueuedCall) {
        self.updates.push(Box::pin(ready(Some(call))));
    }

    /// The next task of which there is something to tell; waits for ever where all are over.
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

/// The call as soon as it is another than it was.
fn change(
    tasks: Tasks,
    call: &QueuedCall,
) -> impl Future<Output = Option<QueuedCall>> + Send + use<> {
    let (id, since) = (call.id, call.changed);
    async move {
        loop {
            match tasks.queue.changed(id, since).await {
                Ok(call) => return call,
                // A queue that is away for a while comes back.
                Err(error) => tracing::debug!(%id, error, "a task is not followed"),
            }
            sleep(tasks.poll).await;
        }
    }
}
