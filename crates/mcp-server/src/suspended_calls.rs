//! Calls that wait for their client's input: a modern client gets a handle and comes back with it.

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
    exchange::{Exchange, Outcome},
    token,
};

pub(crate) use remote::{Going, Return};

/// A call that can be set aside and taken up again.
pub(crate) struct Held {
    /// What was asked for; who comes back must ask for the same.
    pub(crate) asked: Asked,
    pub(crate) exchange: Arc<Exchange>,
    pub(crate) work: BoxFuture<'static, Outcome>,
}

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Asked {
    pub(crate) method: String,
    /// The tool, prompt or resource.
    pub(crate) name: Option<String>,
}

/// The calls that are set aside.
pub(crate) struct HeldCalls {
    /// What handles say of where their calls are; empty, where there is only one place.
    place: String,
    most: usize,
    held: Mutex<HashMap<String, (Instant, Held)>>,
}

impl HeldCalls {
    /// Room for so many.
    pub(crate) fn new(most: usize) -> Self {
        Self { place: String::new(), most, held: Mutex::default() }
    }

    /// The same, at the gateway of this name.
    pub(crate) fn at(mut self, gateway: &str) -> Self {
        self.place = format!("{gateway}.");
        self
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, (Instant, Held)>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets a call aside, and returns the handle that takes it up again.
    ///
    /// # Errors
    /// Too many are set aside already, of this caller or of all; the call is then dropped, which cancels it.
    pub(crate) fn keep(&self, call: Held) -> Result<String, RpcError> {
        let refused = |text: &str| RpcError::new(RpcError::INTERNAL, text);
        let handle = token::random().ok_or_else(|| refused("no randomness for a handle"))?;
        let mut held = self.lock();
        if held.len() >= self.most {
            return Err(refused("too many calls wait for input; try again later"));
        }
        let caller = call.exchange.caller.name.as_ref();
        let own = held.values().filter(|(_, held)| held.exchange.caller.name.as_ref() == caller);
        // One caller must not keep all others from asking.
        if own.count() >= self.most.div_ceil(2) {
            return Err(refused("too many of your calls wait for input; answer those first"));
        }
        let handle = format!("{}{handle}", self.place);
        held.insert(handle.clone(), (Instant::now(), call));
        Ok(handle)
    }

    /// Takes up the call of a handle.
    ///
    /// # Errors
    /// There is no such call, or none of this caller's that asks for the same.
    pub(crate) fn take(
        &self,
        handle: &str,
        asked: &Asked,
        caller: Option<&Arc<str>>,
    ) -> Result<Held, RpcError> {
        let mut held = self.lock();
        let theirs = held.get(handle).is_some_and(|(_, held)| {
            held.asked == *asked && held.exchange.caller.name.as_ref() == caller
        });
        match theirs.then(|| held.remove(handle)).flatten() {
            Some((_, held)) => Ok(held),
            None => Err(not_held()),
        }
    }

    /// Drops those whose clients did not come back, which cancels them.
    pub(crate) fn sweep(&self, limit: Duration) {
        let expired: Vec<_> = {
            let mut held = self.lock();
            held.extract_if(|_, (since, _)| since.elapsed() >= limit).collect()
        };
        // Dropping a call runs code of others; not under the lock.
        drop(expired);
    }
}

fn not_held() -> RpcError {
    let text = "`requestState` is not one of ours, was used already or has expired";
    RpcError::new(RpcError::INVALID_PARAMS, text)
}
