//! The queue in a folder: `pending/ID.json` is locked by the process that waits, `decided/ID.json` is written once.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serde::{Serialize, de::DeserializeOwned};
use switchboard_runtime::private_files;
use tokio::sync::Notify;

use crate::{
    approval::{ApprovalOutcome, PendingApproval},
    error::Error,
    rules::{self, AddedRule, AllowRule},
    store::{ApprovalStore, PendingGuard},
};

/// The letters of ids, without those that look alike.
const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
const LENGTH: usize = 8;
/// How long outcomes are kept.
const REMEMBERED: Duration = Duration::from_secs(24 * 60 * 60);

/// A folder as a store. Created when the first call is held.
#[derive(Debug)]
pub(crate) struct FolderStore {
    path: PathBuf,
    changed: Notify,
}

/// A pending approval's file. Its lock ends with the process, however that dies.
struct LockedFile {
    path: PathBuf,
    /// The lock says that a process waits.
    _locked: File,
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        // On failure another process removes it, as it is no longer locked.
        let _ = fs::remove_file(&self.path);
    }
}

impl FolderStore {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, changed: Notify::new() }
    }

    fn pending(&self) -> PathBuf {
        self.path.join("pending")
    }

    fn decided(&self) -> PathBuf {
        self.path.join("decided")
    }

    pub(crate) fn rules_file(&self) -> PathBuf {
        self.path.join("rules.json")
    }

    /// Creates the folders, private to this user.
    pub(crate) fn make(&self) -> Result<(), Error> {
        for folder in [self.path.clone(), self.pending(), self.decided()] {
            private_files::create_dir(&folder).map_err(Error::file("create", &folder))?;
        }
        Ok(())
    }

    /// Returns the ids of all pending approvals.
    fn ids(&self) -> Result<Vec<String>, Error> {
        let folder = self.pending();
        let files = match fs::read_dir(&folder) {
            Ok(files) => files,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(Error::file("read", &folder)(source)),
        };
        let names = files.flatten().filter_map(|file| file.file_name().into_string().ok());
        Ok(names.filter_map(|name| name.strip_suffix(".json").map(str::to_owned)).collect())
    }
}

impl ApprovalStore for FolderStore {
    fn changed(&self) -> &Notify {
        &self.changed
    }

    /// Renames a complete and locked file into place, so that others never see a part of it.
    fn insert(&self, pending: &PendingApproval) -> Result<PendingGuard, Error> {
        self.make()?;
        let path = self.pending().join(format!("{}.json", pending.id));
        let beside = path.with_extension("new");
        let failed = || Error::file("write", &path);
        let locked = write_private(&beside, pending).map_err(failed())?;
        locked.lock().map_err(failed())?;
        fs::rename(&beside, &path).map_err(failed())?;
        Ok(Box::new(LockedFile { path, _locked: locked }))
    }

    fn find(&self, id: &str) -> Result<Option<PendingApproval>, Error> {
        let path = self.pending().join(format!("{id}.json"));
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(Error::file("read", &path)(source)),
        };
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => read(&path),
            Err(TryLockError::Error(source)) => Err(Error::file("lock", &path)(source)),
            // The process that waited has died.
            Ok(()) => {
                let _ = fs::remove_file(&path);
                Ok(None)
            }
        }
    }

    fn pending(&self) -> Result<Vec<PendingApproval>, Error> {
        let ids = self.ids()?;
        let approvals = ids.iter().filter_map(|id| self.find(id).transpose());
        approvals.collect()
    }

    fn outcome(&self, id: &str) -> Result<Option<ApprovalOutcome>, Error> {
        read(&self.decided().join(format!("{id}.json")))
    }

    fn decide_once(
        &self,
        id: &str,
        outcome: &ApprovalOutcome,
    ) -> Result<Option<ApprovalOutcome>, Error> {
        let path = self.decided().join(format!("{id}.json"));
        let beside = self.decided().join(format!("{id}.{}.new", self::id()?));
        write_private(&beside, outcome).map_err(Error::file("write", &beside))?;
        let linked = fs::hard_link(&beside, &path);
        let _ = fs::remove_file(&beside);
        match linked {
            Ok(()) => {
                self.changed.notify_waiters();
                Ok(None)
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => read(&path),
            Err(source) => Err(Error::file("write", &path)(source)),
        }
    }

    fn rules(&self) -> Result<Vec<AllowRule>, Error> {
        rules::all(self)
    }

    fn add_rule(&self, rule: AllowRule) -> Result<AddedRule, Error> {
        rules::add(self, rule)
    }

    fn forget_rule(&self, id: &str) -> Result<AllowRule, Error> {
        rules::forget(self, id)
    }

    fn sweep(&self) {
        let before = SystemTime::now() - REMEMBERED;
        for file in fs::read_dir(self.decided()).into_iter().flatten().flatten() {
            let written = file.metadata().and_then(|data| data.modified());
            if written.is_ok_and(|written| written < before) {
                let _ = fs::remove_file(file.path());
            }
        }
    }
}

/// Returns whether this has the form of an id: it becomes part of a path.
pub(crate) fn is_id(text: &str) -> bool {
    (1..=LENGTH).contains(&text.len()) && text.bytes().all(|byte| LETTERS.contains(&byte))
}

/// Returns a random id, short enough to be typed.
pub(crate) fn id() -> Result<String, Error> {
    let mut bytes = [0_u8; LENGTH];
    getrandom::fill(&mut bytes).map_err(Error::Random)?;
    Ok(bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect())
}

/// Reads a JSON file; returns `None` if it does not exist.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, Error> {
    match fs::read(path) {
        Ok(text) => serde_json::from_slice(&text)
            .map(Some)
            .map_err(|source| Error::Format { path: path.to_owned(), source }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::file("read", path)(source)),
    }
}

/// Writes a file that only this user may read.
pub(crate) fn write_private(path: &Path, content: &impl Serialize) -> io::Result<File> {
    let mut file = private_files::create(path)?;
    file.write_all(&serde_json::to_vec_pretty(content)?)?;
    Ok(file)
}
