//! The open sessions: bounded in number, and dropped when idle.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde_json::value::RawValue;
use switchboard_mcp_wire::{Outgoing, ServerChange};
use switchboard_toolcall::LogLevel;

use super::{
    McpCaller, ServerInner,
    session::{self, Session},
};

/// Why there is no session for a request.
#[derive(Debug)]
pub(crate) enum NoSession {
    /// There is no session of this id, or it belongs to another caller.
    Unknown,
    /// There is no room to adopt it.
    Full,
}

impl ServerInner {
    /// Returns the caller's session of this id; adopts one that another gateway has opened.
    ///
    /// # Errors
    /// The caller has no session with this id.
    pub(crate) async fn session(
        &self,
        id: &str,
        caller: &McpCaller,
    ) -> Result<Arc<Session>, NoSession> {
        match self.sessions.get(id, caller) {
            Some(session) => Ok(session),
            None => Box::pin(self.adopt(id, caller)).await,
        }
    }
}

/// All open sessions, by their names.
pub(crate) struct SessionTable {
    most: usize,
    open: Mutex<HashMap<Arc<str>, Arc<Session>>>,
}

impl SessionTable {
    /// Makes a table for at most `most` sessions.
    pub(crate) fn new(most: usize) -> Self {
        Self { most: most.max(1), open: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<Session>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a session. If there is no room, a session of the caller with the most sessions is removed and returned: no caller
    /// can push out the sessions of others who have fewer.
    ///
    /// # Errors
    /// Fails if the caller itself has the most, and all of those are in use.
    pub(crate) fn open(
        &self,
        session: Arc<Session>,
    ) -> Result<Option<Arc<Session>>, TooManySessions> {
        self.adopt(session).map(|(_, gone)| gone)
    }

    /// Like [`open`](Self::open), but if the session exists already, that one is kept and returned.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub(crate) fn adopt(&self, session: Arc<Session>) -> Result<AdoptedSession, TooManySessions> {
        let mut open = self.lock();
        if let Some(there) = open.get(&session.name) {
            return Ok((there.clone(), None));
        }
        let mut gone = None;
        if open.len() >= self.most {
            gone = Some(self.gives_way(&open, &session.caller).ok_or(TooManySessions)?);
        }
        if let Some(gone) = &gone {
            open.remove(&gone.name);
        }
        open.insert(session.name.clone(), session.clone());
        Ok((session, gone))
    }

    /// Returns the session that is removed for a new one of this caller.
    fn gives_way(
        &self,
        open: &HashMap<Arc<str>, Arc<Session>>,
        caller: &McpCaller,
    ) -> Option<Arc<Session>> {
        let mut counts: HashMap<Option<&Arc<str>>, usize> = HashMap::new();
        for session in open.values() {
            *counts.entry(session.caller.name.as_ref()).or_default() += 1;
        }
        let own = counts.get(&caller.name.as_ref()).copied().unwrap_or_default();
        let most = counts.into_iter().max_by_key(|(_, count)| *count)?;
        let (whose, count) = if own >= most.1 { (caller.name.as_ref(), own) } else { most };
        let theirs = || open.values().filter(|session| session.caller.name.as_ref() == whose);
        let idle = theirs().filter_map(|session| Some((session.idle_since()?, session)));
        let oldest = idle.min_by_key(|(since, _)| *since).map(|(_, session)| session);
        // A caller that uses more than half of the table must not keep others out.
        let takes_room = count > own && count > self.most / 2;
        let in_use = || theirs().min_by_key(|session| session.used()).filter(|_| takes_room);
        oldest.or_else(in_use).cloned()
    }

    /// Returns the session of this name, whichever caller it belongs to.
    pub(crate) fn named(&self, name: &str) -> Option<Arc<Session>> {
        self.lock().get(name).cloned()
    }

    /// Returns the session of this id if it is the caller's.
    pub(crate) fn get(&self, id: &str, caller: &McpCaller) -> Option<Arc<Session>> {
        let session = self.lock().get(session::name(id)).cloned()?;
        // Other callers must not learn that the session exists.
        (*session.id == *id && session.caller.is_same(caller)).then_some(session)
    }

    /// Forgets a session.
    pub(crate) fn remove(&self, session: &Session) {
        self.lock().remove(&session.name);
    }

    /// Forgets all sessions and returns them.
    pub(crate) fn take_all(&self) -> Vec<Arc<Session>> {
        std::mem::take(&mut *self.lock()).into_values().collect()
    }

    /// Ends the streams that sessions listen on; the sessions and their calls go on.
    pub(crate) fn interrupt(&self) {
        for session in self.lock().values() {
            session.outbox.interrupt();
        }
    }

    /// Removes the sessions that have been idle for `idle`, and returns them.
    pub(crate) fn take_idle(&self, idle: Duration) -> Vec<Arc<Session>> {
        let is_idle =
            |session: &Session| session.idle_since().is_some_and(|since| since.elapsed() >= idle);
        let mut open = self.lock();
        open.extract_if(|_, session| is_idle(session)).map(|(_, session)| session).collect()
    }

    /// Notifies every session of a change whose caller may know of it. If it is about a single resource, other gateways may not
    /// know that the client is subscribed to it: sessions whose clients may have their streams there are returned.
    pub(crate) fn tell(
        &self,
        changed: &ServerChange,
        method: &str,
        params: Option<&RawValue>,
        concerns: impl Fn(&Session) -> bool,
    ) -> Vec<Arc<Session>> {
        let mut elsewhere = Vec::new();
        let message = Outgoing::notification(method, params);
        let sessions: Vec<_> = self.lock().values().cloned().collect();
        for session in &sessions {
            let wanted = match changed {
                ServerChange::Resource(uri) => session.is_subscribed(uri) && concerns(session),
                _ => concerns(session),
            };
            if !wanted {
                continue;
            }
            session.outbox.send(&message);
            let single = matches!(changed, ServerChange::Resource(_));
            if single && session.is_portable() && !session.is_attached() {
                elsewhere.push(session.clone());
            }
        }
        elsewhere
    }

    /// Returns the lowest log level that any client wants.
    pub(crate) fn lowest_level(&self) -> Option<LogLevel> {
        self.lock().values().filter_map(|session| session.log_level()).min()
    }

    /// Returns how many there are.
    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }
}

/// A session, and the one that was removed for it.
pub(crate) type AdoptedSession = (Arc<Session>, Option<Arc<Session>>);

/// There is no room for another session.
pub(crate) struct TooManySessions;
