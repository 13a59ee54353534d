//! Where whole results and binaries are kept, to be read by their ids.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use switchboard_toolcall::{BoxError, BoxFuture, CallId};

/// Keeps what a result does not show.
pub trait ArtifactStore: Send + Sync {
    /// Keeps the content and returns its id.
    fn put(&self, content: Stored) -> BoxFuture<'_, Result<String, BoxError>>;

    /// Returns what was kept under the id, if it still is.
    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Stored>, BoxError>>;
}

/// Content with its media type. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The media type.
    pub media_type: String,
    /// The content.
    pub bytes: Bytes,
}

/// Keeps artifacts in memory, the oldest giving way to the newest.
pub struct MemoryArtifacts {
    most_bytes: usize,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    bytes: usize,
    order: VecDeque<String>,
    by_id: HashMap<String, Stored>,
}

impl MemoryArtifacts {
    /// Keeps as many bytes as `most_bytes`.
    pub fn new(most_bytes: usize) -> Self {
        Self { most_bytes, kept: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, content: Stored) -> Result<String, BoxError> {
        let size = content.bytes.len();
        if size > self.most_bytes {
            let most = self.most_bytes;
            return Err(
                format!("{size} bytes are more than the {most} that memory is given").into()
            );
        }
        let id = CallId::generate().to_string();
        let mut kept = self.lock();
        while kept.bytes + size > self.most_bytes {
            let Some(oldest) = kept.order.pop_front() else {
                break;
            };
            let freed = kept.by_id.remove(&oldest).map_or(0, |gone| gone.bytes.len());
            kept.bytes -= freed;
        }
        kept.bytes += size;
        kept.order.push_back(id.clone());
        kept.by_id.insert(id.clone(), content);
        Ok(id)
    }
}

impl Default for MemoryArtifacts {
    fn default() -> Self {
        Self::new(256 << 20)
    }
}

impl ArtifactStore for MemoryArtifacts {
    fn put(&self, content: Stored) -> BoxFuture<'_, Result<String, BoxError>> {
        Box::pin(std::future::ready(self.keep(content)))
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Stored>, BoxError>> {
        let found = self.lock().by_id.get(id).cloned();
        Box::pin(std::future::ready(Ok(found)))
    }
}
