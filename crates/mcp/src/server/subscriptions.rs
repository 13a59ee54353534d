//! Resources that clients watch, each watched once at its server however many clients do.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::{Map, Value, json};
use tokio_util::task::AbortOnDropHandle;

use crate::{
    client::{Server, Session, State, session::Asking, transport::Failure},
    wire::Era,
};

/// The resources that are watched, by their URIs.
#[derive(Default)]
pub(crate) struct Subscriptions(Mutex<HashMap<String, Watched>>);

struct Watched {
    clients: usize,
    server: Arc<Server>,
    session: Arc<Session>,
    /// The request that stays open at a modern server.
    listening: Option<AbortOnDropHandle<()>>,
}

impl Subscriptions {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Watched>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more client watches the resource.
    ///
    /// # Errors
    /// The server does not let it be watched.
    pub(crate) async fn add(
        &self,
        uri: &str,
        server: &Arc<Server>,
        session: Arc<Session>,
    ) -> Result<(), Failure> {
        if let Some(watched) = self.lock().get_mut(uri)
            && Arc::ptr_eq(&watched.session, &session)
        {
            watched.clients += 1;
            return Ok(());
        }
        let listening = watch(uri, &session).await?;
        let mut watched = self.lock();
        let clients = watched.get(uri).map_or(0, |watched| watched.clients) + 1;
        let server = server.clone();
        watched.insert(uri.to_owned(), Watched { clients, server, session, listening });
        Ok(())
    }

    /// Watches again what was watched at a server that has been connected anew.
    pub(crate) async fn renew(&self, server: &Arc<Server>) {
        let State::Ready(session) = server.state() else { return };
        let lost = |watched: &Watched| {
            Arc::ptr_eq(&watched.server, server) && !Arc::ptr_eq(&watched.session, &session)
        };
        let uris: Vec<_> = {
            let all = self.lock();
            all.iter().filter(|(_, watched)| lost(watched)).map(|(uri, _)| uri.clone()).collect()
        };
        for uri in uris {
            match watch(&uri, &session).await {
                Ok(listening) => {
                    if let Some(watched) = self.lock().get_mut(&uri) {
                        watched.session = session.clone();
                        watched.listening = listening;
                    }
                }
                Err(failure) => tracing::debug!(uri, %failure, "not watched again"),
            }
        }
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
        let Some(Watched { session, listening, .. }) = all.remove(uri) else {
            return;
        };
        drop(all);
        drop(listening);
        if matches!(session.era(), Era::Legacy(_)) {
            let params = params(uri);
            // Nobody waits for that.
            tokio::spawn(
                async move { session.ask(Asking::new("resources/unsubscribe", params)).await },
            );
        }
    }
}

/// Tells the server that its resource is watched; a modern one is told by a request that stays open.
async fn watch(
    uri: &str,
    session: &Arc<Session>,
) -> Result<Option<AbortOnDropHandle<()>>, Failure> {
    match session.era() {
        Era::Legacy(_) => {
            session.ask(Asking::new("resources/subscribe", params(uri))).await?;
            Ok(None)
        }
        Era::Modern => {
            let wanted = json!({"resourceSubscriptions": [uri]});
            let params = Map::from_iter([("notifications".to_owned(), wanted)]);
            let session = session.clone();
            let listen = async move {
                let ended = session.ask(Asking::new("subscriptions/listen", params)).await;
                tracing::debug!(failed = ended.is_err(), "a watched resource is no longer");
            };
            Ok(Some(AbortOnDropHandle::new(tokio::spawn(listen))))
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
