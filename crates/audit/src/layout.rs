//! The files of the store's folder.

use std::{
    fs::{File, TryLockError},
    io,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use switchboard_runtime::{RunArtifacts, private_files};
use switchboard_toolcall::CallId;

use crate::{
    error::Error,
    export::ExportTarget,
    key::{SigningKey, StoreFolder},
};

/// The folder of a store, and the names in it.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) root: PathBuf,
    /// Whether changes of files must reach the disk.
    pub(crate) sync: bool,
    /// The key of its lines, if they are signed.
    pub(crate) key: Option<SigningKey>,
}

/// Holds the store's lock until it is dropped.
pub(crate) struct StoreLock {
    _file: File,
}

impl Layout {
    pub(crate) fn new(folder: impl Into<StoreFolder>) -> Self {
        let StoreFolder { path, key } = folder.into();
        Self { root: path, sync: false, key }
    }

    /// Returns the folder, for others that open it.
    pub(crate) fn folder(&self) -> StoreFolder {
        StoreFolder { path: self.root.clone(), key: self.key.clone() }
    }

    pub(crate) fn manifest(&self) -> PathBuf {
        self.root.join("manifest.log")
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.root.join("journal")
    }

    pub(crate) fn segment(&self, number: u64) -> PathBuf {
        self.journal().join(format!("{number:08}.log"))
    }

    /// Returns the file that a segment has once it is compressed.
    pub(crate) fn compressed_segment(&self, number: u64) -> PathBuf {
        self.journal().join(format!("{number:08}.log.zst"))
    }

    /// Returns both files that a segment may have.
    pub(crate) fn segment_files(&self, number: u64) -> [PathBuf; 2] {
        [self.segment(number), self.compressed_segment(number)]
    }

    /// Returns the file that is locked while segments are written again.
    pub(crate) fn rewrite_lock(&self) -> PathBuf {
        self.root.join("rewrite.lock")
    }

    pub(crate) fn index(&self) -> PathBuf {
        self.root.join("index.db")
    }

    pub(crate) fn artifacts(&self) -> PathBuf {
        self.root.join("artifacts")
    }

    /// Returns the names of the artifacts that runs need.
    pub(crate) fn run_artifacts(&self) -> RunArtifacts {
        RunArtifacts::within(&self.root)
    }

    /// Returns the folder of the runs of models.
    pub(crate) fn runs(&self) -> PathBuf {
        self.root.join("runs")
    }

    /// Returns the file of a run that has ended.
    pub(crate) fn run(&self, id: CallId) -> PathBuf {
        self.runs().join(format!("{id}.json"))
    }

    /// Returns the file of a run that has not ended.
    pub(crate) fn live_run(&self, id: CallId) -> PathBuf {
        self.runs().join(format!("{id}.live"))
    }

    pub(crate) fn claims(&self) -> PathBuf {
        self.root.join("claims")
    }

    /// Returns the file of the store's identity.
    pub(crate) fn node(&self) -> PathBuf {
        self.root.join("node.json")
    }

    /// Returns the file of an export's cursor.
    pub(crate) fn export_cursor(&self, target: ExportTarget) -> PathBuf {
        self.root.join(target.file())
    }

    /// Returns whether anything was ever written there.
    ///
    /// # Errors
    /// The folder belongs to another user, or is not a folder.
    pub(crate) fn exists(&self) -> Result<bool, Error> {
        let path = self.manifest();
        path.try_exists().map_err(Error::file("read", &path))
    }

    /// Creates the folders.
    pub(crate) fn create(&self) -> Result<(), Error> {
        create_folder(&self.root)?;
        create_folder(&self.journal())
    }

    /// Waits for the store's lock, for a limited time. It is held only while segments change hands; segments' own locks
    /// may only be tried under it, so that a process that tries is not taken for the holder.
    ///
    /// Blocks for up to a second: must not run on a serving thread.
    #[expect(clippy::disallowed_methods, reason = "runs on threads that may block")]
    pub(crate) fn lock(&self) -> Result<StoreLock, Error> {
        let path = self.root.join("lock");
        let mut options = File::options();
        let file = private_files::open(options.create(true).truncate(false).write(true), &path);
        let file = file.map_err(Error::file("open", &path))?;
        for _ in 0..LOCK_TRIES {
            match file.try_lock() {
                Ok(()) => return Ok(StoreLock { _file: file }),
                Err(TryLockError::WouldBlock) => thread::sleep(LOCK_PAUSE),
                Err(TryLockError::Error(error)) => return Err(Error::file("lock", &path)(error)),
            }
        }
        Err(Error::Locked { path })
    }
}

/// How often and how patiently the lock is tried: one second in total.
const LOCK_TRIES: u32 = 1000;
const LOCK_PAUSE: Duration = Duration::from_millis(1);

/// Creates a folder that only its owner may enter.
pub(crate) fn create_folder(path: &Path) -> Result<(), Error> {
    private_files::create_dir(path).map_err(Error::file("create the folder", path))
}

/// Locks a segment for as long as the file is open. Returns `false` if another process holds it.
pub(crate) fn hold(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}
