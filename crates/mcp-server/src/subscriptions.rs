//! Which resources clients subscribe to, and how many clients each.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use switchboard_mcp_wire::Upstream;

/// The resources that are watched, by their URIs.
#[derive(Default)]
pub(crate) struct Subscriptions(Mutex<HashMap<String, WatchedResource>>);

struct WatchedResource {
    clients: usize,
    server: Arc<dyn Upstream>,
}

impl Subscriptions {
    /// Counts one more client of a resource with a subscription at its server.
    pub(crate) fn add(&self, uri: &str, server: &Arc<dyn Upstream>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || WatchedResource { clients: 0, server: server.clone() };
        let watched = all.entry(uri.to_owned()).or_insert_with(new);
        watched.clients += 1;
        // After a changed config the resource may be another server's.
        if !Arc::ptr_eq(&watched.server, server) {
            std::mem::replace(&mut watched.server, server.clone()).unsubscribe(uri);
        }
    }

    /// Counts one client less; after the last one the server is unsubscribed.
    pub(crate) fn remove(&self, uri: &str) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(watched) = all.get_mut(uri) else { return };
        watched.clients -= 1;
        if watched.clients > 0 {
            return;
        }
        if let Some(WatchedResource { server, .. }) = all.remove(uri) {
            server.unsubscribe(uri);
        }
    }
}
