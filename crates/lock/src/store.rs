//! The lock file on disk: read, and replaced as a whole while a lock on its folder is held.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use crate::{file::LockFile, file_text::LockFileError};

/// The name of the lock file, which stands beside the config.
pub const FILE_NAME: &str = "switchboard.lock";

/// Where a lock file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockStore {
    file: PathBuf,
}

/// Why a lock file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// It cannot be read or written.
    #[error("failed to {verb} `{}`", file.display())]
    Io {
        /// `read` or `write`.
        verb: &'static str,
        /// The file.
        file: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It is no lock file.
    #[error("{}:{}: {}", file.display(), error.line, error.problem)]
    Text {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        error: LockFileError,
    },
    /// It was there.
    #[error("`{}` is gone", .0.display())]
    Gone(PathBuf),
}

impl LockStore {
    /// Returns the place of the lock file of a config.
    pub fn beside(config: &Path) -> Self {
        Self { file: config.with_file_name(FILE_NAME) }
    }

    /// The file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Reads the file; `None` if there is none.
    ///
    /// # Errors
    /// It cannot be read, or is no lock file.
    pub fn read(&self) -> Result<Option<LockFile>, StoreError> {
        self.text()?.as_deref().map(|text| self.parse(text)).transpose()
    }

    fn text(&self) -> Result<Option<String>, StoreError> {
        match fs::read_to_string(&self.file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            read => read.map(Some).map_err(|source| self.failed("read", source)),
        }
    }

    fn parse(&self, text: &str) -> Result<LockFile, StoreError> {
        let parsed = LockFile::parse(text);
        parsed.map_err(|error| StoreError::Text { file: self.file.clone(), error })
    }

    /// Changes the file; another process that does so at the same time waits. Returns the new contents.
    ///
    /// # Errors
    /// As [`read`](Self::read), or it cannot be written.
    pub fn update(&self, change: impl FnOnce(&mut LockFile)) -> Result<LockFile, StoreError> {
        let folder = match self.file.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let failed = |source| self.failed("write", source);
        // Closing it, at the end of this function, releases the lock.
        let held = File::open(folder).map_err(failed)?;
        held.lock().map_err(failed)?;
        let text = self.text()?;
        let before = text.as_deref().map(|text| self.parse(text)).transpose()?;
        let mut now = before.clone().unwrap_or_default();
        change(&mut now);
        if before.as_ref() != Some(&now) {
            let text = now.to_text_after(text.as_deref().unwrap_or_default());
            self.replace(&text).map_err(failed)?;
        }
        Ok(now)
    }

    /// Replaces the file in one step, so that a reader never finds half of it. A link stays a link.
    fn replace(&self, text: &str) -> io::Result<()> {
        let target = fs::canonicalize(&self.file).unwrap_or_else(|_| self.file.clone());
        let own = target.with_file_name(format!(".{FILE_NAME}.{}", std::process::id()));
        let mut file = File::create(&own)?;
        if let Ok(before) = fs::metadata(&target) {
            file.set_permissions(before.permissions())?;
        }
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
        let moved = written.and_then(|()| fs::rename(&own, &target));
        if moved.is_err() {
            // What was written is of no use; the error that counts is the first.
            _ = fs::remove_file(&own);
        }
        moved
    }

    fn failed(&self, verb: &'static str, source: io::Error) -> StoreError {
        StoreError::Io { verb, file: self.file.clone(), source }
    }
}
