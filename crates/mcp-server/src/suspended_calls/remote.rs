//! Calls that are suspended at another gateway: a modern client may resume them at any.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::{RequestTarget, unknown_handle};
use crate::{
    Server, ServerInner, SessionPeers,
    exchange::{ReplyChannel, RpcResult},
    outbox::Outbox,
};
use switchboard_mcp_wire::{JsonText, RpcError};

/// The request of a client that resumes a call.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ResumeRequest {
    pub(crate) handle: String,
    #[serde(rename = "asked")]
    pub(crate) target: RequestTarget,
    /// The name of the caller.
    pub(crate) caller: Option<String>,
    pub(crate) responses: Map<String, Value>,
}

/// A request of one gateway to another.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PeerRequest {
    /// A client resumes the call.
    GoOn(ResumeRequest),
    /// The client of a resumed call has hung up; identified by the handle that it resumed with.
    Stop(String),
}

/// The reply to a [`PeerRequest`].
#[derive(Debug, Default, Serialize, Deserialize)]
struct PeerReply {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    result: Option<JsonText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<RpcError>,
}

impl Server {
    /// The name of this gateway among its peers, new with every start.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Resumes a call that is suspended here, for a client of another gateway ([`SessionPeers::request`]).
    /// The client gets no progress.
    ///
    /// [`SessionPeers::request`]: crate::SessionPeers::request
    pub async fn resume(&self, request: &[u8]) -> Bytes {
        let outcome = match serde_json::from_slice(request) {
            Ok(PeerRequest::GoOn(resume)) => Some(self.inner.resume_local(resume).await),
            Ok(PeerRequest::Stop(handle)) => {
                self.inner.resumed.stop(&handle);
                None
            }
            Err(error) => Some(Err(RpcError::new(RpcError::INTERNAL, error.to_string()))),
        };
        let reply = match outcome {
            Some(Ok(result)) => PeerReply { result: Some(result), error: None },
            Some(Err(error)) => PeerReply { result: None, error: Some(error) },
            None => PeerReply::default(),
        };
        // Cannot fail: the reply was read as JSON or made here.
        serde_json::to_vec(&reply).unwrap_or_default().into()
    }
}

impl ServerInner {
    /// Returns whether the handle is of another gateway.
    pub(crate) fn is_remote(&self, handle: &str) -> bool {
        let place = handle.split_once('.').map(|(place, _)| place);
        // Only a well-formed name is looked up in the cluster.
        let is_name = |place: &str| {
            place.len() == self.name.len() && place.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        self.peers.is_some() && place.is_some_and(|place| is_name(place) && *place != *self.name)
    }

    /// Resumes the call at the gateway that has it.
    pub(crate) async fn resume_remote(&self, resume: ResumeRequest) -> RpcResult {
        let internal =
            |error: serde_json::Error| RpcError::new(RpcError::INTERNAL, error.to_string());
        let (Some(peers), Some((gateway, _))) = (&self.peers, resume.handle.split_once('.')) else {
            return Err(unknown_handle());
        };
        let (gateway, handle) = (gateway.to_owned(), resume.handle.clone());
        let request = serde_json::to_vec(&PeerRequest::GoOn(resume)).map_err(internal)?;
        let stop_on_drop = StopOnDrop(Some((peers.clone(), gateway.clone(), handle)));
        let answer = peers.request(&gateway, request.into()).await;
        stop_on_drop.disarm();
        let answer = answer.map_err(|error| {
            tracing::debug!(gateway, error, "the gateway of a suspended call does not answer");
            unknown_handle()
        })?;
        let PeerReply { result, error } = serde_json::from_slice(&answer).map_err(internal)?;
        result.ok_or_else(|| error.unwrap_or_else(unknown_handle))
    }

    async fn resume_local(&self, resume: ResumeRequest) -> RpcResult {
        let caller = resume.caller.map(Arc::from);
        let call = self.suspended.take(&resume.handle, &resume.target, caller.as_ref())?;
        // This gateway has no stream to the client.
        *call.exchange.channel() =
            ReplyChannel { outbox: Outbox::keeping(0), progress_token: None };
        call.exchange.questions.answer(&resume.responses);
        let resumed = self.resumed.begin(resume.handle);
        tokio::select! {
            outcome = self.run(call) => outcome,
            () = resumed.stop.cancelled() => Err(unknown_handle()),
        }
    }
}

/// Calls that run here for clients of other gateways, by the handles that resumed them.
#[derive(Default)]
pub(crate) struct ResumedCalls(Mutex<HashMap<String, CancellationToken>>);

impl ResumedCalls {
    fn begin(&self, handle: String) -> ResumedCall<'_> {
        let stop = CancellationToken::new();
        self.lock().insert(handle.clone(), stop.clone());
        ResumedCall { resumed: self, handle, stop }
    }

    fn stop(&self, handle: &str) {
        if let Some(stop) = self.lock().get(handle) {
            stop.cancel();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, CancellationToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes a resumed call from the table when dropped.
struct ResumedCall<'a> {
    resumed: &'a ResumedCalls,
    handle: String,
    stop: CancellationToken,
}

impl Drop for ResumedCall<'_> {
    fn drop(&mut self) {
        self.resumed.lock().remove(&self.handle);
    }
}

/// Stops the resumed call at the other gateway if the client hangs up before the answer.
struct StopOnDrop(Option<(Arc<dyn SessionPeers>, String, String)>);

impl StopOnDrop {
    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        let (Some((peers, gateway, handle)), Ok(runtime)) = (self.0.take(), Handle::try_current())
        else {
            return;
        };
        runtime.spawn(async move {
            let request = serde_json::to_vec(&PeerRequest::Stop(handle)).unwrap_or_default();
            if let Err(error) = peers.request(&gateway, request.into()).await {
                tracing::debug!(gateway, error, "a resumed call cannot be stopped at its gateway");
            }
        });
    }
}
