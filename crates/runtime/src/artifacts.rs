//! Stores whole results and binary content, to be read by id.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use switchboard_toolcall::{BoxError, BoxFuture, CallContext};

use crate::tools::ToolManager;

/// Stores what a result does not show.
pub trait ArtifactStore: Send + Sync {
    /// Stores content that a call returned. Returns its id.
    fn put(
        &self,
        content: ArtifactContent,
        source: ArtifactSource,
    ) -> BoxFuture<'_, Result<String, BoxError>>;

    /// Returns the content with this id, if it is still stored, for any caller; callers get what [`read_for`] returns.
    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<ArtifactContent>, BoxError>>;

    /// Returns the calls that returned this content: several, if they returned the same.
    fn sources<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Vec<ArtifactSource>, BoxError>>;
}

/// Content with its media type. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArtifactContent {
    /// The media type.
    pub media_type: String,
    /// The content.
    pub bytes: Bytes,
}

/// The call that returned an artifact, as far as it decides who may read it. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArtifactSource {
    /// The tool's name.
    pub tool: Arc<str>,
    /// Who made the call.
    pub caller: Option<Arc<str>>,
}

/// Returns the content with this id, if the caller may know of a call that returned it.
///
/// # Errors
/// The store cannot be read.
pub async fn read_for(
    store: &dyn ArtifactStore,
    id: &str,
    tools: &ToolManager,
    cx: &CallContext,
) -> Result<Option<ArtifactContent>, BoxError> {
    if !cx.visibility.watches() || cx.visibility.hides_tools() {
        let is_known = |source: &ArtifactSource| {
            let caller = source.caller.as_deref();
            tools.knows_call(cx.caller.as_deref(), &cx.visibility, &source.tool, caller)
        };
        if !store.sources(id).await?.iter().any(is_known) {
            return Ok(None);
        }
    }
    store.get(id).await
}

/// Stores artifacts in memory; the oldest are dropped to make room.
pub struct MemoryArtifacts {
    most_bytes: usize,
    kept: Mutex<MemoryArtifactsState>,
}

#[derive(Default)]
struct MemoryArtifactsState {
    bytes: usize,
    order: VecDeque<String>,
    by_id: HashMap<String, (ArtifactContent, ArtifactSource)>,
}

impl MemoryArtifacts {
    /// Stores at most `most_bytes` bytes.
    pub fn new(most_bytes: usize) -> Self {
        Self { most_bytes, kept: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, MemoryArtifactsState> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, content: ArtifactContent, source: ArtifactSource) -> Result<String, BoxError> {
        let size = content.bytes.len();
        if size > self.most_bytes {
            let most = self.most_bytes;
            return Err(
                format!("{size} bytes are more than the {most} that memory is given").into()
            );
        }
        let id = random_id()?;
        let mut kept = self.lock();
        while kept.bytes + size > self.most_bytes {
            let Some(oldest) = kept.order.pop_front() else {
                break;
            };
            let freed = kept.by_id.remove(&oldest).map_or(0, |(gone, _)| gone.bytes.len());
            kept.bytes -= freed;
        }
        kept.bytes += size;
        kept.order.push_back(id.clone());
        kept.by_id.insert(id.clone(), (content, source));
        Ok(id)
    }
}

/// Returns an id that nobody can guess from another one.
fn random_id() -> Result<String, BoxError> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| format!("no random numbers: {error}"))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

impl Default for MemoryArtifacts {
    fn default() -> Self {
        Self::new(256 << 20)
    }
}

impl ArtifactStore for MemoryArtifacts {
    fn put(
        &self,
        content: ArtifactContent,
        source: ArtifactSource,
    ) -> BoxFuture<'_, Result<String, BoxError>> {
        Box::pin(std::future::ready(self.keep(content, source)))
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<ArtifactContent>, BoxError>> {
        let found = self.lock().by_id.get(id).map(|(content, _)| content.clone());
        Box::pin(std::future::ready(Ok(found)))
    }

    fn sources<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Vec<ArtifactSource>, BoxError>> {
        let source = self.lock().by_id.get(id).map(|(_, source)| source.clone());
        Box::pin(std::future::ready(Ok(source.into_iter().collect())))
    }
}
