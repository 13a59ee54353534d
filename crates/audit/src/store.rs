//! The store as the executor uses it: records calls and stores artifacts.

mod claim;
mod run_files;
mod sources;
mod upkeep;

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use switchboard_runtime::{
    ArtifactSource, ArtifactStore, CallEnd, CallHistory, CallStart, IdempotencyStore, RecordClose,
    RecordOpen, RecordedCall, Recorder,
    artifacts::ArtifactContent,
    record::{Claim, ClaimOutcome},
};
use switchboard_toolcall::{Artifact, BoxError, BoxFuture};
use tokio::{runtime::Handle, task::spawn_blocking};
use tracing::warn;

use crate::{
    artifacts::ArtifactFolder,
    config::{Config, Durability, OnFailure},
    error::{Error, chain},
    filter::Filter,
    journal::{Journal, LineWrite},
    key::StoreFolder,
    layout::Layout,
    line::{self, microseconds},
    reader::Reader,
    record::{CallOutcome, Record},
    sync_thread::SyncThread,
};
use sources::ArtifactSources;
use upkeep::Upkeep;

/// Stores records of calls, and what their results do not show. Cheap to clone.
///
/// Opening it touches no file: the first call does. Dropping the last clone closes the journal.
#[derive(Clone)]
pub struct Store(Arc<StoreInner>);

struct StoreInner {
    layout: Layout,
    config: Config,
    journal: Arc<Journal>,
    disk: OnceLock<SyncThread>,
    artifacts: ArtifactFolder,
    sources: ArtifactSources,
    reader: Mutex<Option<Reader>>,
    upkeep: OnceLock<Upkeep>,
    /// When an unrecorded call was last logged as a warning, in microseconds.
    warned: AtomicU64,
    /// Idempotency keys to release.
    released: Mutex<Vec<Claim>>,
    /// Held while keys are released.
    releasing: Mutex<()>,
}

/// Artifacts up to this size are written at once; larger ones do not block the thread that runs calls.
const SMALL: usize = 64 << 10;

impl Store {
    /// Opens the store in `folder`, or where the settings say.
    pub fn open(config: Config, folder: impl Into<PathBuf>) -> Self {
        let mut layout = Layout::new(config.path.clone().unwrap_or_else(|| folder.into()));
        layout.sync = config.durability == Durability::Disk;
        layout.key = config.key.clone();
        Self(Arc::new(StoreInner {
            journal: Arc::new(Journal::new(layout.clone())),
            disk: OnceLock::new(),
            // One artifact must not displace everything else.
            artifacts: ArtifactFolder::new(layout.artifacts(), config.max_size.0 / 4),
            sources: ArtifactSources::default(),
            reader: Mutex::default(),
            upkeep: OnceLock::new(),
            warned: AtomicU64::new(0),
            released: Mutex::default(),
            releasing: Mutex::default(),
            config,
            layout,
        }))
    }

    /// Returns the store's folder.
    pub fn path(&self) -> &Path {
        &self.0.layout.root
    }

    /// Returns the store's folder and the key of its lines, for opening it again.
    pub fn folder(&self) -> StoreFolder {
        self.0.layout.folder()
    }

    /// Starts a thread that updates the index and enforces retention until the store is dropped. For long-running
    /// processes; after a single call the next reader does it.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start_upkeep(&self) -> Result<(), Error> {
        self.start_upkeep_with(|| ())
    }

    /// The same; `also` runs each time before retention is enforced, for what else is kept in the folder.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start_upkeep_with(&self, also: impl FnMut() + Send + 'static) -> Result<(), Error> {
        if self.0.upkeep.get().is_none() {
            let upkeep = Upkeep::start(&self.0, Box::new(also))?;
            _ = self.0.upkeep.set(upkeep);
        }
        Ok(())
    }

    /// Queries the store with a cached reader.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn ask<T>(
        &self,
        question: impl FnOnce(&mut Reader) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.0.ask(question)
    }
}

impl StoreInner {
    fn ask<T>(&self, question: impl FnOnce(&mut Reader) -> Result<T, Error>) -> Result<T, Error> {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let reader = match &mut *reader {
            Some(reader) => reader,
            none => none.insert(Reader::open(self.layout.folder())?),
        };
        question(reader)
    }

    /// Returns the thread that syncs records to the disk, if `durability` asks for it.
    fn disk(&self) -> Result<Option<&SyncThread>, Error> {
        if self.config.durability == Durability::Os {
            return Ok(None);
        }
        if self.disk.get().is_none() {
            // If two threads get here at once, the extra thread ends when it is dropped.
            _ = self.disk.set(SyncThread::start(self.journal.clone(), self.layout.root.clone())?);
        }
        Ok(self.disk.get())
    }

    fn open(&self, start: &CallStart) -> Result<LineWrite<'_>, Error> {
        let now = microseconds(start.started);
        self.journal.open(start.id, line::opened(start), now)
    }

    /// Records the end of a call if its start was recorded.
    fn close(&self, end: &CallEnd<'_>) -> Option<LineWrite<'_>> {
        let body = line::ended(end, self.config.results, |json| self.keep_whole(json));
        self.journal.close(end.start.id, body)
    }

    /// Applies `on_failure` to a call that could not be recorded.
    fn unwritten(&self, error: Error, now: u64) -> Result<(), BoxError> {
        const PAUSE: u64 = 10_000_000;
        match self.config.on_failure {
            OnFailure::Refuse => Err(error.into()),
            OnFailure::Warn => {
                let last = self.warned.swap(now, Ordering::Relaxed);
                if now.abs_diff(last) >= PAUSE {
                    let cause = chain(&error);
                    warn!(cause, "calls run unrecorded: the store takes none");
                } else {
                    self.warned.store(last, Ordering::Relaxed);
                }
                Ok(())
            }
        }
    }

    /// Returns the calls that returned an artifact: the latest, the recorded ones, and those whose results runs need.
    fn sources_of(&self, id: &str) -> Result<Vec<ArtifactSource>, Error> {
        let mut sources = self.sources.of(id);
        sources.extend(self.ask(|reader| reader.sources_of_artifact(id))?);
        let of_runs = self.layout.run_artifacts().sources(id);
        sources.extend(of_runs.map_err(Error::file("read the runs of", &self.layout.root))?);
        Ok(sources)
    }

    /// Stores a result that is too long for its record as an artifact.
    fn keep_whole(&self, json: String) -> Option<Artifact> {
        let media_type = "application/json".to_owned();
        let size = json.len() as u64;
        let content = ArtifactContent { media_type: media_type.clone(), bytes: Bytes::from(json) };
        match self.artifacts.keep(&content) {
            Ok(id) => Some(Artifact { id, kind: "text".to_owned(), media_type, size }),
            Err(cause) => {
                warn!(cause = chain(&cause), "a long result could not be kept whole");
                None
            }
        }
    }
}

impl Recorder for Store {
    fn open(&self, start: Arc<CallStart>) -> RecordOpen<'_> {
        let now = microseconds(start.started);
        let unwritten = move |error| self.0.unwritten(error, now);
        let written = self.0.open(&start).and_then(|written| Ok((written, self.0.disk()?)));
        let reached = async move |disk: Option<&SyncThread>, position| match disk {
            Some(disk) => disk.has(position).await,
            None => Ok(()),
        };
        let position = match written {
            Ok((LineWrite::Done(_), None)) => return RecordOpen::Done(Ok(())),
            Ok((LineWrite::Batched(line), None)) => {
                return RecordOpen::Batched(Box::pin(async move { line.await.or_else(unwritten) }));
            }
            Ok((LineWrite::Pending(opened), disk)) => {
                return RecordOpen::Pending(Box::pin(async move {
                    let ended =
                        |_| Error::Background("no segment of the journal was begun".to_owned());
                    let position = opened.await.map_err(ended).flatten();
                    match position {
                        Ok(position) => reached(disk, position).await.or_else(unwritten),
                        Err(error) => unwritten(error),
                    }
                }));
            }
            // Calls share the wait for the disk.
            Ok((LineWrite::Done(position), disk)) => Ok((position, disk)),
            Ok((LineWrite::Batched(line), disk)) => {
                line.write_now().map(|position| (position, disk))
            }
            Err(error) => Err(error),
        };
        match position {
            Ok((position, disk)) => RecordOpen::Pending(Box::pin(async move {
                reached(disk, position).await.or_else(unwritten)
            })),
            Err(error) => RecordOpen::Done(unwritten(error)),
        }
    }

    fn close(&self, end: CallEnd<'_>) -> RecordClose<'_> {
        match (self.0.close(&end), self.0.disk.get()) {
            (Some(LineWrite::Done(position)), Some(disk)) => {
                disk.want(position);
                RecordClose::Done
            }
            (Some(LineWrite::Batched(line)), Some(disk)) => {
                // On failure the journal has logged it, and tries again later.
                line.write_now().into_iter().for_each(|position| disk.want(position));
                RecordClose::Done
            }
            (Some(LineWrite::Batched(line)), None) => {
                RecordClose::Batched(Box::pin(async move { _ = line.await }))
            }
            (Some(LineWrite::Done(_) | LineWrite::Pending(_)) | None, _) => RecordClose::Done,
        }
    }
}

impl CallHistory for Store {
    fn recent(&self, most: usize) -> BoxFuture<'_, Result<Vec<RecordedCall>, BoxError>> {
        let shared = self.0.clone();
        Box::pin(async move {
            let filter = Filter { limit: Some(most), ..Filter::default() };
            let asked = spawn_blocking(move || shared.ask(|reader| reader.list(&filter)));
            Ok(asked.await??.into_iter().map(recorded).collect())
        })
    }

    fn called_by(
        &self,
        caller: Option<Arc<str>>,
    ) -> BoxFuture<'_, Result<Vec<Arc<str>>, BoxError>> {
        let shared = self.0.clone();
        Box::pin(async move {
            let asked = spawn_blocking(move || {
                shared.ask(|reader| reader.tools_called_by(caller.as_deref()))
            });
            Ok(asked.await??.into_iter().map(Arc::from).collect())
        })
    }
}

impl IdempotencyStore for Store {
    fn claim<'a>(&'a self, claim: &'a Claim) -> BoxFuture<'a, Result<ClaimOutcome, BoxError>> {
        let (shared, claim) = (self.0.clone(), claim.clone());
        Box::pin(async move { Ok(spawn_blocking(move || shared.claim(&claim)).await??) })
    }

    fn release(&self, claim: &Claim) {
        self.0.note_release(claim);
        let shared = self.0.clone();
        let work = move || shared.release_noted();
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(work)),
            Err(_) => work(),
        }
    }
}

impl ArtifactStore for Store {
    fn put(
        &self,
        content: ArtifactContent,
        source: ArtifactSource,
    ) -> BoxFuture<'_, Result<String, BoxError>> {
        if content.bytes.len() <= SMALL {
            let kept = self.0.artifacts.keep(&content);
            let kept = kept.inspect(|id| self.0.sources.note(id, source));
            return Box::pin(std::future::ready(kept.map_err(Into::into)));
        }
        let artifacts = self.0.artifacts.clone();
        Box::pin(async move {
            let id = spawn_blocking(move || artifacts.keep(&content)).await??;
            self.0.sources.note(&id, source);
            Ok(id)
        })
    }

    fn sources<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Vec<ArtifactSource>, BoxError>> {
        let (shared, id) = (self.0.clone(), id.to_ascii_lowercase());
        Box::pin(async move { Ok(spawn_blocking(move || shared.sources_of(&id)).await??) })
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<ArtifactContent>, BoxError>> {
        let (artifacts, id) = (self.0.artifacts.clone(), id.to_owned());
        Box::pin(async move { Ok(spawn_blocking(move || artifacts.read(&id)).await??) })
    }
}

impl Drop for StoreInner {
    fn drop(&mut self) {
        self.journal.shut_down();
    }
}

/// Converts a record for the runtime.
fn recorded(record: Record) -> RecordedCall {
    let end = match record.outcome {
        CallOutcome::Running => None,
        outcome => Some((outcome.error_kind(), record.duration.unwrap_or_default())),
    };
    RecordedCall {
        start: Arc::new(CallStart {
            id: record.id,
            tool: record.tool.into(),
            arguments: record.arguments,
            caller: record.caller.map(Into::into),
            client: record.client.map(Into::into),
            conversation: record.conversation.map(Into::into),
            run: record.run,
            turn_sha256: None,
            profile: record.profile.map(Into::into),
            shown_as: record.shown_as.map(Into::into),
            started: record.started,
        }),
        server: record.server.map(Into::into),
        end,
    }
}
