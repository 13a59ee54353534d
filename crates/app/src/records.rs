//! Where calls are written down: the store of the settings, or of this user (SPEC RC-1).

use std::{path::PathBuf, sync::Arc};

use switchboard_audit::{Store, StoreFolder};
use switchboard_runtime::{
    ArtifactStore, CallEnd, CallStart, Closing, MemoryArtifacts, MemoryRecorder, Opening,
    RecordedCall, Recorder,
};
use switchboard_toolcall::{BoxError, BoxFuture};

use crate::{environment, settings::Loaded};

/// Keeps the records and what results do not show.
pub(crate) struct Records {
    pub(crate) recorder: Arc<dyn Recorder>,
    pub(crate) artifacts: Arc<dyn ArtifactStore>,
    /// The store on disk, where there is one.
    pub(crate) store: Option<Store>,
}

impl Records {
    /// As `[audit]` says. Touches no file before the first call.
    pub(crate) fn of(loaded: &Loaded) -> Self {
        let config = loaded.settings.audit.clone();
        // What is played again did not happen, and has no place among what did.
        if !config.enabled || loaded.replay.is_some() {
            return Self::in_memory(Arc::new(MemoryRecorder::default()));
        }
        let Some(folder) = folder(loaded) else { return Self::in_memory(Arc::new(Nowhere)) };
        let store = Store::open(config, folder);
        let (recorder, artifacts) = (Arc::new(store.clone()), Arc::new(store.clone()));
        Self { recorder, artifacts, store: Some(store) }
    }

    fn in_memory(recorder: Arc<dyn Recorder>) -> Self {
        Self { recorder, artifacts: Arc::new(MemoryArtifacts::default()), store: None }
    }
}

/// The folder of the store, where there is a place for it.
pub(crate) fn folder(loaded: &Loaded) -> Option<PathBuf> {
    loaded.settings.audit.path.clone().or_else(environment::state_home)
}

/// The folder of the store with the key of its lines, if there is a place for it.
pub(crate) fn store_folder(loaded: &Loaded) -> Option<StoreFolder> {
    let key = loaded.settings.audit.key.clone();
    folder(loaded).map(|folder| StoreFolder::with_key(&folder, key))
}

/// Why there is no folder for the store.
pub(crate) const NOWHERE: &str = "there is no place for records: neither XDG_STATE_HOME nor HOME is set, and `[audit] path` names none";

/// A store for which there is no place.
struct Nowhere;

impl Nowhere {
    fn error() -> BoxError {
        NOWHERE.into()
    }
}

impl Recorder for Nowhere {
    fn open(&self, _: Arc<CallStart>) -> Opening<'_> {
        Opening::Now(Err(Self::error()))
    }

    fn close(&self, _: CallEnd<'_>) -> Closing<'_> {
        Closing::Now
    }

    fn recent(&self, _: usize) -> BoxFuture<'_, Result<Vec<RecordedCall>, BoxError>> {
        Box::pin(std::future::ready(Err(Self::error())))
    }
}
