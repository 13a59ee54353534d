//! The server as requests and the tasks beside them see it.

use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use serde_json::value::RawValue;

use super::{
    answer::{self, Kind},
    engine::Engine,
    pool::Answer,
    state::{Outset, State},
    stream,
};
use crate::transport::{Failure, SharedInbox};

/// What requests and the tasks beside them share.
pub(super) struct Shared {
    pub(super) name: Box<str>,
    pub(super) engine: Engine,
    pub(super) state: RwLock<State>,
    pub(super) inbox: SharedInbox,
    pub(super) max_message: usize,
}

impl Shared {
    pub(super) fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn with_state(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.write().unwrap_or_else(PoisonError::into_inner));
    }

    pub(super) fn outset(&self) -> Outset {
        self.state().outset()
    }

    /// Sends a message that begins with `outset`.
    pub(super) async fn post(&self, outset: &Outset, body: Bytes) -> Result<Answer, Failure> {
        let Outset { headers, own, .. } = outset;
        self.engine.send(Method::POST, self.engine.uri(), headers, own, body).await
    }

    /// Sends a request that is no message.
    pub(super) async fn send(
        &self,
        method: Method,
        headers: &HeaderMap,
    ) -> Result<Answer, Failure> {
        self.engine.send(method, self.engine.uri(), headers, &[], Bytes::new()).await
    }

    /// Sends what has no answer.
    pub(super) async fn tell(&self, outset: &Outset, body: Vec<u8>) -> Result<(), Failure> {
        let response = self.post(outset, body.into()).await?;
        if response.status().is_success() {
            answer::let_end(response);
            return Ok(());
        }
        Err(Box::pin(self.refused(response, None, outset)).await)
    }

    pub(super) async fn answer(
        &self,
        response: Answer,
        id: u64,
        outset: &Outset,
    ) -> Result<Box<RawValue>, Failure> {
        if !response.status().is_success() {
            return Err(Box::pin(self.refused(response, Some(id), outset)).await);
        }
        match answer::kind(&response) {
            Kind::Json => answer::json(response, id, &*self.inbox, self.max_message).await,
            // Boxed, as is all that is rare: what every request carries along should be small.
            Kind::Events => Box::pin(stream::answer(self, response, id, outset.legacy)).await,
            Kind::Other => Err(Box::pin(answer::unreadable(response)).await),
        }
    }

    pub(super) async fn refused(
        &self,
        response: Answer,
        id: Option<u64>,
        outset: &Outset,
    ) -> Failure {
        let gone = response.status() == StatusCode::NOT_FOUND && outset.in_session;
        if gone { Failure::SessionExpired } else { answer::refused(response, id).await }
    }
}
