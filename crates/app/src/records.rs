//! Where calls are recorded: the store of the settings, or of this user (SPEC RC-1).

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use switchboard_agent::{RunLimits, RunRecording, RunStore};
use switchboard_audit::{Durability, Store, StoreFolder};
use switchboard_runtime::{
    CallEnd, CallHistory, CallObserver, CallStart, ExecutorBuilder, RecordClose, RecordOpen,
    RecordedCall, Recorder,
};
use switchboard_toolcall::{BoxError, BoxFuture};

use crate::{environment, settings::LoadedConfig};

/// Stores records, and the parts of results that were cut.
pub(crate) struct RecordStores {
    /// The store on disk, if there is one.
    pub(crate) store: Option<Store>,
    /// Where results go that no longer fit a model, if the running gateway records the calls.
    artifacts: Option<Store>,
    /// Whether records are wanted on disk, but there is no folder for them.
    lacks_folder: bool,
    /// Observes calls, too.
    pub(crate) observer: Option<Arc<dyn CallObserver>>,
}

impl RecordStores {
    /// Creates the stores that `[audit]` asks for. Touches no file before the first call.
    pub(crate) fn of(loaded: &LoadedConfig) -> Self {
        let config = loaded.settings.audit.clone();
        // A replayed call did not really happen, so it is not recorded on disk.
        let is_on_disk = config.enabled && loaded.replay.is_none();
        let place = folder(loaded).filter(|_| is_on_disk);
        let lacks_folder = is_on_disk && place.is_none();
        let store = place.map(|folder| loaded.store.get_or_open(config, folder));
        let attached = loaded.attached_audit.clone().filter(|config| config.enabled);
        let artifacts = attached
            .zip(folder(loaded))
            .map(|(config, folder)| loaded.store.get_or_open(config, folder));
        Self { store, artifacts, lacks_folder, observer: None }
    }

    /// Lets an executor record its calls here.
    pub(crate) fn install(&self, mut executor: ExecutorBuilder) -> ExecutorBuilder {
        executor = match (&self.store, &self.artifacts) {
            (Some(store), _) => {
                executor.store(Arc::new(store.clone())).artifacts(Arc::new(store.clone()))
            }
            (None, Some(artifacts)) => executor.artifacts(Arc::new(artifacts.clone())),
            (None, None) if self.lacks_folder => {
                executor.recorder(Arc::new(NoRecordStore)).history(Arc::new(NoRecordStore))
            }
            (None, None) => executor,
        };
        match &self.observer {
            Some(observer) => executor.observer(observer.clone()),
            None => executor,
        }
    }
}

/// The store of this process, opened once: calls and runs share its journal. Touches no file before the first line.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProcessStore(Arc<OnceLock<Store>>);

impl ProcessStore {
    fn get_or_open(&self, config: switchboard_audit::Config, folder: PathBuf) -> Store {
        self.0.get_or_init(|| Store::open(config, folder)).clone()
    }
}

/// Returns the folder of the store; `None` if there is no place for it.
pub(crate) fn folder(loaded: &LoadedConfig) -> Option<PathBuf> {
    loaded.settings.audit.path.clone().or_else(environment::state_home)
}

/// Returns the runs of the store; `None` if there is no place for them.
pub(crate) fn runs(loaded: &LoadedConfig) -> Option<RunStore> {
    let folder = folder(loaded)?;
    let config = loaded.attached_audit.as_ref().unwrap_or(&loaded.settings.audit);
    let syncs = loaded.run_records().is_some_and(|config| config.durability == Durability::Disk);
    let runs = RunStore::within(&folder).syncing(syncs);
    Some(runs.with_journal(Arc::new(loaded.store.get_or_open(config.clone(), folder))))
}

/// Starts the upkeep of a store, for the runs beside it too.
pub(crate) fn start_upkeep(store: &Store, loaded: &LoadedConfig) -> anyhow::Result<()> {
    let (runs, limits) = (runs(loaded), run_limits(&loaded.settings.audit));
    store.start_upkeep_with(move || {
        if let Some(Err(cause)) = runs.as_ref().map(|runs| runs.forget(limits)) {
            tracing::warn!(%cause, "old runs could not be removed");
        }
    })?;
    Ok(())
}

/// Returns how long runs are kept: as long as calls, in a quarter of their space.
pub(crate) fn run_limits(config: &switchboard_audit::Config) -> RunLimits {
    RunLimits { age: config.max_age.0, bytes: config.max_size.0 / 4 }
}

/// Returns how the runs of a model are recorded; `None` if they are not.
pub(crate) fn run_recording(loaded: &LoadedConfig, model: &str) -> Option<RunRecording> {
    let config = loaded.run_records()?;
    Some(RunRecording {
        store: runs(loaded)?,
        model: model.to_owned(),
        tools: Vec::new(),
        profile: None,
        chat: None,
        id: None,
        request: None,
        limits: run_limits(config),
    })
}

/// Returns the folder of the store with its key; `None` if there is no place for it.
pub(crate) fn store_folder(loaded: &LoadedConfig) -> Option<StoreFolder> {
    let key = loaded.settings.audit.key.clone();
    folder(loaded).map(|folder| StoreFolder::with_key(&folder, key))
}

/// Why there is no folder for the store.
pub(crate) const NO_FOLDER: &str = "there is no folder for records: neither XDG_STATE_HOME nor HOME is set, and `[audit] path` names none";

/// Refuses to record: there is no folder for the store.
struct NoRecordStore;

impl NoRecordStore {
    fn error() -> BoxError {
        NO_FOLDER.into()
    }
}

impl Recorder for NoRecordStore {
    fn open(&self, _: Arc<CallStart>) -> RecordOpen<'_> {
        RecordOpen::Done(Err(Self::error()))
    }

    fn close(&self, _: CallEnd<'_>) -> RecordClose<'_> {
        RecordClose::Done
    }
}

impl CallHistory for NoRecordStore {
    fn recent(&self, _: usize) -> BoxFuture<'_, Result<Vec<RecordedCall>, BoxError>> {
        Box::pin(std::future::ready(Err(Self::error())))
    }

    fn called_by(&self, _: Option<Arc<str>>) -> BoxFuture<'_, Result<Vec<Arc<str>>, BoxError>> {
        Box::pin(std::future::ready(Err(Self::error())))
    }
}
