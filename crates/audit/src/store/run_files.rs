//! Writes lines about the files of runs into the journal.

use std::{fmt, time::SystemTime};

use switchboard_runtime::{EndedRun, RunJournal};
use switchboard_toolcall::{BoxError, CallId};

use super::{Store, StoreInner};
use crate::{
    config::Durability,
    error::Error,
    line::{self, LineBody, microseconds},
};

/// How many runs one line names at most.
const TOGETHER: usize = 100;

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Store").field(&self.path()).finish()
    }
}

impl StoreInner {
    fn note(&self, body: &LineBody) -> Result<(), Error> {
        self.journal.note(body, microseconds(SystemTime::now()))?;
        if self.config.durability == Durability::Disk {
            let path = self.layout.journal();
            let synced = self.journal.position().and_then(|journal| match journal {
                Some((file, _)) => file.sync_data(),
                None => Ok(()),
            });
            synced.map_err(Error::file("bring to the disk", &path))?;
        }
        Ok(())
    }
}

impl RunJournal for Store {
    fn is_ready(&self) -> bool {
        self.0.journal.has_segment()
    }

    fn ended(&self, run: &EndedRun<'_>) -> Result<(), BoxError> {
        Ok(self.0.note(&line::run_ended(run))?)
    }

    fn removed(&self, runs: &[CallId]) -> Result<(), BoxError> {
        for runs in runs.chunks(TOGETHER) {
            self.0.note(&line::runs_removed(runs))?;
        }
        Ok(())
    }
}
