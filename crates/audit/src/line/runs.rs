//! Lines about the files of runs: what one holds whose run has ended, and which were removed.

use std::time::SystemTime;

use serde::Deserialize;
use sha2::{Digest, Sha256};
use switchboard_runtime::EndedRun;
use switchboard_toolcall::CallId;

use super::LineBody;
use crate::chain::hex;

/// The line about a run that has ended.
#[derive(Deserialize)]
pub(crate) struct RunLine {
    #[serde(rename = "run")]
    pub(crate) id: CallId,
    pub(crate) sha256: String,
    pub(crate) tick: u64,
}

/// What the line of a call says of the run that made it.
#[derive(Deserialize)]
pub(crate) struct CallOfRun<'a> {
    #[serde(default)]
    pub(crate) run: Option<CallId>,
    #[serde(default)]
    pub(crate) turn: Option<u32>,
    #[serde(borrow, default)]
    pub(crate) turn_sha256: Option<&'a str>,
}

/// The line about runs whose files retention removes.
#[derive(Deserialize)]
pub(crate) struct RunsRemovedLine {
    #[serde(rename = "runs_removed")]
    pub(crate) ids: Vec<CallId>,
}

/// The line that says what the file of a run holds.
pub(crate) fn run_ended(run: &EndedRun<'_>) -> LineBody {
    LineBody::new("run", run.id)
        .at(SystemTime::now())
        .with("state", run.state)
        .with("turns", run.turns)
        .with("bytes", run.file.len())
        .with("sha256", sha256(run.file))
}

/// The line that says that files of runs are removed.
pub(crate) fn runs_removed(ids: &[CallId]) -> LineBody {
    LineBody::new("runs_removed", ids).at(SystemTime::now())
}

/// Returns the SHA-256 of a file, in hex.
pub(crate) fn sha256(content: &[u8]) -> String {
    hash_text(Sha256::new_with_prefix(content))
}

/// Returns the hash of what was added, in hex.
pub(crate) fn hash_text(hash: Sha256) -> String {
    hex(hash.finalize().into()).iter().map(|digit| char::from(*digit)).collect()
}
