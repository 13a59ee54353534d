//! Adopts sessions that another gateway has opened, and ends sessions on all gateways.

use std::{
    collections::{HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use switchboard_toolcall::{BoxError, client_name};
use tokio::time::Instant;

use super::{
    McpCaller, ServerInner,
    outbox::Outbox,
    seal::SessionClaims,
    session::{Session, SessionInit, SessionScope},
    sessions::{NoSession, TooManySessions},
    token,
};

impl ServerInner {
    /// Adopts the caller's session of this id, if another gateway has opened it.
    pub(crate) async fn adopt(
        &self,
        id: &str,
        caller: &McpCaller,
    ) -> Result<Arc<Session>, NoSession> {
        let claims = self.seal.as_ref().and_then(|seal| seal.open(id)).ok_or(NoSession::Unknown)?;
        let session = self.rebuild(id, claims, caller).ok_or(NoSession::Unknown)?;
        if let Some(peers) = &self.peers {
            match peers.has_ended(&session.name).await {
                Ok(false) => {}
                Ok(true) => return Err(NoSession::Unknown),
                // The seal proves that the session is the caller's; only whether it has ended is unknown.
                Err(error) => tracing::warn!(error, "adopting a session that may have ended"),
            }
        }
        let (session, gone) =
            self.sessions.adopt(session).map_err(|TooManySessions| NoSession::Full)?;
        gone.iter().for_each(|gone| self.end(gone));
        // It may have ended meanwhile: that is recorded before the session is looked up here.
        if self.ended_sessions.knows(&session.name) {
            self.end(&session);
            return Err(NoSession::Unknown);
        }
        tracing::debug!(session = &*session.name, "adopted a session of another gateway");
        Ok(session)
    }

    /// Rebuilds the session of these claims; `None` if it is another caller's, too old or of an unknown revision.
    fn rebuild(&self, id: &str, claims: SessionClaims, caller: &McpCaller) -> Option<Arc<Session>> {
        let holds = claims.is_of(caller.name.as_deref(), caller.profile())
            && claims.age() < self.config.session_age.0;
        let version = claims.version().filter(|_| holds)?;
        let client = claims.client.as_deref().and_then(client_name);
        let init = SessionInit { version, capabilities: claims.capabilities, client };
        let outbox = Outbox::keeping(self.config.kept_events);
        let scope = SessionScope::Cluster { first: token::number()? };
        let patience = self.config.hold.0;
        let session = Session::new(id.to_owned(), caller.clone(), init, scope, patience, outbox);
        session.lists(self.catalog.digest(caller));
        Some(session)
    }

    /// Ends a session on all gateways.
    ///
    /// # Errors
    /// The other gateways cannot be reached; the session goes on.
    pub(crate) async fn end_everywhere(&self, session: &Session) -> Result<(), BoxError> {
        if session.is_portable() {
            if let Some(peers) = &self.peers {
                peers.end(&session.name, self.config.session_age.0).await?;
            }
            self.ended_sessions.note(session.name.clone());
        }
        self.end(session);
        Ok(())
    }
}

/// Sessions that have ended although their sealed ids are still valid.
#[derive(Default)]
pub(crate) struct EndedSessions(Mutex<EndedState>);

#[derive(Default)]
struct EndedState {
    names: HashSet<Arc<str>>,
    /// The same names, the one that ended first at the front.
    order: VecDeque<(Instant, Arc<str>)>,
}

impl EndedSessions {
    /// How many are remembered.
    const MOST: usize = 100_000;

    /// Remembers that the session of this name has ended.
    pub(crate) fn note(&self, name: Arc<str>) {
        let mut state = self.lock();
        if state.names.insert(name.clone()) {
            state.order.push_back((Instant::now(), name));
        }
        if state.order.len() > Self::MOST {
            state.forget_first();
        }
    }

    /// Returns whether the session of this name has ended.
    pub(crate) fn knows(&self, name: &str) -> bool {
        self.lock().names.contains(name)
    }

    /// Forgets sessions whose sealed ids have expired.
    pub(crate) fn sweep(&self, age: Duration) {
        let mut state = self.lock();
        while state.order.front().is_some_and(|(since, _)| since.elapsed() >= age) {
            state.forget_first();
        }
    }

    fn lock(&self) -> MutexGuard<'_, EndedState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EndedState {
    fn forget_first(&mut self) {
        if let Some((_, name)) = self.order.pop_front() {
            self.names.remove(&name);
        }
    }
}
