//! Durable calls, with a cluster in memory and executors in this process, under a paused clock.

mod endings;
mod keyed;
mod keys;
mod queue;
mod deaths;
mod faults;
mod property;

use std::time::Duration;

use switchboard_runtime::{DurableCalls, QueuedCall, RecordedCall, ToolExecutor};
use switchboard_testkit::Fake;
use switchboard_toolcall::{CallContext, CallId, ErrorKind};
use switchboard_workers::Cluster;

use crate::shared::jobs::*;

impl TestGateway {
    async fn look(&self, id: CallId) -> QueuedCall {
        self.queue.look(id).await.unwrap().expect("it was queued")
    }

    async fn records(&self) -> Vec<RecordedCall> {
        self.executor.history().recent(1000).await.unwrap()
    }
}
