//! Resources that clients watch, each watched once at its server however many clients do.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::{Map, Value, json};
use tokio_util::task::AbortOnDropHandle;

use crate::{
    client::{Server, Session, session::Asking, transport::Failure},
    wire::Era,
};

/// The resources that are watched, by their URIs.
#[derive(Default)]
pub(crate) struct Subscriptions(Mutex<HashMap<String, Watched>>);

struct Watched {
    clients: usize,
    session: Arc<Session>,
    /// The request that stays open at a modern server.
    _listening: Option<AbortOnDropHandle<()>>,
}

impl Subscriptions {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Watched>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more client watches the resource.
    ///
    /// # Errors
    /// The server does not let it be watched.
    pub(crate) async fn add(&self, uri: &str, session: Arc<Session>) -> Result<(), Failure> {
        if let Some(watched) = self.lock().get_mut(uri)
            && Arc::ptr_eq(&watched.session, &session)
        {
            watched.clients += 1;
            return Ok(());
        }
        let listening = match session.era() {
            Era::Legacy(_) => {
                session.ask(Asking::new("resources/subscribe", params(uri))).await?;
                None
            }
            Era::Modern => {
                let wanted = json!({"resourceSubscriptions": [uri]});
                let params = Map::from_iter([("notifications".to_owned(), wanted)]);
                let session = session.clone();
                let listen = async move {
                    let ended = session.ask(Asking::new("subscriptions/listen", params)).await;
                    tracing::debug!(failed = ended.is_err(), "a watched resource is no longer");
                };
                Some(AbortOnDropHandle::new(tokio::spawn(listen)))
            }
        };
        let mut watched = self.lock();
        let clients = watched.get(uri).map_or(0, |watched| watched.clients) + 1;
        watched.insert(uri.to_owned(), Watched { clients, session, _listening: listening });
        Ok(())
    }

    /// One client less watches the resource; after the last one the server is told.
    pub(crate) fn remove(&self, uri: &str) {
        let mut all = self.lock();
        let Some(watched) = all.get_mut(uri) else {
            return;
        };
        watched.clients -= 1;
        if watched.clients > 0 {
            return;
        }
        let Some(Watched { session, .. }) = all.remove(uri) else {
            return;
        };
        drop(all);
        if matches!(session.era(), Era::Legacy(_)) {
            let params = params(uri);
            // Nobody waits for that.
            tokio::spawn(
                async move { session.ask(Asking::new("resources/unsubscribe", params)).await },
            );
        }
    }
}

fn params(uri: &str) -> Map<String, Value> {
    Map::from_iter([("uri".to_owned(), Value::from(uri))])
}

/// Whether the server tells of changes of its resources.
pub(crate) fn is_watchable(session: &Session) -> bool {
    session.capabilities()["resources"]["subscribe"] == true
}

/// A server's session, where it is there.
pub(crate) async fn session_of(server: &Server) -> Result<Arc<Session>, crate::wire::RpcError> {
    server.session().await.map_err(|error| {
        crate::wire::RpcError::new(crate::wire::RpcError::INTERNAL, error.for_model)
    })
}
