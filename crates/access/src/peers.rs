//! The trait for what gateways of a cluster share, so that a request may reach any of them.

use std::time::Duration;

use serde_json::Value;
use switchboard_toolcall::{BoxError, BoxFuture};

use crate::Rate;

/// The other gateways of the cluster.
pub trait Peers: Send + Sync {
    /// Returns the name of the cluster: letters, digits, `-` and `_`.
    fn name(&self) -> &str;

    /// Counts a request of the caller, together with those that reach other gateways.
    fn count<'a>(&'a self, caller: &'a str, rate: Rate) -> BoxFuture<'a, RateVerdict>;

    /// Stores a console session for all gateways, under a key that is not secret.
    ///
    /// # Errors
    /// The others cannot be reached.
    fn keep_session<'a>(
        &'a self,
        key: &'a str,
        session: Value,
        life: Duration,
    ) -> BoxFuture<'a, Result<(), BoxError>>;

    /// Returns a session that any gateway stored and that has not ended.
    fn find_session<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Option<Value>>;

    /// Ends a session for all.
    ///
    /// # Errors
    /// The others cannot be reached.
    fn end_session<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), BoxError>>;

    /// Returns why the others cannot be reached, as a JSON object with a `state`; `None` if they can.
    fn outage(&self) -> Option<Value>;
}

/// The outcome of counting a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateVerdict {
    /// It is within the rate.
    Within,
    /// It exceeds the rate; the time until one is allowed.
    Beyond(Duration),
    /// The others cannot be reached.
    Unknown,
}

/// A fake for tests.
#[cfg(test)]
pub(crate) mod fake {
    use std::{
        collections::HashMap,
        sync::{Mutex, MutexGuard},
    };

    use super::*;

    pub(crate) struct FakePeers {
        pub(crate) counted: Mutex<RateVerdict>,
        sessions: Mutex<HashMap<String, Value>>,
        is_away: bool,
    }

    impl FakePeers {
        pub(crate) fn new(is_away: bool) -> Self {
            let counted = if is_away { RateVerdict::Unknown } else { RateVerdict::Within };
            Self { counted: Mutex::new(counted), sessions: Mutex::default(), is_away }
        }

        fn sessions(&self) -> Result<MutexGuard<'_, HashMap<String, Value>>, BoxError> {
            match self.is_away {
                false => Ok(self.sessions.lock().unwrap()),
                true => Err("away".into()),
            }
        }
    }

    impl Peers for FakePeers {
        fn name(&self) -> &str {
            "fake"
        }

        fn count<'a>(&'a self, _: &'a str, _: Rate) -> BoxFuture<'a, RateVerdict> {
            Box::pin(async { *self.counted.lock().unwrap() })
        }

        fn keep_session<'a>(
            &'a self,
            key: &'a str,
            session: Value,
            _: Duration,
        ) -> BoxFuture<'a, Result<(), BoxError>> {
            let kept = self.sessions().map(|mut kept| _ = kept.insert(key.to_owned(), session));
            Box::pin(std::future::ready(kept))
        }

        fn find_session<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Option<Value>> {
            let found = self.sessions().ok().and_then(|kept| kept.get(key).cloned());
            Box::pin(std::future::ready(found))
        }

        fn end_session<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), BoxError>> {
            let ended = self.sessions().map(|mut kept| _ = kept.remove(key));
            Box::pin(std::future::ready(ended))
        }

        fn outage(&self) -> Option<Value> {
            self.is_away.then(|| serde_json::json!({"state": "away"}))
        }
    }
}
