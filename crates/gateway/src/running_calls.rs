//! Calls whose caller reads their events while they run. The caller can cancel a call without closing the connection, and
//! then still receives its result.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use switchboard_access::Caller;
use tokio_util::sync::CancellationToken;

use crate::{
    error::ApiError,
    questions::{Questions, new_id},
};

/// The running calls, by ids that only their callers know. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct RunningCalls(Arc<Mutex<HashMap<String, RunningCall>>>);

/// Lets a caller answer the questions of its running calls, and cancel them.
#[derive(Clone)]
pub(crate) struct InteractiveCalls {
    pub(crate) questions: Questions,
    pub(crate) running: RunningCalls,
}

struct RunningCall {
    caller: Option<Arc<str>>,
    cancel: CancellationToken,
}

impl RunningCalls {
    /// Adds a call until the guard is dropped.
    ///
    /// # Errors
    /// Fails if the system has no randomness.
    pub(crate) fn add(
        &self,
        caller: &Caller,
        cancel: CancellationToken,
    ) -> Result<RunningCallGuard, ApiError> {
        let id = new_id()
            .map_err(|error| ApiError::Unavailable(format!("no random numbers: {error}")))?;
        let running = RunningCall { caller: caller.name.clone(), cancel };
        self.lock().insert(id.clone(), running);
        Ok(RunningCallGuard { calls: self.clone(), id })
    }

    /// Cancels one of the caller's own calls.
    ///
    /// # Errors
    /// Fails if no such call runs.
    pub(crate) fn cancel(&self, id: &str, caller: &Caller) -> Result<(), ApiError> {
        let calls = self.lock();
        match calls.get(id).filter(|running| running.caller == caller.name) {
            Some(running) => {
                running.cancel.cancel();
                Ok(())
            }
            None => Err(ApiError::NotFound(format!("no call '{id}' of yours runs"))),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, RunningCall>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running call; removed from the list when dropped.
pub(crate) struct RunningCallGuard {
    calls: RunningCalls,
    id: String,
}

impl RunningCallGuard {
    pub(crate) fn id(&self) -> &str {
        &self.id
    }
}

impl Drop for RunningCallGuard {
    fn drop(&mut self) {
        self.calls.lock().remove(&self.id);
    }
}
