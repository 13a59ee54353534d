//! Checks that may take long, beside the serving threads.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread,
};

use serde_json::Value;
use switchboard_toolcall::{ErrorKind, ToolError};
use tokio::sync::{Semaphore, oneshot};

use super::{Effort, Invalid, invalid};
use crate::{dispatch, tools::RegisteredTool};

/// How nice such checks are to the threads that serve: with as much to do on a core as those, they get a tenth of it.
const PRIORITY: i32 = 10;

/// Bounds how many checks run beside the serving threads at once: of one server, and of all.
///
/// A check cannot be stopped, so one whose caller has gone keeps its place until it ends.
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
    /// The places that the tools of one server share: so many that one server cannot take those of others.
    pub(crate) fn of_server(&self) -> Self {
        let server = Semaphore::new((cores() / 2).max(1));
        Self { server: Some(Arc::new(server)), all: self.all.clone() }
    }
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Judges the arguments beside the serving threads, once there is a place.
///
/// # Cancel safety
/// A check that has begun goes on if the future is dropped, and keeps its place until it ends.
pub(super) async fn judge_beside(
    tool: Arc<RegisteredTool>,
    args: Value,
) -> Result<(Value, Option<Invalid>), ToolError> {
    let CheckSlots { server, all } = tool.check_slots.clone();
    let closed = |_| ToolError::new(ErrorKind::Internal, "arguments cannot be checked any more");
    let server = match server {
        Some(server) => Some(server.acquire_owned().await.map_err(closed)?),
        None => None,
    };
    let places = (server, all.acquire_owned().await.map_err(closed)?);
    let (name, (told, checked)) = (tool.name().clone(), oneshot::channel());
    // A thread of its own, as those of the runtime keep a priority that was lowered. It takes less time to start than what
    // runs on it.
    let started = thread::Builder::new().name("check".to_owned()).spawn(move || {
        let _places = places;
        give_way();
        let judged = AssertUnwindSafe(|| invalid(&tool, &args, Effort::Large));
        // Whose caller has gone need not know.
        _ = told.send(catch_unwind(judged).map(|invalid| (args, invalid)));
    });
    let failed = |cause| {
        ToolError::new(ErrorKind::Internal, "the arguments could not be checked").caused_by(cause)
    };
    started.map_err(|error| failed(error.to_string()))?;
    let checked = checked.await.map_err(|error| failed(error.to_string()))?;
    checked.map_err(|panic| dispatch::crashed(&name, panic))
}

/// Lets whatever serves go first.
fn give_way() {
    let thread = rustix::thread::gettid();
    if let Err(error) = rustix::process::setpriority_process(Some(thread), PRIORITY) {
        tracing::debug!(%error, "arguments are checked with the priority of calls");
    }
}
