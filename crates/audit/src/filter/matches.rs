//! A filter without an index: for live records and those only in memory.

use switchboard_toolcall::ToolPattern;

use super::Filter;
use crate::{
    error::Error,
    record::{CallOutcome, Record},
};

impl Filter {
    /// Returns a predicate with the same result as [`list`](crate::Reader::list); `after` and `limit` are left to the
    /// caller.
    ///
    /// # Errors
    /// The pattern is invalid.
    pub fn matcher(&self) -> Result<impl Fn(&Record) -> bool + use<>, Error> {
        let bad = |glob: &String| {
            let glob = glob.clone();
            |source| Error::Glob { glob, source }
        };
        let pattern = |glob: &String| glob.parse::<ToolPattern>().map_err(bad(glob));
        let tool = self.tool.as_ref().map(pattern).transpose()?;
        let filter = self.clone();
        Ok(move |record: &Record| {
            tool.as_ref().is_none_or(|tool| tool.matches(&record.tool)) && filter.passes(record)
        })
    }

    /// Checks everything but the pattern.
    fn passes(&self, record: &Record) -> bool {
        let texts = [
            (&self.server, &record.server),
            (&self.caller, &record.caller),
            (&self.conversation, &record.conversation),
        ];
        let kind = record.outcome.error_kind();
        texts.iter().all(|(wanted, is)| wanted.is_none() || wanted == is)
            && self.tools.as_ref().is_none_or(|tools| tools.contains(&record.tool))
            && (!self.failed || kind.is_some())
            && (!self.unknown || record.outcome.code() == "outcome_unknown")
            && self.slower_than.is_none_or(|limit| {
                record.outcome != CallOutcome::Running
                    && record.duration.is_some_and(|took| took > limit)
            })
            && self.has_words(record)
            && self.since.is_none_or(|since| record.started >= since)
            && self.until.is_none_or(|until| record.started < until)
    }
}
