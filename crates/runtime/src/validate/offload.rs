//! Checks that may take long, beside the serving threads.

use std::{sync::Arc, thread};

use serde_json::Value;
use switchboard_toolcall::{ErrorKind, ToolError};
use tokio::{sync::Semaphore, task::spawn_blocking};

use super::{Effort, Invalid, judge};
use crate::{dispatch, tools::RegisteredTool};

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
    let name = tool.name().clone();
    let checked = spawn_blocking(move || {
        let _places = places;
        let invalid = judge(&tool, &args, Effort::Large);
        (args, invalid)
    });
    checked.await.map_err(|error| match error.try_into_panic() {
        Ok(panic) => dispatch::crashed(&name, panic),
        Err(_) => ToolError::new(ErrorKind::Cancelled, "the runtime ends"),
    })
}
