//! Runs as they are stored: one private file each, written while the run goes on (SPEC RN-1, RN-2).
//!
//! `ID.live` has everything that the run needs to go on, unredacted, and is locked by the process that runs it. When the run
//! ends, `ID.json` takes its place: what people are shown, with secrets redacted.

mod live;
mod hash;
mod writer;
mod saved;
mod images;
mod keys;
mod offered;
mod page;
mod abandoned;
mod spent;
mod retention;

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde_json::Value;
use switchboard_runtime::{RunArtifacts, RunJournal};
use switchboard_toolcall::CallId;

pub use abandoned::RERUN;
pub use images::ImageCounts;
pub use keys::{RequestClaim, RequestKey};
pub(crate) use live::{BegunCall, LiveRun, RecordedRun, RecordedTurn, RunLine};
pub use live::{RunStart, UnfinishedRun};
pub use offered::OfferedTools;
pub use retention::RunLimits;
pub use saved::{RunDetail, RunSettings, RunState, RunSummary};
pub use spent::RunCosts;

/// The runs of one folder. Cheap to clone; touches no file before the first run.
#[derive(Clone, Debug)]
pub struct RunStore {
    folder: PathBuf,
    /// The artifacts that they need.
    artifacts: RunArtifacts,
    /// Whether what is written must reach the disk before a run goes on.
    syncs: bool,
    /// Where it is written what their files hold, for everybody to check.
    journal: Option<Arc<dyn RunJournal>>,
}

/// Why a run cannot be read or resumed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// No run has this id.
    #[error("there is no run `{0}`; `switchboard runs` lists them")]
    NotFound(String),
    /// Several ids begin like this.
    #[error("`{0}` may be {1}")]
    Ambiguous(String, String),
    /// Another process has it.
    #[error("run {0} is under way in another process; only one process can go on with it")]
    Running(CallId),
    /// The file cannot be used.
    #[error("failed to {action} `{}`", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// What `runs resume` finds.
#[derive(Debug)]
pub enum Resumable {
    /// The run has ended: here is what is recorded.
    Ended(Box<RunDetail>),
    /// It can go on; it is locked for this process.
    Unfinished(Box<UnfinishedRun>),
}

impl RunStore {
    /// The runs of a store's folder.
    pub fn within(store: &Path) -> Self {
        let (folder, artifacts) = (store.join("runs"), RunArtifacts::within(store));
        Self { folder, artifacts, syncs: false, journal: None }
    }

    /// The same runs; with `syncs`, what is written of them reaches the disk before a call runs, and so survives a power loss.
    #[must_use]
    pub fn syncing(mut self, syncs: bool) -> Self {
        self.syncs = syncs;
        self
    }

    /// The same runs; what the files hold of those that have ended is written into the journal.
    #[must_use]
    pub fn with_journal(mut self, journal: Arc<dyn RunJournal>) -> Self {
        self.journal = Some(journal);
        self
    }

    /// Whether the end of a run waits for the disk or for other processes.
    pub(crate) fn end_waits(&self) -> bool {
        self.syncs || self.journal.as_ref().is_some_and(|journal| !journal.is_ready())
    }

    /// Whether what is written must reach the disk before a run goes on.
    pub(crate) fn syncs(&self) -> bool {
        self.syncs
    }

    /// Waits until the names of the files have reached the disk, if they must.
    fn sync_folder(&self) -> io::Result<()> {
        match self.syncs {
            true => fs::File::open(&self.folder)?.sync_all(),
            false => Ok(()),
        }
    }

    pub(crate) fn live(&self, id: CallId) -> PathBuf {
        self.folder.join(format!("{id}.live"))
    }

    pub(crate) fn saved(&self, id: CallId) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }

    /// Returns the newest runs first, at most `limit`.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn list(&self, limit: usize) -> Result<Vec<RunSummary>, RunError> {
        let mut ids = self.ids()?;
        ids.reverse();
        // A run whose file was removed meanwhile is left out.
        Ok(ids.into_iter().filter_map(|id| self.summary(id).ok()).take(limit).collect())
    }

    /// Returns the newest runs first that began at `since` or later.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn list_since(&self, since: SystemTime) -> Result<Vec<RunSummary>, RunError> {
        let oldest = since.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        // The first 48 bits of an id are the time in milliseconds.
        let recent = self.ids()?.into_iter().rev().take_while(|id| id.number() >> 80 >= oldest);
        Ok(recent.filter_map(|id| self.summary(id).ok()).collect())
    }

    /// Returns the interrupted run of a chat, if there is one.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn interrupted_in(&self, chat: &str) -> Result<Option<CallId>, RunError> {
        let summaries = self.live_ids()?.into_iter().rev().filter_map(|id| self.summary(id).ok());
        let is_of_chat = |run: &RunSummary| run.chat.as_deref() == Some(chat);
        let mut interrupted = summaries.filter(|run| run.state == RunState::Interrupted);
        Ok(interrupted.find(is_of_chat).map(|run| run.id))
    }

    /// Returns the newest interrupted run that this client program of the owner began no longer than `age` ago.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn interrupted_of(&self, client: &str, age: Duration) -> Result<Option<CallId>, RunError> {
        let oldest = SystemTime::now().checked_sub(age).unwrap_or(UNIX_EPOCH);
        let oldest = oldest.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        // The first 48 bits of an id are the time in milliseconds.
        let young = self.live_ids()?.into_iter().rev().take_while(|id| id.number() >> 80 >= oldest);
        let mut interrupted = young.filter_map(|id| {
            let (run, is_held) = live::peek(&self.live(id)).ok()?;
            let is_meant = run.start.client.as_deref() == Some(client) && run.start.is_of_owner();
            (is_meant && !is_held).then_some(id)
        });
        Ok(interrupted.next())
    }

    /// Finds a run by its id, or the beginning of one.
    ///
    /// # Errors
    /// Fails if no run has this id, or several begin with it.
    pub fn find(&self, which: &str) -> Result<CallId, RunError> {
        let which = which.to_ascii_uppercase();
        let mut ids = self.ids()?;
        ids.retain(|id| !which.is_empty() && id.to_string().starts_with(&which));
        match &ids[..] {
            [one] => Ok(*one),
            [] => Err(RunError::NotFound(which)),
            several => {
                let ids: Vec<_> = several.iter().take(5).map(CallId::to_string).collect();
                Err(RunError::Ambiguous(which, ids.join(", ")))
            }
        }
    }

    /// Returns the requests of clients whose runs were interrupted, with the ids of the runs: each client sent a key along, so
    /// that it can ask for the answer again. Ends those that nobody can go on with.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn unanswered(&self) -> Result<Vec<(CallId, Value)>, RunError> {
        let peeked =
            |id: CallId| live::peek(&self.live(id)).ok().map(|(run, held)| (id, run, held));
        let mut unanswered = Vec::new();
        for (id, run, _) in
            self.live_ids()?.into_iter().filter_map(peeked).filter(|(.., held)| !held)
        {
            if !run.start.can_be_resumed() {
                self.end_abandoned(id, &run);
            }
            unanswered.extend(run.start.request.map(|request| (id, request)));
        }
        Ok(unanswered)
    }

    /// Returns everything that people are shown of a run, redacted.
    ///
    /// # Errors
    /// Its file cannot be read.
    pub fn show(&self, id: CallId) -> Result<RunDetail, RunError> {
        match saved::read(&self.saved(id)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let path = self.live(id);
                let (run, is_held) = live::peek(&path).map_err(failed("read", &path))?;
                if !is_held && !run.start.can_be_resumed() {
                    return Ok(self.end_abandoned(id, &run));
                }
                let state = if is_held { RunState::Running } else { RunState::Interrupted };
                Ok(RunDetail::of(&run, state, None))
            }
            read => read.map_err(failed("read", &self.saved(id))),
        }
    }

    /// Takes over an interrupted run, or returns what is recorded of one that has ended.
    ///
    /// # Errors
    /// Another process runs it, or its file cannot be read.
    pub fn take(&self, id: CallId) -> Result<Resumable, RunError> {
        let path = self.live(id);
        if self.saved(id).exists() {
            live::remove_unless_held(&path).map_err(failed("remove", &path))?;
            return self.show(id).map(Box::new).map(Resumable::Ended);
        }
        match live::take(self, id).map_err(failed("open", &path))? {
            Some(run) if run.start().can_be_resumed() => Ok(Resumable::Unfinished(Box::new(run))),
            Some(run) => {
                // Its lock is released first.
                let UnfinishedRun { recorded, live } = run;
                drop(live);
                Ok(Resumable::Ended(Box::new(self.end_abandoned(id, &recorded))))
            }
            // It may have ended while we waited for its lock.
            None if self.saved(id).exists() => self.show(id).map(Box::new).map(Resumable::Ended),
            None => Err(RunError::Running(id)),
        }
    }

    /// Returns the list's entry of a run.
    ///
    /// # Errors
    /// Its file cannot be read.
    pub fn summary(&self, id: CallId) -> Result<RunSummary, RunError> {
        match saved::read_summary(&self.saved(id)) {
            Ok(summary) => Ok(summary),
            Err(_) => self.show(id).map(|detail| detail.summary),
        }
    }

    /// Returns the ids of all runs, oldest first.
    fn ids(&self) -> Result<Vec<CallId>, RunError> {
        let mut ids: Vec<CallId> = self.files()?.filter_map(|(id, file)| file.is_run(id)).collect();
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }

    /// Returns the ids of runs that have not ended, oldest first.
    fn live_ids(&self) -> Result<Vec<CallId>, RunError> {
        let live = self.files()?.filter(|(_, file)| matches!(file, RunFile::Live));
        let mut ids: Vec<CallId> = live.map(|(id, _)| id).collect();
        ids.retain(|id| !self.saved(*id).exists());
        ids.sort_unstable();
        Ok(ids)
    }

    /// Returns the files in the folder, in no order, without a look into them.
    fn files(&self) -> Result<impl Iterator<Item = (CallId, RunFile)> + use<>, RunError> {
        let files = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            files => Some(files.map_err(failed("read", &self.folder))?),
        };
        Ok(files.into_iter().flatten().flatten().filter_map(|file| RunFile::of(&file)))
    }
}

/// A file of the folder.
#[derive(Debug)]
enum RunFile {
    Live,
    Saved,
    /// What is to become one of the others.
    New(PathBuf),
}

impl RunFile {
    fn of(file: &fs::DirEntry) -> Option<(CallId, Self)> {
        let name = file.file_name();
        let (id, end) = name.to_str()?.split_once('.')?;
        let kind = match end {
            "live" => Self::Live,
            "json" => Self::Saved,
            _ if end.ends_with("new") => Self::New(file.path()),
            _ => return None,
        };
        Some((CallId::parse(id)?, kind))
    }

    fn is_run(&self, id: CallId) -> Option<CallId> {
        (!matches!(self, Self::New(_))).then_some(id)
    }
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> RunError {
    let path = path.to_owned();
    move |source| match source.kind() {
        io::ErrorKind::NotFound => {
            RunError::NotFound(path.file_stem().unwrap_or_default().to_string_lossy().into_owned())
        }
        _ => RunError::Io { action, path, source },
    }
}
