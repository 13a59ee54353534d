//! The object store of NATS.

use std::time::Duration;

use async_nats::jetstream::{
    self,
    object_store::{self, ObjectStore},
};
use bytes::Bytes;
use switchboard_toolcall::BoxError;
use tokio::{io::AsyncReadExt, sync::OnceCell};

use crate::{
    Error,
    transport::{Objects, TransportFuture},
};

/// How long an object is kept: as long as the result of a call.
const MAX_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

pub(super) struct NatsObjects {
    jetstream: jetstream::Context,
    bucket: String,
    replicas: usize,
    store: OnceCell<ObjectStore>,
}

impl NatsObjects {
    pub(super) fn new(jetstream: jetstream::Context, bucket: String, replicas: usize) -> Self {
        Self { jetstream, bucket, replicas, store: OnceCell::new() }
    }

    /// Returns the store; creates it if it does not exist.
    async fn store(&self) -> Result<&ObjectStore, BoxError> {
        self.store.get_or_try_init(|| self.open()).await
    }

    async fn open(&self) -> Result<ObjectStore, BoxError> {
        let config = object_store::Config {
            bucket: self.bucket.clone(),
            max_age: MAX_AGE,
            num_replicas: self.replicas,
            ..object_store::Config::default()
        };
        match self.jetstream.create_object_store(config).await {
            Ok(store) => Ok(store),
            // It may exist with other settings, which somebody chose.
            Err(error) => match self.jetstream.get_object_store(&self.bucket).await {
                Ok(store) => Ok(store),
                Err(_) => {
                    let what = format!("open the object store `{}`", self.bucket);
                    Err(Error::refused(what)(error.into()).into())
                }
            },
        }
    }
}

impl Objects for NatsObjects {
    fn put<'a>(&'a self, name: &'a str, bytes: Bytes) -> TransportFuture<'a, ()> {
        Box::pin(async move {
            let mut reader = &bytes[..];
            Ok(self.store().await?.put(name, &mut reader).await.map(drop)?)
        })
    }

    fn get<'a>(&'a self, name: &'a str) -> TransportFuture<'a, Bytes> {
        Box::pin(async move {
            let mut object = self.store().await?.get(name).await?;
            let mut bytes = Vec::with_capacity(object.info().size);
            object.read_to_end(&mut bytes).await?;
            Ok(bytes.into())
        })
    }

    fn delete<'a>(&'a self, name: &'a str) -> TransportFuture<'a, ()> {
        Box::pin(async move { Ok(self.store().await?.delete(name).await?) })
    }
}
