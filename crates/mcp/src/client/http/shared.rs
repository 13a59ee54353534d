//! The server as requests and the tasks beside them see it.

use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use bytes::Bytes;
use http::{HeaderMap, Method, Response, StatusCode};
use serde_json::value::RawValue;

use super::{
    answer::{self, Kind},
    engine::Engine,
    pool::Answer,
    state::{Outset, State},
    stream,
};
use crate::client::transport::{Failure, SharedInbox};

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

    pub(super) async fn send(
        &self,
        method: Method,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<Response<Answer>, Failure> {
        self.engine.send(method, self.engine.uri(), headers, body).await
    }

    /// Sends what has no answer.
    pub(super) async fn tell(&self, outset: &Outset, body: Vec<u8>) -> Result<(), Failure> {
        let response = self.send(Method::POST, &outset.headers, body.into()).await?;
        if response.status().is_success() {
            answer::let_end(response.into_body());
            return Ok(());
        }
        Err(Box::pin(self.refused(response, None, outset)).await)
    }

    pub(super) async fn answer(
        &self,
        response: Response<Answer>,
        id: u64,
        outset: &Outset,
    ) -> Result<Box<RawValue>, Failure> {
        if !response.status().is_success() {
            return Err(Box::pin(self.refused(response, Some(id), outset)).await);
        }
        match answer::kind(response.headers()) {
            Kind::Json => {
                answer::json(response.into_body(), id, &*self.inbox, self.max_message).await
            }
            // Boxed, as is all that is rare: what every request carries along should be small.
            Kind::Events => Box::pin(stream::answer(self, response, id, outset.legacy)).await,
            Kind::Other => Err(Box::pin(answer::unreadable(response)).await),
        }
    }

    pub(super) async fn refused(
        &self,
        response: Response<Answer>,
        id: Option<u64>,
        outset: &Outset,
    ) -> Failure {
        let gone = response.status() == StatusCode::NOT_FOUND && outset.in_session;
        if gone { Failure::SessionExpired } else { answer::refused(response, id).await }
    }
}
