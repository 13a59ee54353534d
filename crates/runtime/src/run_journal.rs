//! What the journal of calls says of the files of runs, so that its chain covers those too (SPEC RN-1).

use std::fmt;

use switchboard_toolcall::{BoxError, CallId};

/// Writes lines about the files of runs into the journal of calls.
pub trait RunJournal: fmt::Debug + Send + Sync {
    /// Returns whether a line can be written at once, without a wait for other processes.
    fn is_ready(&self) -> bool;

    /// Writes what the file of a run will hold that has ended. Returns once the line is written: blocks for a moment if the
    /// journal is not [ready](Self::is_ready), or if lines must reach the disk.
    ///
    /// # Errors
    /// The journal takes no lines.
    fn ended(&self, run: &EndedRun<'_>) -> Result<(), BoxError>;

    /// Writes that the files of these runs are removed. Blocks like [`ended`](Self::ended).
    ///
    /// # Errors
    /// The journal takes no lines.
    fn removed(&self, runs: &[CallId]) -> Result<(), BoxError>;
}

/// A run that has ended, with its file.
#[derive(Clone, Copy, Debug)]
pub struct EndedRun<'a> {
    /// The run's id.
    pub id: CallId,
    /// How it ended.
    pub state: &'a str,
    /// How often the model answered.
    pub turns: usize,
    /// The content of its file.
    pub file: &'a [u8],
}
