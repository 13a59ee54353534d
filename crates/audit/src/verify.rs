//! Checks that no record was altered, dropped, added or put elsewhere.

use std::{collections::HashMap, fs, io, path::Path};

use serde::Serialize;

use crate::{
    artifacts::{Artifacts, Kept},
    chain::{Hash, Sealed},
    error::Error,
    index::{Index, segments},
    layout::Layout,
    manifest::{Entry, Manifest},
    segment::{Scan, is_held},
};

/// What a check of the whole store found.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// How many segments were checked.
    pub segments: u64,
    /// How many lines they have.
    pub lines: u64,
    /// How many calls begin in them.
    pub calls: u64,
    /// How many artifacts were checked.
    pub artifacts: u64,
    /// How many segments retention dropped, as far as the manifest remembers.
    pub dropped: u64,
    /// What is not as it was written.
    pub damage: Vec<Damage>,
    /// Segments whose last line is incomplete because their process died; the next one that writes repairs them.
    pub torn: Vec<u64>,
    /// The hash of the manifest's last line. Kept elsewhere, it shows later that nothing before it was changed.
    pub head: String,
}

/// Something that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// The file, within the store's folder.
    pub file: String,
    /// The line's number, from 1, where one can be named.
    pub line: Option<u64>,
    /// What is wrong.
    pub what: String,
}

impl Report {
    /// Whether everything is as it was written.
    pub fn is_clean(&self) -> bool {
        self.damage.is_empty()
    }

    fn wrong(&mut self, file: &Path, line: Option<u64>, what: impl Into<String>) {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.damage.push(Damage { file: name, line, what: what.into() });
    }
}

/// Checks every line of the store in the folder.
///
/// # Errors
/// The folder cannot be read.
pub fn verify(path: &Path) -> Result<Report, Error> {
    let layout = Layout::new(path);
    let mut report = Report {
        segments: 0,
        lines: 0,
        calls: 0,
        artifacts: 0,
        dropped: 0,
        damage: Vec::new(),
        torn: Vec::new(),
        head: Hash::NONE.to_string(),
    };
    if !layout.exists() {
        if !segments(&layout.journal())?.is_empty() {
            report.wrong(&layout.manifest(), None, "it is missing, although there are records");
        }
        return Ok(report);
    }
    // What the index has seen was there once. It is asked first: what is written meanwhile only adds.
    let seen = match layout.index().exists() {
        true => Index::open(&layout).and_then(|index| index.read_to()).unwrap_or_default(),
        false => HashMap::new(),
    };
    let manifest = {
        let _guard = layout.lock()?;
        Manifest::read(&layout)?
    };
    for (line, what) in &manifest.damage {
        report.wrong(&layout.manifest(), Some(*line), *what);
    }
    report.head = manifest.last.to_string();
    report.dropped = manifest.entries.iter().filter(|entry| entry.dropped).count() as u64;
    for entry in manifest.kept() {
        check(&layout, entry, seen.get(&entry.number), &mut report)?;
    }
    // Read again: another process may have begun a segment meanwhile.
    let known = Manifest::read(&layout)?;
    for number in segments(&layout.journal())? {
        // One that is empty was just begun, or its process died at that.
        let is_empty = fs::metadata(layout.segment(number)).is_ok_and(|file| file.len() == 0);
        if !is_empty && !known.entries.iter().any(|entry| entry.number == number) {
            report.wrong(&layout.segment(number), None, "the manifest does not know it");
        }
    }
    check_artifacts(&layout, &mut report)?;
    Ok(report)
}

fn check_artifacts(layout: &Layout, report: &mut Report) -> Result<(), Error> {
    let artifacts = Artifacts::new(layout.artifacts(), u64::MAX);
    for Kept { id, path, .. } in artifacts.all()? {
        match artifacts.read(&id) {
            Ok(Some(_)) => report.artifacts += 1,
            // Half-written by somebody, or collected just now.
            Ok(None) => {}
            Err(Error::Damaged { what, .. }) => report.wrong(&path, None, what),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn check(
    layout: &Layout,
    entry: &Entry,
    seen: Option<&(u64, String)>,
    report: &mut Report,
) -> Result<(), Error> {
    let path = layout.segment(entry.number);
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // Retention may have dropped it just now.
            if Manifest::read(layout)?.kept().any(|now| now.number == entry.number) {
                report.wrong(&path, None, "it is missing");
            }
            return Ok(());
        }
        Err(error) => return Err(Error::file("read", &path)(error)),
    };
    let scan = Scan::of(&text, entry.opened);
    report.segments += 1;
    report.lines += scan.lines;
    report.calls += scan.calls;
    for fault in &scan.faults {
        report.wrong(&path, Some(fault.line), fault.what);
    }
    match &entry.end {
        Some(end) => {
            let same = (end.lines, end.bytes) == (scan.lines, text.len() as u64);
            if !same || end.last != scan.last.as_str() {
                let what = format!(
                    "it was sealed with {} lines and {} bytes, and now has {} and {}",
                    end.lines,
                    end.bytes,
                    scan.lines,
                    text.len()
                );
                report.wrong(&path, None, what);
            }
        }
        None => check_end(layout, entry.number, &scan, &text, report)?,
    }
    if let Some((read, last)) = seen {
        let text = usize::try_from(*read).ok().and_then(|read| text.get(..read));
        let line =
            text.and_then(|text| text.strip_suffix(b"\n")?.rsplit(|byte| *byte == b'\n').next());
        if line.and_then(Sealed::parse).is_none_or(|line| line.hash.as_str() != last) {
            report.wrong(&path, None, "lines that the index has read are gone");
        }
    }
    Ok(())
}

/// A segment that is not sealed may end in the middle of a line: somebody writes it, or died writing it.
fn check_end(
    layout: &Layout,
    number: u64,
    scan: &Scan,
    text: &[u8],
    report: &mut Report,
) -> Result<(), Error> {
    let length = usize::try_from(scan.length).unwrap_or(text.len());
    let tail = &text[length..];
    if tail.is_empty() {
        return Ok(());
    }
    let path = layout.segment(number);
    let held = is_held(&path, &layout.lock()?)?;
    // A whole line that does not hold what it says was not torn by anybody's death.
    if tail.contains(&b'\n') && !tail.contains(&0) {
        report.wrong(
            &path,
            Some(scan.lines + 1),
            "it was altered, or does not follow the line before it",
        );
    } else if !held {
        report.torn.push(number);
    }
    Ok(())
}
