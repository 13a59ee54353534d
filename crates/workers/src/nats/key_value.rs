//! Buckets of NATS.

use std::time::{Duration, SystemTime};

use async_nats::jetstream::{
    self,
    kv::{self, CreateErrorKind, Operation, Store, UpdateErrorKind},
    stream::StorageType,
};
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt};

use crate::{
    Bucket, Error,
    transport::{Answer, Entry, KeyValue, Watch},
};

/// Opens a bucket, which is created if it does not exist.
pub(super) async fn open(
    jetstream: &jetstream::Context,
    name: String,
    bucket: Bucket,
    replicas: usize,
) -> Result<Store, Error> {
    let config = kv::Config {
        bucket: name.clone(),
        max_age: bucket.max_age().unwrap_or_default(),
        storage: if bucket.is_fleeting() { StorageType::Memory } else { StorageType::File },
        num_replicas: replicas,
        history: 1,
        ..kv::Config::default()
    };
    let refused = Error::refused(format!("open the bucket `{name}`"));
    match jetstream.create_key_value(config).await {
        Ok(store) => Ok(store),
        // It may be there with other settings, which somebody chose.
        Err(error) => match jetstream.get_key_value(name).await {
            Ok(store) => Ok(store),
            Err(_) => Err(refused(error.into())),
        },
    }
}

impl KeyValue for Store {
    fn get<'a>(&'a self, key: &'a str) -> Answer<'a, Option<Entry>> {
        Box::pin(async move { Ok(self.entry(key).await?.map(Entry::from)) })
    }

    fn put<'a>(&'a self, key: &'a str, value: Bytes) -> Answer<'a, u64> {
        Box::pin(async move { Ok(Store::put(self, key, value).await?) })
    }

    fn create<'a>(&'a self, key: &'a str, value: Bytes) -> Answer<'a, Option<u64>> {
        Box::pin(async move {
            match Store::create(self, key, value).await {
                Err(error) if error.kind() == CreateErrorKind::AlreadyExists => Ok(None),
                created => Ok(Some(created?)),
            }
        })
    }

    fn update<'a>(&'a self, key: &'a str, value: Bytes, revision: u64) -> Answer<'a, Option<u64>> {
        Box::pin(async move {
            match Store::update(self, key, value, revision).await {
                Err(error) if error.kind() == UpdateErrorKind::WrongLastRevision => Ok(None),
                updated => Ok(Some(updated?)),
            }
        })
    }

    fn remove<'a>(&'a self, key: &'a str) -> Answer<'a, ()> {
        // Not `delete`, which would leave earlier values in a bucket that keeps a history.
        Box::pin(async move { Ok(self.purge(key).await?) })
    }

    fn erase<'a>(&'a self, key: &'a str) -> Answer<'a, ()> {
        Box::pin(async move {
            let purged = self.stream.purge().filter(format!("{}{key}", self.prefix)).await;
            Ok(purged.map(drop)?)
        })
    }

    fn watch(&self) -> Answer<'_, Watch> {
        Box::pin(async { Ok(watched(self.watch_with_history(">").await?)) })
    }

    fn watch_new(&self) -> Answer<'_, Watch> {
        Box::pin(async { Ok(watched(self.watch_all().await?)) })
    }

    fn count(&self) -> Answer<'_, u64> {
        // `status` says how many there were when the bucket was opened.
        Box::pin(async { Ok(self.stream.get_info().await?.state.messages) })
    }

    fn keys(&self) -> Answer<'_, Vec<String>> {
        Box::pin(async { Ok(Store::keys(self).await?.try_collect().await?) })
    }
}

fn watched(entries: kv::Watch) -> Watch {
    entries.map(|entry| Ok(entry?.into())).boxed()
}

impl From<kv::Entry> for Entry {
    fn from(entry: kv::Entry) -> Self {
        let created = SystemTime::from(entry.created);
        Self {
            key: entry.key,
            value: (entry.operation == Operation::Put).then_some(entry.value),
            revision: entry.revision,
            // The servers' clock may be ahead.
            age: created.elapsed().unwrap_or(Duration::ZERO),
            is_current: entry.seen_current,
        }
    }
}
