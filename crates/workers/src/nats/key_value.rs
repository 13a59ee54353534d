//! Buckets of NATS.

use std::{
    error::Error as _,
    time::{Duration, SystemTime},
};

use async_nats::jetstream::{
    self,
    context::{GetStreamError, GetStreamErrorKind, KeyValueError},
    kv::{self, CreateErrorKind, Operation, Store, UpdateErrorKind},
    stream::StorageType,
};
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt};
use serde::Deserialize;
use serde_json::json;
use switchboard_toolcall::BoxError;

use crate::{
    Bucket, Error,
    transport::{EntryStream, KeyValue, KeyValueEntry, TransportFuture},
};

/// More subjects than a stream has: a page that begins there has none.
const BEYOND: u64 = 1_000_000_000;

/// A bucket of NATS.
pub(super) struct NatsBucket {
    store: Store,
    jetstream: jetstream::Context,
}

/// What is needed of a stream's information with subjects.
#[derive(Deserialize)]
struct SubjectsPage {
    /// How many subjects match, on all pages.
    total: Option<u64>,
}

/// Opens a bucket; creates it if it does not exist.
pub(super) async fn open(
    jetstream: &jetstream::Context,
    name: String,
    bucket: Bucket,
    replicas: usize,
) -> Result<NatsBucket, Error> {
    let config = kv::Config {
        bucket: name.clone(),
        max_age: bucket.max_age().unwrap_or_default(),
        storage: if bucket.is_fleeting() { StorageType::Memory } else { StorageType::File },
        num_replicas: replicas,
        history: 1,
        ..kv::Config::default()
    };
    let refused = Error::refused(format!("open the bucket `{name}`"));
    // To ask for a bucket is one question to the leader of its stream. To create one that exists goes through the leader of all
    // streams as well, which thousands of workers that start at once kept busy for minutes.
    let opened = match jetstream.get_key_value(&name).await {
        Err(error) if is_missing(&error) => match jetstream.create_key_value(config).await {
            Ok(store) => Ok(store),
            // Somebody else may have created it meanwhile, with other settings.
            Err(error) => jetstream.get_key_value(&name).await.map_err(|_| error.into()),
        },
        found => found.map_err(BoxError::from),
    };
    let store = opened.map_err(refused)?;
    if bucket.is_fleeting() {
        set_max_age(jetstream, &store, bucket).await;
    }
    Ok(NatsBucket { store, jetstream: jetstream.clone() })
}

/// Returns whether the servers have no such bucket. One that they cannot say anything about may exist.
fn is_missing(error: &KeyValueError) -> bool {
    let reason = error.source().and_then(|source| source.downcast_ref::<GetStreamError>());
    reason.is_some_and(|reason| {
        matches!(reason.kind(), GetStreamErrorKind::JetStream(error) if error.code() == 404)
    })
}

/// Changes how long entries are kept without being renewed, if an earlier version has made the bucket.
async fn set_max_age(jetstream: &jetstream::Context, store: &Store, bucket: Bucket) {
    let mut config = store.stream.cached_info().config.clone();
    let Some(max_age) = bucket.max_age().filter(|max_age| config.max_age != *max_age) else {
        return;
    };
    config.max_age = max_age;
    config.duplicate_window = config.duplicate_window.min(max_age);
    if let Err(error) = jetstream.update_stream(config).await {
        // Entries may then expire before they are renewed: their workers are asked whether they are there.
        tracing::debug!("bucket `{}` keeps its max age: {error}", store.name);
    }
}

impl KeyValue for NatsBucket {
    fn get<'a>(&'a self, key: &'a str) -> TransportFuture<'a, Option<KeyValueEntry>> {
        Box::pin(async move { Ok(self.store.entry(key).await?.map(KeyValueEntry::from)) })
    }

    fn put<'a>(&'a self, key: &'a str, value: Bytes) -> TransportFuture<'a, u64> {
        Box::pin(async move { Ok(self.store.put(key, value).await?) })
    }

    fn create<'a>(&'a self, key: &'a str, value: Bytes) -> TransportFuture<'a, Option<u64>> {
        Box::pin(async move {
            match self.store.create(key, value).await {
                Err(error) if error.kind() == CreateErrorKind::AlreadyExists => Ok(None),
                created => Ok(Some(created?)),
            }
        })
    }

    fn update<'a>(
        &'a self,
        key: &'a str,
        value: Bytes,
        revision: u64,
    ) -> TransportFuture<'a, Option<u64>> {
        Box::pin(async move {
            match self.store.update(key, value, revision).await {
                Err(error) if error.kind() == UpdateErrorKind::WrongLastRevision => Ok(None),
                updated => Ok(Some(updated?)),
            }
        })
    }

    fn remove<'a>(&'a self, key: &'a str) -> TransportFuture<'a, ()> {
        // Not `delete`, which would keep earlier values in a bucket with history.
        Box::pin(async move { Ok(self.store.purge(key).await?) })
    }

    fn erase<'a>(&'a self, key: &'a str) -> TransportFuture<'a, ()> {
        Box::pin(async move {
            let purged =
                self.store.stream.purge().filter(format!("{}{key}", self.store.prefix)).await;
            Ok(purged.map(drop)?)
        })
    }

    fn watch_matching<'a>(&'a self, pattern: &'a str) -> TransportFuture<'a, EntryStream> {
        Box::pin(async move { Ok(watched(self.store.watch_with_history(pattern).await?)) })
    }

    fn watch_new(&self) -> TransportFuture<'_, EntryStream> {
        Box::pin(async { Ok(watched(self.store.watch_all().await?)) })
    }

    fn count(&self) -> TransportFuture<'_, u64> {
        // `status` has the count from when the bucket was opened.
        Box::pin(async { Ok(self.store.stream.get_info().await?.state.messages) })
    }

    fn count_matching<'a>(&'a self, pattern: &'a str) -> TransportFuture<'a, u64> {
        Box::pin(async move {
            let request = format!("STREAM.INFO.{}", self.store.stream_name);
            let subjects = format!("{}{pattern}", self.store.prefix);
            let page = json!({"subjects_filter": subjects, "offset": BEYOND});
            let page: SubjectsPage = self.jetstream.request(request, &page).await?;
            Ok(page.total.ok_or("the stream has no information on its subjects")?)
        })
    }

    fn watchers(&self) -> TransportFuture<'_, u64> {
        Box::pin(async { Ok(self.store.stream.get_info().await?.state.consumer_count as u64) })
    }

    fn live_keys<'a>(&'a self, pattern: &'a str) -> TransportFuture<'a, Vec<String>> {
        Box::pin(async move {
            let prefix = &self.store.prefix;
            let mut found =
                self.store.stream.info_with_subjects(format!("{prefix}{pattern}")).await?;
            let mut keys = Vec::new();
            while let Some((subject, _)) = found.try_next().await? {
                keys.extend(subject.strip_prefix(prefix).map(str::to_owned));
            }
            Ok(keys)
        })
    }

    fn keys(&self) -> TransportFuture<'_, Vec<String>> {
        Box::pin(async { Ok(self.store.keys().await?.try_collect().await?) })
    }
}

fn watched(entries: kv::Watch) -> EntryStream {
    entries.map(|entry| Ok(entry?.into())).boxed()
}

impl From<kv::Entry> for KeyValueEntry {
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
