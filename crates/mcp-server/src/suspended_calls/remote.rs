//! Calls that another gateway holds: a modern client may come back to any of them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::{Asked, not_held};
use crate::{
    Inner, Server, Siblings,
    exchange::{Line, Outcome},
    outbox::Outbox,
};
use switchboard_mcp_wire::{JsonText, RpcError};

/// What a client comes back with.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Return {
    pub(crate) handle: String,
    pub(crate) asked: Asked,
    /// Who comes back.
    pub(crate) caller: Option<String>,
    pub(crate) responses: Map<String, Value>,
}

/// What one gateway asks of another.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Request {
    /// A client has come back.
    GoOn(Return),
    /// And has hung up since; the handle is the one that it came back with.
    Stop(String),
}

/// What became of it.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Reply {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    result: Option<JsonText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<RpcError>,
}

impl Server {
    /// What siblings know this gateway by: made anew with every start.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Goes on with a call that is held here, for a client that has come back to another gateway ([`Siblings::ask`]).
    /// Its progress is not told there.
    ///
    /// [`Siblings::ask`]: crate::Siblings::ask
    pub async fn go_on(&self, request: &[u8]) -> Bytes {
        let outcome = match serde_json::from_slice(request) {
            Ok(Request::GoOn(back)) => Some(self.inner.take_up(back).await),
            Ok(Request::Stop(handle)) => {
                self.inner.going.stop(&handle);
                None
            }
            Err(error) => Some(Err(RpcError::new(RpcError::INTERNAL, error.to_string()))),
        };
        let reply = match outcome {
            Some(Ok(result)) => Reply { result: Some(result), error: None },
            Some(Err(error)) => Reply { result: None, error: Some(error) },
            None => Reply::default(),
        };
        // What was read as JSON, or made by us, can be written as such.
        serde_json::to_vec(&reply).unwrap_or_default().into()
    }
}

impl Inner {
    /// Whether another gateway gave the handle.
    pub(crate) fn is_elsewhere(&self, handle: &str) -> bool {
        let place = handle.split_once('.').map(|(place, _)| place);
        // What is no name of a gateway's is not asked after anywhere.
        let is_name = |place: &str| {
            place.len() == self.name.len() && place.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        self.siblings.is_some() && place.is_some_and(|place| is_name(place) && *place != *self.name)
    }

    /// Has the gateway that holds the call go on with it.
    pub(crate) async fn go_on_elsewhere(&self, back: Return) -> Outcome {
        let internal =
            |error: serde_json::Error| RpcError::new(RpcError::INTERNAL, error.to_string());
        let (Some(siblings), Some((gateway, _))) = (&self.siblings, back.handle.split_once('.'))
        else {
            return Err(not_held());
        };
        let (gateway, handle) = (gateway.to_owned(), back.handle.clone());
        let request = serde_json::to_vec(&Request::GoOn(back)).map_err(internal)?;
        let hung_up = HungUp(Some((siblings.clone(), gateway.clone(), handle)));
        let answer = siblings.ask(&gateway, request.into()).await;
        hung_up.did_not();
        let answer = answer.map_err(|error| {
            tracing::debug!(gateway, error, "the gateway that holds a call does not answer");
            not_held()
        })?;
        let Reply { result, error } = serde_json::from_slice(&answer).map_err(internal)?;
        result.ok_or_else(|| error.unwrap_or_else(not_held))
    }

    async fn take_up(&self, back: Return) -> Outcome {
        let caller = back.caller.map(Arc::from);
        let call = self.held.take(&back.handle, &back.asked, caller.as_ref())?;
        // There is no stream of ours to the client.
        *call.exchange.line() = Line { outbox: Outbox::keeping(0), progress_token: None };
        call.exchange.questions.answer(&back.responses);
        let going = self.going.begin(back.handle);
        tokio::select! {
            outcome = self.run(call) => outcome,
            () = going.stop.cancelled() => Err(not_held()),
        }
    }
}

/// Calls that go on here for clients of other gateways, by the handles that these came back with.
#[derive(Default)]
pub(crate) struct Going(Mutex<HashMap<String, CancellationToken>>);

impl Going {
    fn begin(&self, handle: String) -> Begun<'_> {
        let stop = CancellationToken::new();
        self.lock().insert(handle.clone(), stop.clone());
        Begun { going: self, handle, stop }
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

/// A call that goes on here.
struct Begun<'a> {
    going: &'a Going,
    handle: String,
    stop: CancellationToken,
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        self.going.lock().remove(&self.handle);
    }
}

/// Tells the gateway that goes on with a call when the client hangs up before the answer.
struct HungUp(Option<(Arc<dyn Siblings>, String, String)>);

impl HungUp {
    fn did_not(mut self) {
        self.0 = None;
    }
}

impl Drop for HungUp {
    fn drop(&mut self) {
        let (Some((siblings, gateway, handle)), Ok(runtime)) =
            (self.0.take(), Handle::try_current())
        else {
            return;
        };
        runtime.spawn(async move {
            let request = serde_json::to_vec(&Request::Stop(handle)).unwrap_or_default();
            if let Err(error) = siblings.ask(&gateway, request.into()).await {
                tracing::debug!(gateway, error, "a call goes on elsewhere that nobody waits for");
            }
        });
    }
}
