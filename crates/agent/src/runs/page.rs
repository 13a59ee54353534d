//! Pages of the list of runs.

use switchboard_toolcall::CallId;

use super::{RunError, RunStore, RunSummary};

impl RunStore {
    /// Returns the newest runs first that `is_wanted` accepts, at most `limit`; if `before` is set, only those that began
    /// before that run.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn page(
        &self,
        before: Option<CallId>,
        limit: usize,
        is_wanted: impl Fn(&RunSummary) -> bool,
    ) -> Result<Vec<RunSummary>, RunError> {
        let ids = self.ids()?.into_iter().rev();
        let older = ids.filter(|id| before.is_none_or(|before| *id < before));
        // A run whose file was removed meanwhile is left out.
        let summaries = older.filter_map(|id| self.summary(id).ok());
        Ok(summaries.filter(is_wanted).take(limit).collect())
    }
}
