//! Names the artifacts that runs need: results of which a conversation has only a line, and messages of which it has only a summary.
//!
//! No record of a call names them, so the store of artifacts would remove them. A marker is a small file `ARTIFACT.RUN` that says
//! which tool and caller the content is of. The agent writes it, and removes it with the run; the store of artifacts keeps what it
//! names, and learns from it who may read that, in every process and after a restart.

use std::{
    collections::{HashMap, HashSet},
    fs::{self, DirEntry, File},
    io::{self, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use switchboard_toolcall::CallId;

use crate::{artifacts::ArtifactSource, private_files};

/// How long a marker stays although its run has no file: a run that could not be written down goes on.
const GRACE: Duration = Duration::from_secs(3600);

/// The markers of one store. Cheap to clone; touches no file before the first marker.
#[derive(Clone, Debug)]
pub struct RunArtifacts {
    folder: PathBuf,
}

/// A line of a marker: one call, or one summary.
#[derive(Serialize, Deserialize)]
struct MarkerLine {
    tool: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    caller: Option<String>,
    /// The bytes of the artifact.
    size: u64,
}

impl RunArtifacts {
    /// The markers in a store's folder.
    pub fn within(store: &Path) -> Self {
        Self { folder: store.join("runs").join("artifacts") }
    }

    /// Notes that a run needs an artifact of `size` bytes.
    ///
    /// # Errors
    /// The marker cannot be written.
    pub fn note(
        &self,
        artifact: &str,
        run: CallId,
        source: &ArtifactSource,
        size: u64,
    ) -> io::Result<()> {
        let path = self.folder.join(format!("{artifact}.{run}"));
        let caller = source.caller.as_deref().map(str::to_owned);
        let line = MarkerLine { tool: source.tool.to_string(), caller, size };
        let line = format!("{}\n", serde_json::to_string(&line)?);
        if fs::read_to_string(&path).is_ok_and(|known| known.contains(&line)) {
            return Ok(());
        }
        private_files::create_dir(&self.folder)?;
        let mut file = private_files::open(File::options().create(true).append(true), &path)?;
        file.write_all(line.as_bytes())
    }

    /// Returns the artifacts that runs need.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn named(&self) -> io::Result<HashSet<String>> {
        Ok(self.markers()?.map(|marker| marker.artifact).collect())
    }

    /// Returns the calls that returned this artifact, as far as markers say so.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn sources(&self, artifact: &str) -> io::Result<Vec<ArtifactSource>> {
        let markers = self.markers()?.filter(|marker| marker.artifact == artifact);
        let source = |line: MarkerLine| ArtifactSource {
            tool: line.tool.into(),
            caller: line.caller.map(Into::into),
        };
        Ok(markers.flat_map(|marker| marker.lines()).map(source).collect())
    }

    /// Returns how many bytes the artifacts of each run have.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn sizes(&self) -> io::Result<HashMap<CallId, u64>> {
        let mut sizes = HashMap::new();
        for marker in self.markers()? {
            // All lines are of one content.
            let size = marker.lines().first().map_or(0, |line| line.size);
            *sizes.entry(marker.run).or_default() += size;
        }
        Ok(sizes)
    }

    /// Removes the markers of runs for which `is_kept` does not hold, unless they are young.
    ///
    /// # Errors
    /// The folder cannot be read, or a marker cannot be removed.
    pub fn forget(&self, is_kept: impl Fn(CallId) -> bool) -> io::Result<()> {
        for marker in self.markers()?.filter(|marker| !is_kept(marker.run)) {
            let written = fs::metadata(&marker.path).and_then(|about| about.modified());
            let is_young = written.is_ok_and(|at| at.elapsed().is_ok_and(|age| age < GRACE));
            if is_young {
                continue;
            }
            match fs::remove_file(&marker.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    fn markers(&self) -> io::Result<impl Iterator<Item = MarkerFile> + use<>> {
        let files = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            files => Some(files?.collect::<io::Result<Vec<_>>>()?),
        };
        Ok(files.into_iter().flatten().filter_map(|file| MarkerFile::of(&file)))
    }
}

/// A marker in the folder.
struct MarkerFile {
    artifact: String,
    run: CallId,
    path: PathBuf,
}

impl MarkerFile {
    fn of(file: &DirEntry) -> Option<Self> {
        let name = file.file_name();
        let (artifact, run) = name.to_str()?.split_once('.')?;
        let (artifact, run) = (artifact.to_owned(), CallId::parse(run)?);
        Some(Self { artifact, run, path: file.path() })
    }

    /// Returns its lines; none if it was removed meanwhile. A line that a crash cut is left out.
    fn lines(&self) -> Vec<MarkerLine> {
        let text = fs::read_to_string(&self.path).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    // RN-3
    #[test]
    fn a_marker_says_who_may_read_and_goes_with_its_run() {
        let store = tempfile::tempdir().unwrap();
        let markers = RunArtifacts::within(store.path());
        let (one, other) = (CallId::generate(), CallId::generate());
        let source = |tool: &str, caller: Option<&str>| ArtifactSource {
            tool: tool.into(),
            caller: caller.map(Into::into),
        };
        assert!(markers.named().unwrap().is_empty());
        for _ in 0..2 {
            markers.note("aa", one, &source("read", Some("bob")), 7).unwrap();
        }
        markers.note("aa", one, &source("list", Some("bob")), 7).unwrap();
        markers.note("bb", one, &source("read", None), 30).unwrap();
        markers.note("aa", other, &source("read", Some("eve")), 7).unwrap();
        assert_eq!(markers.named().unwrap(), ["aa", "bb"].map(str::to_owned).into());
        let sizes = HashMap::from([(one, 37), (other, 7)]);
        assert_eq!(markers.sizes().unwrap(), sizes);
        assert_eq!(markers.sources("bb").unwrap(), [source("read", None)]);
        assert_eq!(markers.sources("aa").unwrap().len(), 3);
        // They are young.
        markers.forget(|_| false).unwrap();
        assert_eq!(markers.named().unwrap().len(), 2);
        for file in fs::read_dir(store.path().join("runs/artifacts")).unwrap() {
            let file = File::options().append(true).open(file.unwrap().path()).unwrap();
            file.set_modified(SystemTime::now() - 2 * GRACE).unwrap();
        }
        markers.forget(|run| run == other).unwrap();
        assert_eq!(markers.sources("aa").unwrap(), [source("read", Some("eve"))]);
        assert_eq!(markers.named().unwrap(), ["aa".to_owned()].into());
    }
}
