//! Runs checks that may take long on other threads.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread,
};

use serde_json::Value;
use switchboard_toolcall::{ErrorKind, ToolError};
use tokio::sync::{Semaphore, oneshot};

use super::{CheckEffort, InvalidArguments, invalid};
use crate::{dispatch, tools::RegisteredTool};

/// The niceness of such checks: beside an equally busy serving thread on the same core, they get a tenth of the time.
const PRIORITY: i32 = 10;

/// Limits how many checks run at once: of one server, and of all.
///
/// A check cannot be stopped, so one whose caller is gone keeps its slot until it ends.
#[derive(Clone)]
pub(crate) struct CheckSlots {
    server: Option<Arc<Semaphore>>,
    all: Arc<Semaphore>,
}

impl Default for CheckSlots {
    fn default() -> Self {
        Self { server: None, all: Arc::new(Semaphore::new(cores().max(2))) }
    }
}

impl CheckSlots {
    /// Returns the slots that the tools of one server share: so few that others always have some.
    pub(crate) fn of_server(&self) -> Self {
        let server = Semaphore::new((cores() / 2).max(1));
        Self { server: Some(Arc::new(server)), all: self.all.clone() }
    }
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Checks the arguments on another thread, once there is a slot.
///
/// # Cancel safety
/// A check that has started continues if the future is dropped, and keeps its slot until it ends.
pub(super) async fn judge_beside(
    tool: Arc<RegisteredTool>,
    args: Value,
) -> Result<(Value, Option<InvalidArguments>), ToolError> {
    let CheckSlots { server, all } = tool.check_slots.clone();
    let closed = |_| ToolError::new(ErrorKind::Internal, "arguments cannot be checked any more");
    let server = match server {
        Some(server) => Some(server.acquire_owned().await.map_err(closed)?),
        None => None,
    };
    let places = (server, all.acquire_owned().await.map_err(closed)?);
    let (name, (told, checked)) = (tool.name().clone(), oneshot::channel());
    // A new thread, because a pooled one would keep the lowered priority. Starting it takes less time than the check.
    let started = thread::Builder::new().name("check".to_owned()).spawn(move || {
        let _places = places;
        give_way();
        let judged = AssertUnwindSafe(|| invalid(&tool, &args, CheckEffort::Large));
        // The receiver may be gone.
        _ = told.send(catch_unwind(judged).map(|invalid| (args, invalid)));
    });
    let failed = |cause| {
        ToolError::new(ErrorKind::Internal, "the arguments could not be checked").caused_by(cause)
    };
    started.map_err(|error| failed(error.to_string()))?;
    let checked = checked.await.map_err(|error| failed(error.to_string()))?;
    checked.map_err(|panic| dispatch::crashed(&name, panic))
}

/// Lowers the thread's priority.
fn give_way() {
    let thread = rustix::thread::gettid();
    if let Err(error) = rustix::process::setpriority_process(Some(thread), PRIORITY) {
        tracing::debug!(%error, "arguments are checked with the priority of calls");
    }
}
