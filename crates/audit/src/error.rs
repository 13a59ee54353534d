//! Errors of the store.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// An error of the store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder of the store could not be used.
    #[error("failed to {tried} `{}`", path.display())]
    File {
        /// What was tried, as in "open".
        tried: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// Another process holds the store's lock for too long.
    #[error("the store `{}` is locked by another process", path.display())]
    Locked {
        /// The lock.
        path: PathBuf,
    },
    /// The records are signed, and there is no key to continue with.
    #[error("the records in `{}` are signed: `[audit] key` is missing", path.display())]
    KeyMissing {
        /// The manifest.
        path: PathBuf,
    },
    /// The records are signed with another key.
    #[error("the records in `{}` are signed with another key than `[audit] key`", path.display())]
    WrongKey {
        /// The manifest.
        path: PathBuf,
    },
    /// A damaged line that others depend on.
    #[error("`{}` is damaged: {what}; `switchboard calls verify` says more", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The index was made by a newer version.
    #[error(
        "the index `{}` has schema {found}, and this version knows {known}; use the newer version, or delete the file: it is rebuilt from the journal",
        path.display()
    )]
    NewerIndex {
        /// The index.
        path: PathBuf,
        /// The schema's version in the file.
        found: i64,
        /// The newest that we know.
        known: i64,
    },
    /// The index failed.
    #[error("failed to {tried} the index `{}`", path.display())]
    Index {
        /// What was tried, as in "read".
        tried: &'static str,
        /// The index.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// A pattern of a filter is invalid.
    #[error("`{glob}` is not a glob")]
    Glob {
        /// The pattern.
        glob: String,
        /// What is wrong with it.
        source: switchboard_toolcall::PatternError,
    },
    /// Something is too large to be stored.
    #[error("{size} bytes are more than the {most} that one artifact may have")]
    TooLarge {
        /// Its size.
        size: u64,
        /// The limit.
        most: u64,
    },
    /// The disk did not confirm the record in time.
    #[error("the disk of `{}` did not answer within {seconds} s", path.display())]
    Slow {
        /// The store.
        path: PathBuf,
        /// How long was waited.
        seconds: u64,
    },
    /// The same error as a moment ago, not retried yet.
    #[error(transparent)]
    Again(Arc<Error>),
    /// A background thread could not be started or has ended.
    #[error("the store's background work has ended: {0}")]
    Background(String),
}

/// Returns the causes of an error, outermost first.
pub(crate) fn causes<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    let mut next = error.source();
    std::iter::from_fn(move || {
        let cause = next?;
        next = cause.source();
        Some(cause)
    })
}

/// Formats the error and its causes in one line.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    causes(error).fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

impl Error {
    /// Returns a function for `map_err` that says what was tried with a file.
    pub(crate) fn file<'a>(
        tried: &'static str,
        path: &'a Path,
    ) -> impl FnOnce(io::Error) -> Self + use<'a> {
        move |source| Self::File { tried, path: path.to_owned(), source }
    }

    /// Returns a function for `map_err` that says what was tried with the index.
    pub(crate) fn index(tried: &'static str, path: &Path) -> impl FnOnce(rusqlite::Error) -> Self {
        move |source| Self::Index { tried, path: path.to_owned(), source }
    }

    /// Creates the error of a damaged file.
    pub(crate) fn damaged(path: &Path, what: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_owned(), what: what.into() }
    }
}
