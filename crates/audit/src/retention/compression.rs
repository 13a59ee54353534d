//! Compresses segments once they are sealed.

use std::collections::BTreeSet;

use super::rewrite::{RewriteLock, RewriteOutcome, rewrite};
use crate::{error::Error, layout::Layout, manifest::Manifest};

/// Compresses sealed segments one by one, oldest first.
pub(crate) struct Compression {
    layout: Layout,
    /// Damaged segments, which stay as they are.
    damaged: BTreeSet<u64>,
}

impl Compression {
    pub(crate) fn new(layout: Layout) -> Self {
        Self { layout, damaged: BTreeSet::new() }
    }

    /// Compresses the oldest segment that is sealed and not compressed. Returns `false` if there is none, or if another process
    /// compresses them.
    pub(crate) fn next(&mut self) -> Result<bool, Error> {
        if !self.layout.exists()? {
            return Ok(false);
        }
        let manifest = Manifest::read(&self.layout)?;
        let is_next =
            |number: u64| !self.damaged.contains(&number) && self.layout.segment(number).exists();
        let mut sealed = manifest.kept().filter(|entry| entry.end.is_some());
        let Some(entry) = sealed.find(|entry| is_next(entry.number)) else { return Ok(false) };
        // A process without the key changes nothing.
        manifest.may_write()?;
        let Some(lock) = RewriteLock::take(&self.layout)? else { return Ok(false) };
        if let RewriteOutcome::Damaged = rewrite(&self.layout, entry, &[], true, &lock)? {
            self.damaged.insert(entry.number);
        }
        Ok(true)
    }
}
