//! Calls that wait for their client's input: a modern client gets a handle and resumes the call with it.

mod remote;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use switchboard_mcp_wire::RpcError;
use switchboard_toolcall::BoxFuture;
use tokio::time::Instant;

use super::{
    exchange::{Exchange, RpcResult},
    token,
};

pub(crate) use remote::{ResumeRequest, ResumedCalls};

/// A call that can be suspended and resumed.
pub(crate) struct SuspendedCall {
    /// The request that resumes the call must have the same target.
    pub(crate) target: RequestTarget,
    pub(crate) exchange: Arc<Exchange>,
    pub(crate) work: BoxFuture<'static, RpcResult>,
}

/// The method of a request and its target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RequestTarget {
    pub(crate) method: String,
    /// The tool, prompt or resource.
    pub(crate) name: Option<String>,
}

/// All suspended calls, by their handles.
pub(crate) struct SuspendedCalls {
    /// The first part of every handle: the gateway's name and a dot; empty if the gateway has no peers.
    gateway_prefix: String,
    most: usize,
    calls: Mutex<HashMap<String, (Instant, SuspendedCall)>>,
}

impl SuspendedCalls {
    /// Creates a table for at most `most` calls.
    pub(crate) fn new(most: usize) -> Self {
        Self { gateway_prefix: String::new(), most, calls: Mutex::default() }
    }

    /// Adds the name of this gateway to its handles.
    pub(crate) fn at(mut self, gateway: &str) -> Self {
        self.gateway_prefix = format!("{gateway}.");
        self
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, (Instant, SuspendedCall)>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Suspends a call and returns the handle that resumes it.
    ///
    /// # Errors
    /// Too many calls are suspended, of this caller or of all; the call is then dropped, which cancels it.
    pub(crate) fn keep(&self, call: SuspendedCall) -> Result<String, RpcError> {
        let refused = |text: &str| RpcError::new(RpcError::INTERNAL, text);
        let handle = token::random().ok_or_else(|| refused("no randomness for a handle"))?;
        let mut calls = self.lock();
        if calls.len() >= self.most {
            return Err(refused("too many calls wait for input; try again later"));
        }
        let caller = call.exchange.caller.name.as_ref();
        let own = calls.values().filter(|(_, held)| held.exchange.caller.name.as_ref() == caller);
        // One caller must not use up the room of all others.
        if own.count() >= self.most.div_ceil(2) {
            return Err(refused("too many of your calls wait for input; answer those first"));
        }
        let handle = format!("{}{handle}", self.gateway_prefix);
        calls.insert(handle.clone(), (Instant::now(), call));
        Ok(handle)
    }

    /// Removes and returns the call of a handle.
    ///
    /// # Errors
    /// Fails if there is no call with this handle, or it has another caller or target.
    pub(crate) fn take(
        &self,
        handle: &str,
        target: &RequestTarget,
        caller: Option<&Arc<str>>,
    ) -> Result<SuspendedCall, RpcError> {
        let mut calls = self.lock();
        let theirs = calls.get(handle).is_some_and(|(_, held)| {
            held.target == *target && held.exchange.caller.name.as_ref() == caller
        });
        match theirs.then(|| calls.remove(handle)).flatten() {
            Some((_, held)) => Ok(held),
            None => Err(unknown_handle()),
        }
    }

    /// Drops calls that were not resumed in time, which cancels them.
    pub(crate) fn sweep(&self, limit: Duration) {
        let expired: Vec<_> = {
            let mut calls = self.lock();
            calls.extract_if(|_, (since, _)| since.elapsed() >= limit).collect()
        };
        // Dropping a call runs foreign code, so this happens after the lock is released.
        drop(expired);
    }
}

fn unknown_handle() -> RpcError {
    let text = "`requestState` is not one of ours, was used already or has expired";
    RpcError::new(RpcError::INVALID_PARAMS, text)
}
