//! Calls that another gateway holds: a modern client may come back to any of them.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};

use super::{Asked, not_held};
use crate::{
    server::{
        Inner, Server,
        exchange::{Line, Outcome},
        outbox::Outbox,
    },
    wire::RpcError,
};

/// What a client comes back with.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Return {
    pub(crate) handle: String,
    pub(crate) asked: Asked,
    /// Who comes back.
    pub(crate) caller: Option<Arc<str>>,
    pub(crate) responses: Map<String, Value>,
}

/// What became of it.
#[derive(Debug, Serialize, Deserialize)]
struct Reply {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    result: Option<Box<RawValue>>,
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
    /// [`Siblings::ask`]: crate::server::Siblings::ask
    pub async fn go_on(&self, request: &[u8]) -> Bytes {
        let outcome = match serde_json::from_slice(request) {
            Ok(back) => self.inner.take_up(back).await,
            Err(error) => Err(RpcError::new(RpcError::INTERNAL, error.to_string())),
        };
        let (result, error) = match outcome {
            Ok(result) => (Some(result), None),
            Err(error) => (None, Some(error)),
        };
        // What was read as JSON, or made by us, can be written as such.
        serde_json::to_vec(&Reply { result, error }).unwrap_or_default().into()
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
        let request = serde_json::to_vec(&back).map_err(internal)?;
        let answer = siblings.ask(gateway, request.into()).await.map_err(|error| {
            tracing::debug!(gateway, error, "the gateway that holds a call does not answer");
            not_held()
        })?;
        let Reply { result, error } = serde_json::from_slice(&answer).map_err(internal)?;
        result.ok_or_else(|| error.unwrap_or_else(not_held))
    }

    async fn take_up(&self, back: Return) -> Outcome {
        let call = self.held.take(&back.handle, &back.asked, back.caller.as_ref())?;
        // There is no stream of ours to the client.
        *call.exchange.line() = Line { outbox: Outbox::keeping(0), progress_token: None };
        call.exchange.questions.answer(&back.responses);
        self.run(call).await
    }
}
