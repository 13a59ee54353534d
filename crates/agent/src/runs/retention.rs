//! Removes runs that are too old or too much, and what killed processes left.

use std::{
    collections::HashSet,
    fs::{self, File},
    io,
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use switchboard_runtime::private_files;
use switchboard_toolcall::CallId;

use super::{RunError, RunFile, RunStore, failed, live};

/// How long runs are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunLimits {
    /// Runs that began longer ago are removed.
    pub age: Duration,
    /// How many bytes runs that have ended may take, with the results that they shortened; the oldest are removed.
    pub bytes: u64,
}

/// How often old runs are looked for at the end of a run: that reads the names of all.
const OFTEN: Duration = Duration::from_secs(600);

/// How long a process may need to name a file that it has written.
const GRACE: Duration = Duration::from_secs(3600);

impl RunStore {
    /// Removes what [`forget`](Self::forget) does, unless somebody did not long ago.
    pub(crate) fn apply_retention_if_due(&self, limits: RunLimits) -> Result<(), RunError> {
        let path = self.folder.join("forgotten");
        if modified(&path).is_some_and(|last| is_younger(last, OFTEN)) {
            return Ok(());
        }
        let marked = private_files::create(&path).and_then(|file: File| file.set_len(0));
        marked.map_err(failed("write", &path))?;
        self.forget(limits)
    }

    /// Removes runs that are too old or too much, unless a process has them, and what killed processes left.
    ///
    /// # Errors
    /// The folder cannot be read, or a file cannot be removed.
    pub fn forget(&self, limits: RunLimits) -> Result<(), RunError> {
        let Some(oldest) = SystemTime::now().checked_sub(limits.age) else { return Ok(()) };
        let oldest = oldest.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let (mut saved, mut old) = (Vec::new(), Vec::new());
        for (id, file) in self.files()? {
            // The first 48 bits of an id are the time in milliseconds.
            let is_old = id.number() >> 80 < oldest;
            match file {
                RunFile::Live if is_old || self.saved(id).exists() => {
                    let path = self.live(id);
                    live::remove_unless_held(&path).map_err(failed("remove", &path))?;
                }
                RunFile::Saved if is_old => old.push(id),
                RunFile::Saved => saved.push(id),
                RunFile::New(path) if !modified(&path).is_some_and(|at| is_younger(at, GRACE)) => {
                    remove(&path)?;
                }
                _ => {}
            }
        }
        old.extend(self.excess(saved, limits.bytes)?);
        self.remove_saved(&old)?;
        let kept: HashSet<CallId> = self.ids()?.into_iter().collect();
        let forgotten = self.artifacts.forget(|run| kept.contains(&run));
        forgotten.map_err(failed("forget the artifacts of", &self.folder))?;
        self.forget_keys(limits.age)
    }

    /// Returns the oldest runs that have ended, without which the others fit.
    fn excess(&self, mut saved: Vec<CallId>, most: u64) -> Result<Vec<CallId>, RunError> {
        saved.sort_unstable();
        let artifacts = self.artifacts.sizes();
        let artifacts = artifacts.map_err(failed("read the artifacts of", &self.folder))?;
        let (mut bytes, mut excess) = (0_u64, Vec::new());
        for id in saved.into_iter().rev() {
            let length = fs::metadata(self.saved(id)).map_or(0, |about| about.len());
            let of_artifacts = artifacts.get(&id).copied().unwrap_or_default();
            bytes = bytes.saturating_add(length).saturating_add(of_artifacts);
            if bytes > most {
                excess.push(id);
            }
        }
        Ok(excess)
    }

    /// Removes the files of runs that have ended, once the journal says so.
    fn remove_saved(&self, ids: &[CallId]) -> Result<(), RunError> {
        if let Some(journal) = self.journal.as_ref().filter(|_| !ids.is_empty()) {
            let noted = journal.removed(ids).map_err(io::Error::other);
            noted.map_err(failed("write into the journal that it goes:", &self.folder))?;
        }
        ids.iter().try_for_each(|id| remove(&self.saved(*id)))
    }
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|about| about.modified()).ok()
}

/// Whether it is not that long ago. A time to come is not: somebody set the clock.
fn is_younger(at: SystemTime, age: Duration) -> bool {
    at.elapsed().is_ok_and(|since| since < age)
}

/// Removes a file. Somebody else may have removed it.
fn remove(path: &Path) -> Result<(), RunError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("remove", path)(error)),
        _ => Ok(()),
    }
}
