//! Repairs a segment whose holder died: truncates a torn tail, and marks calls whose end is unknown.

use std::{
    fs,
    io::{self, Read, Seek, SeekFrom, Write},
    time::SystemTime,
};

use switchboard_runtime::private_files;
use tracing::warn;

use super::{JournalSegment, SegmentScan};
use crate::{error::Error, layout::Layout, line::LineBody, manifest::ManifestEntry};

impl JournalSegment {
    /// Reads the whole segment, and writes a clean end.
    pub(super) fn repair(&mut self, layout: &Layout, entry: &ManifestEntry) -> Result<(), Error> {
        let text = self.read_all().map_err(Error::file("read", &self.path))?;
        let scan = SegmentScan::of(&text, entry.opened);
        let torn = text.len() as u64 - scan.length;
        let kept = match torn {
            0 => None,
            _ => Some(self.cut_off(layout, &text, scan.length)?),
        };
        (self.length, self.lines, self.last) = (scan.length, scan.lines, scan.last);
        (self.tick, self.began) = (scan.tick, scan.began);
        if self.lines == 0 {
            // Its holder died before it wrote the header.
            self.write_header(entry.opened)?;
        }
        if let Some(kept) = kept {
            let body = LineBody::new("torn", torn).at(SystemTime::now()).with("kept", kept);
            self.append([(&body, 0)]).map_err(Error::file("write", &self.path))?;
        }
        for id in &scan.open {
            let body = LineBody::new("unknown", id).at(SystemTime::now());
            self.append([(&body, 0)]).map_err(Error::file("write", &self.path))?;
        }
        self.mark_clean()?;
        let (segment, unknown) = (self.number, scan.open.len());
        if torn > 0 || unknown > 0 {
            warn!(
                segment,
                torn_bytes = torn,
                outcome_unknown = unknown,
                "the last process that wrote records ended without warning; its journal was repaired"
            );
        }
        Ok(())
    }

    fn read_all(&mut self) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        self.file.seek(SeekFrom::Start(0))?;
        self.file.read_to_end(&mut text)?;
        Ok(text)
    }

    /// Truncates what follows the last valid line, and saves it in a file beside the segment.
    fn cut_off(&self, layout: &Layout, text: &[u8], length: u64) -> Result<String, Error> {
        let tail = &text[usize::try_from(length).unwrap_or(text.len())..];
        let name = format!("{:08}-{length}.torn", self.number);
        let path = layout.journal().join(&name);
        let kept = private_files::create(&path);
        // A full disk must not stop us: the tail was never acknowledged.
        if let Err(cause) = kept.and_then(|mut file| file.write_all(tail)) {
            warn!(%cause, file = %path.display(), "a torn tail could not be kept");
            _ = fs::remove_file(&path);
        }
        self.file.set_len(length).map_err(Error::file("repair", &self.path))?;
        Ok(name)
    }
}
