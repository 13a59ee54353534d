//! Subscriptions to resources: each is requested from the server once, however many clients want it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::{Map, Value, json};
use switchboard_mcp_wire::{Era, RpcError};
use switchboard_toolcall::{CallContext, ErrorKind, ToolError, ToolSpec};
use tokio_util::task::AbortOnDropHandle;

use super::{
    in_flight::CallOrigin,
    server::{Server, ServerState},
    session::{OutgoingRequest, Session},
    transport::Failure,
};

/// How many resources of one server are watched at most.
const MOST_WATCHED: usize = 10_000;

/// The watched resources of a server, by their URIs.
#[derive(Default)]
pub(super) struct Watches(Mutex<HashMap<String, Watch>>);

struct Watch {
    session: Arc<Session>,
    /// The request that stays open if the server is a modern one.
    _listening: Option<AbortOnDropHandle<()>>,
}

impl Watches {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Watch>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Server {
    /// Subscribes to a resource, unless that is done already. Its updates are among the server's changes.
    ///
    /// # Errors
    /// Returns the error for the caller of `spec`: the server has no subscriptions, refuses this one, or cannot be reached.
    pub(super) async fn watch(
        &self,
        spec: &ToolSpec,
        uri: &str,
        cx: &CallContext,
    ) -> Result<(), ToolError> {
        if self.is_per_user() {
            let text = format!(
                "MCP server '{}' is used with each caller's own sign-in, and changes of its resources are not told",
                self.name()
            );
            let error = RpcError::new(RpcError::INVALID_PARAMS, text.as_str());
            return Err(ToolError::new(ErrorKind::ToolError, text).caused_by(error));
        }
        let session = self.session().await?;
        if session.capabilities()["resources"]["subscribe"] != true {
            let text = format!("MCP server '{}' does not tell of changes", self.name());
            let error = RpcError::new(RpcError::INVALID_PARAMS, text.as_str());
            return Err(ToolError::new(ErrorKind::ToolError, text).caused_by(error));
        }
        {
            let watches = self.watches.lock();
            if watches.get(uri).is_some_and(|watch| Arc::ptr_eq(&watch.session, &session)) {
                return Ok(());
            }
            if watches.len() >= MOST_WATCHED {
                let text = format!("MCP server '{}' has {MOST_WATCHED} subscriptions", self.name());
                return Err(ToolError::new(ErrorKind::Overloaded, text));
            }
        }
        let _busy = session.usage().busy();
        let outgoing = OutgoingRequest {
            progress: cx.progress.clone(),
            call: Some(CallOrigin::new(spec, cx)),
            trace: cx.trace.clone(),
            ..OutgoingRequest::new("resources/subscribe", params(uri))
        };
        let watch = begin(uri, &session, outgoing).await;
        let watch = watch.map_err(|failure| self.call_error(spec, failure))?;
        self.watches.lock().insert(uri.to_owned(), watch);
        Ok(())
    }

    /// Subscribes again to everything that an earlier session was subscribed to. No caller asked for it, so it is not a call.
    pub(super) async fn watch_again(&self) {
        let ServerState::Ready(session) = self.state() else { return };
        let lost = |watch: &Watch| !Arc::ptr_eq(&watch.session, &session);
        let uris: Vec<_> = {
            let watches = self.watches.lock();
            watches.iter().filter(|(_, watch)| lost(watch)).map(|(uri, _)| uri.clone()).collect()
        };
        for uri in uris {
            let outgoing = OutgoingRequest::new("resources/subscribe", params(&uri));
            match begin(&uri, &session, outgoing).await {
                Ok(again) => {
                    // It may have been unsubscribed meanwhile.
                    if let Some(watch) = self.watches.lock().get_mut(&uri) {
                        *watch = again;
                    }
                }
                Err(failure) => tracing::debug!(uri, %failure, "not watched again"),
            }
        }
    }

    /// Unsubscribes from a resource that no client needs any more.
    pub(super) fn unwatch(&self, uri: &str) {
        let Some(Watch { session, .. }) = self.watches.lock().remove(uri) else { return };
        if matches!(session.era(), Era::Legacy(_)) {
            let params = params(uri);
            // Runs in the background.
            tokio::spawn(async move {
                session.ask(OutgoingRequest::new("resources/unsubscribe", params)).await
            });
        }
    }
}

/// Subscribes at the server; at a modern one with a request that stays open.
async fn begin(
    uri: &str,
    session: &Arc<Session>,
    outgoing: OutgoingRequest<'_>,
) -> Result<Watch, Failure> {
    let listening = match session.era() {
        Era::Legacy(_) => {
            session.ask(outgoing).await?;
            None
        }
        Era::Modern => {
            let wanted = json!({"resourceSubscriptions": [uri]});
            let params = Map::from_iter([("notifications".to_owned(), wanted)]);
            let session = session.clone();
            let listen = async move {
                let ended = session.ask(OutgoingRequest::new("subscriptions/listen", params)).await;
                tracing::debug!(failed = ended.is_err(), "a watched resource is no longer");
            };
            Some(AbortOnDropHandle::new(tokio::spawn(listen)))
        }
    };
    Ok(Watch { session: session.clone(), _listening: listening })
}

fn params(uri: &str) -> Map<String, Value> {
    Map::from_iter([("uri".to_owned(), Value::from(uri))])
}
