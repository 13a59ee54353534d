//! The trait for what gateways of a cluster share, so that a request may reach any of them.

use std::{fmt, time::Duration};

use serde_json::Value;
use switchboard_toolcall::{BoxError, BoxFuture};

use crate::{
    Rate,
    tokens::{TokenChange, TokenEntry},
};

/// The other gateways of the cluster.
pub trait Peers: Send + Sync {
    /// Returns the name of the cluster: letters, digits, `-` and `_`.
    fn name(&self) -> &str;

    /// Counts a request of the caller, together with those that reach other gateways.
    fn count<'a>(&'a self, caller: &'a str, rate: Rate) -> BoxFuture<'a, RateVerdict>;

    /// Takes one of the `most` requests that the caller may have at once, at all gateways together.
    fn take_slot<'a>(&'a self, caller: &'a str, most: usize) -> BoxFuture<'a, SlotVerdict>;

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

    /// Stores a token for all gateways. Returns false if its name is taken.
    ///
    /// # Errors
    /// The others cannot be reached.
    fn create_token(&self, entry: TokenEntry) -> BoxFuture<'_, Result<bool, BoxError>>;

    /// Returns the token with this name, even if it was stored a moment ago.
    fn find_token<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Option<TokenEntry>>;

    /// Changes the token with this name, if there is one. Of two changes at once, one sees what the other did.
    ///
    /// # Errors
    /// The others cannot be reached.
    fn change_token<'a>(
        &'a self,
        name: &'a str,
        change: TokenChange,
    ) -> BoxFuture<'a, Result<(), BoxError>>;

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

/// The outcome of taking a slot for a request.
#[derive(Debug)]
pub enum SlotVerdict {
    /// It was taken.
    Taken(PeerSlot),
    /// The caller has as many requests as it may have.
    Full,
    /// The others cannot be reached.
    Unknown,
}

/// A slot that was taken from those of all gateways; released when dropped.
pub struct PeerSlot(Option<Box<dyn FnOnce() + Send + Sync>>);

impl PeerSlot {
    /// Creates a slot that calls `release` when it is dropped.
    pub fn new(release: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self(Some(Box::new(release)))
    }
}

impl Drop for PeerSlot {
    fn drop(&mut self) {
        if let Some(release) = self.0.take() {
            release();
        }
    }
}

impl fmt::Debug for PeerSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PeerSlot")
    }
}

/// A fake for tests.
#[cfg(test)]
pub(crate) mod fake {
    use std::{
        collections::HashMap,
        sync::{
            Arc, Mutex, MutexGuard,
            atomic::{AtomicUsize, Ordering},
        },
    };

    use super::*;
    use crate::tokens::ChangedToken;

    pub(crate) struct FakePeers {
        pub(crate) counted: Mutex<RateVerdict>,
        /// How many slots are taken, here and elsewhere.
        pub(crate) taken: Arc<AtomicUsize>,
        sessions: Mutex<HashMap<String, Value>>,
        tokens: Mutex<HashMap<String, TokenEntry>>,
        is_away: bool,
    }

    impl FakePeers {
        pub(crate) fn new(is_away: bool) -> Self {
            let counted = if is_away { RateVerdict::Unknown } else { RateVerdict::Within };
            Self {
                counted: Mutex::new(counted),
                taken: Arc::default(),
                sessions: Mutex::default(),
                tokens: Mutex::default(),
                is_away,
            }
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

        fn take_slot<'a>(&'a self, _: &'a str, most: usize) -> BoxFuture<'a, SlotVerdict> {
            let taken = self.taken.clone();
            let verdict = if self.is_away {
                SlotVerdict::Unknown
            } else if taken.load(Ordering::Relaxed) >= most {
                SlotVerdict::Full
            } else {
                taken.fetch_add(1, Ordering::Relaxed);
                SlotVerdict::Taken(PeerSlot::new(move || _ = taken.fetch_sub(1, Ordering::Relaxed)))
            };
            Box::pin(std::future::ready(verdict))
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

        fn create_token(&self, entry: TokenEntry) -> BoxFuture<'_, Result<bool, BoxError>> {
            let mut kept = self.tokens.lock().unwrap();
            let is_new = !kept.contains_key(&entry.name);
            if is_new {
                kept.insert(entry.name.clone(), entry);
            }
            Box::pin(std::future::ready(Ok(is_new)))
        }

        fn find_token<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Option<TokenEntry>> {
            let found = self.tokens.lock().unwrap().get(name).cloned();
            Box::pin(std::future::ready(found))
        }

        fn change_token<'a>(
            &'a self,
            name: &'a str,
            change: TokenChange,
        ) -> BoxFuture<'a, Result<(), BoxError>> {
            let mut kept = self.tokens.lock().unwrap();
            match kept.get(name).map(|entry| change(entry)) {
                None | Some(ChangedToken::Same) => {}
                Some(ChangedToken::Gone) => drop(kept.remove(name)),
                Some(ChangedToken::Put(entry)) => drop(kept.insert(name.to_owned(), *entry)),
            }
            Box::pin(std::future::ready(Ok(())))
        }

        fn outage(&self) -> Option<Value> {
            self.is_away.then(|| serde_json::json!({"state": "away"}))
        }
    }
}
