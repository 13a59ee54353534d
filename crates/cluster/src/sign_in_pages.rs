//! Pages on which callers sign in, as any gateway of the cluster serves them: encrypted, and for minutes only.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use switchboard_oauth::{Error as OauthError, Secret, SharedPages, StoreFuture};
use switchboard_workers::wire;
use tokio::sync::watch;

use crate::{
    Error,
    credentials::{SharedCredentials, hashed},
};

/// A stored page.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct PageEntry {
    /// Encrypted; `None` once it was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sealed: Option<String>,
    until: Timestamp,
}

impl std::fmt::Debug for SharedCredentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedCredentials").finish_non_exhaustive()
    }
}

impl SharedPages for SharedCredentials {
    fn put<'a>(&'a self, name: &'a str, value: Secret, life: Duration) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let place = place(name);
            let until = Timestamp::now().saturating_add(life).unwrap_or(Timestamp::MAX);
            let sealed = self.seal.seal(&place, &value).map_err(OauthError::store)?;
            let entry = PageEntry { sealed: Some(sealed), until };
            self.mirror.put(&place, &entry).await.map_err(OauthError::store)
        })
    }

    fn get<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Option<Secret>> {
        Box::pin(async move {
            let place = place(name);
            let found = self.mirror.fetch(&place).await.map_err(OauthError::store)?;
            let entry = found.as_ref().map(|found| wire::read::<PageEntry>("a page", found));
            let entry = entry.transpose().map_err(OauthError::store)?;
            Ok(entry.and_then(|entry| self.page(&place, &entry)))
        })
    }

    fn peek(&self, name: &str) -> Option<Secret> {
        let place = place(name);
        self.page(&place, &self.mirror.get(&place)?)
    }

    fn take<'a>(&'a self, name: &'a str) -> StoreFuture<'a, Option<Secret>> {
        Box::pin(async move {
            let place = place(name);
            let decide = |value: Option<&bytes::Bytes>| {
                let Some(value) = value else { return Ok((None, None)) };
                let entry: PageEntry = wire::read("a page", value)?;
                let found = self.page(&place, &entry);
                let taken = PageEntry { sealed: None, ..entry };
                Ok::<_, Error>((found.is_some().then_some(taken), found))
            };
            self.mirror.swap(&place, decide).await.map_err(OauthError::store)
        })
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.mirror.changes()
    }
}

impl SharedCredentials {
    fn page(&self, place: &str, entry: &PageEntry) -> Option<Secret> {
        if entry.until < Timestamp::now() {
            return None;
        }
        let opened = self.seal.open(place, entry.sealed.as_deref()?);
        opened.inspect_err(|error| tracing::debug!(%error, place, "a page is not used")).ok()
    }
}

/// Returns where the pages are that nobody can use any more.
pub(crate) fn expired(shared: &Arc<SharedCredentials>, now: Timestamp) -> Vec<String> {
    let all = shared.mirror.all::<PageEntry>("page.");
    all.into_iter().filter(|(_, entry)| entry.until < now).map(|(place, _)| place).collect()
}

fn place(name: &str) -> String {
    format!("page.{}", hashed(name))
}
