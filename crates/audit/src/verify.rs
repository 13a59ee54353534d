//! Checks that no record was altered, dropped, added or put elsewhere.

mod runs;

use std::{collections::HashMap, io, path::Path};

use serde::Serialize;

use crate::{
    artifacts::{ArtifactFile, ArtifactFolder},
    chain::{Hash, SealedLine},
    error::Error,
    index::{CallIndex, segments},
    key::{SigningKey, StoreFolder},
    layout::Layout,
    line::{LineKind, sha256},
    manifest::{Manifest, ManifestEntry},
    segment::{SegmentFile, SegmentScan, is_held, is_skipped, lines},
};

/// What a check of the whole store found.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct VerifyReport {
    /// How many segments were checked.
    pub segments: u64,
    /// How many lines they have.
    pub lines: u64,
    /// How many calls begin in them.
    pub calls: u64,
    /// How many artifacts were checked.
    pub artifacts: u64,
    /// How many runs have ended whose files are there.
    pub runs: u64,
    /// How many segments retention dropped, as far as the manifest remembers.
    pub dropped: u64,
    /// How many lines lost their content by retention, as the manifest vouches.
    pub removed: u64,
    /// What is not as it was written.
    pub damage: Vec<DamagedLine>,
    /// Segments whose last line is incomplete because their process died; the next one that writes repairs them.
    pub torn: Vec<u64>,
    /// The hash of the hashes of the manifest's last line and of the last line of each segment in use, by number. If any line
    /// is written again, it is another one.
    pub head: String,
    /// The segments in use. Kept elsewhere, they show later that nothing before these lines was changed.
    pub in_use: Vec<OpenSegment>,
    /// Whether lines are signed, and with the key.
    pub signatures: SignatureStatus,
}

/// The end of a segment that may still grow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct OpenSegment {
    /// The segment's number.
    pub segment: u64,
    /// How many lines it has.
    pub lines: u64,
    /// The hash of the last of them.
    pub hash: String,
}

/// What a check knows of signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SignatureStatus {
    /// Nothing is signed.
    No,
    /// Lines are signed, and there was no key to check that with.
    Unchecked,
    /// Every signature was checked with the key.
    Checked,
}

/// Something that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct DamagedLine {
    /// The file, within the store's folder.
    pub file: String,
    /// The line's number, from 1, where one can be named.
    pub line: Option<u64>,
    /// What is wrong.
    pub what: String,
}

impl VerifyReport {
    /// Whether everything is as it was written.
    pub fn is_clean(&self) -> bool {
        self.damage.is_empty()
    }

    fn wrong(&mut self, file: &Path, line: Option<u64>, what: impl Into<String>) {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.damage.push(DamagedLine { file: name, line, what: what.into() });
    }
}

/// Checks every line of the store in the folder.
///
/// # Errors
/// The folder cannot be read.
pub fn verify(folder: impl Into<StoreFolder>) -> Result<VerifyReport, Error> {
    let layout = Layout::new(folder);
    let mut report = VerifyReport {
        segments: 0,
        lines: 0,
        calls: 0,
        artifacts: 0,
        runs: 0,
        dropped: 0,
        removed: 0,
        damage: Vec::new(),
        torn: Vec::new(),
        head: Hash::NONE.to_string(),
        in_use: Vec::new(),
        signatures: SignatureStatus::No,
    };
    if !layout.exists()? {
        let has_lines = !segments_with_lines(&layout)?.is_empty();
        // Looked for again: another process may have created the store after the first look.
        if !layout.exists()? {
            if has_lines {
                let what = "it is missing, although there are records";
                report.wrong(&layout.manifest(), None, what);
            }
            return Ok(report);
        }
    }
    // What the index has seen was there once. It is asked first: what is written meanwhile only adds.
    let seen = match layout.index().exists() {
        true => CallIndex::open(&layout).and_then(|index| index.read_to()).unwrap_or_default(),
        false => HashMap::new(),
    };
    let manifest = {
        let _guard = layout.lock()?;
        Manifest::read(&layout)?
    };
    for (line, what) in &manifest.damage {
        report.wrong(&layout.manifest(), Some(*line), *what);
    }
    let checks = check_manifest(&layout, &manifest, &mut report);
    let mut ends = vec![manifest.last];
    report.dropped = manifest.entries.iter().filter(|entry| entry.dropped).count() as u64;
    for entry in manifest.kept() {
        let last = check(&layout, entry, seen.get(&entry.number), checks, &mut report)?;
        ends.extend(last.filter(|_| entry.end.is_none()));
    }
    report.head = Hash::of_all(&ends).to_string();
    check_unknown_segments(&layout, &mut report)?;
    check_artifacts(&layout, &mut report)?;
    runs::check(&layout, &mut report)?;
    Ok(report)
}

/// Reports segments with lines that the manifest does not name.
///
/// The manifest is read after the folder: a segment that another process begins meanwhile is named before it gets its first line.
fn check_unknown_segments(layout: &Layout, report: &mut VerifyReport) -> Result<(), Error> {
    let found = segments_with_lines(layout)?;
    let known = {
        let _guard = layout.lock()?;
        Manifest::read(layout)?
    };
    for number in found {
        if !known.entries.iter().any(|entry| entry.number == number) {
            report.wrong(&layout.segment(number), None, "the manifest does not know it");
        }
    }
    Ok(())
}

/// Returns the segments of the folder but for empty ones, which were just begun, or whose process died at that.
fn segments_with_lines(layout: &Layout) -> Result<Vec<u64>, Error> {
    let mut found = segments(&layout.journal())?;
    found.retain(|number| !SegmentFile::length_of(layout, *number).is_ok_and(|length| length == 0));
    Ok(found)
}

/// Reports what is wrong with the manifest's signatures; returns what those of segments are checked with.
fn check_manifest<'a>(
    layout: &'a Layout,
    manifest: &Manifest,
    report: &mut VerifyReport,
) -> Option<&'a SigningKey> {
    let path = layout.manifest();
    let signatures = &manifest.signatures;
    let is_signed = signatures.signed > 0;
    report.signatures = match (&layout.key, is_signed) {
        (Some(_), _) => SignatureStatus::Checked,
        (None, true) => SignatureStatus::Unchecked,
        (None, false) => SignatureStatus::No,
    };
    let key = layout.key.as_ref()?;
    if !is_signed {
        report.wrong(&path, None, "none of its lines is signed, although there is a key");
        return None;
    }
    if signatures.wrong.len() as u64 >= signatures.signed {
        let what =
            "none of its lines was signed with this key: it is another key, or all was rewritten";
        report.wrong(&path, None, what);
        return None;
    }
    for line in &signatures.wrong {
        report.wrong(&path, Some(*line), NOT_SIGNED);
    }
    Some(key)
}

/// What is wrong with a line whose signature is not of the key.
const NOT_SIGNED: &str = "it was not signed with the key";

/// Reports the first line of a segment that is not signed as it must be.
fn check_signatures(
    layout: &Layout,
    entry: &ManifestEntry,
    text: &[u8],
    key: Option<&SigningKey>,
    report: &mut VerifyReport,
) {
    let path = layout.segment(entry.number);
    if !entry.is_signed {
        // What was sealed before there was a key, the manifest's signed lines vouch for.
        if key.is_some() && entry.end.is_none() {
            report.wrong(&path, None, "it is in use without the key");
        }
        return;
    }
    let mut previous = entry.opened;
    for (number, (_, line)) in (1..).zip(lines(text)) {
        let Some(sealed) = SealedLine::parse(line) else { return };
        if sealed.is_removed() {
            // The manifest's line vouches for it, which is signed.
            previous = sealed.hash;
            continue;
        }
        let what =
            match (sealed.is_signed(), key.and_then(|key| sealed.is_signed_with(key, &previous))) {
                (false, _) => Some("it was written without the key"),
                (true, Some(false)) => Some(NOT_SIGNED),
                (true, _) => None,
            };
        if let Some(what) = what {
            return report.wrong(&path, Some(number), what);
        }
        previous = sealed.hash;
    }
}

/// Reports lines without content that the manifest does not vouch for.
fn check_removed(
    layout: &Layout,
    entry: &ManifestEntry,
    scan: &SegmentScan,
    text: &[u8],
    path: &Path,
    report: &mut VerifyReport,
) -> Result<(), Error> {
    if scan.removed == 0 {
        return Ok(());
    }
    let hash = sha256(text);
    let vouches = |entry: &ManifestEntry| entry.removed.contains(&hash);
    // Retention may have removed it just now.
    let vouches_now =
        |manifest: Manifest| manifest.kept().any(|now| now.number == entry.number && vouches(now));
    if vouches(entry) || vouches_now(Manifest::read(layout)?) {
        report.removed += scan.removed;
        return Ok(());
    }
    let is_removed = |line: &[u8]| LineKind::of(line) == Some(LineKind::Removed);
    let first = (1..).zip(lines(text)).find(|(_, (_, line))| is_removed(line));
    let what = format!(
        "the content of {} lines was removed, and the manifest does not vouch for that",
        scan.removed
    );
    report.wrong(path, first.map(|(number, _)| number), what);
    Ok(())
}

fn check_artifacts(layout: &Layout, report: &mut VerifyReport) -> Result<(), Error> {
    let artifacts = ArtifactFolder::new(layout.artifacts(), u64::MAX);
    for ArtifactFile { id, path, .. } in artifacts.all()? {
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
    entry: &ManifestEntry,
    seen: Option<&(u64, String)>,
    key: Option<&SigningKey>,
    report: &mut VerifyReport,
) -> Result<Option<Hash>, Error> {
    let mut path = layout.segment(entry.number);
    let read = SegmentFile::open(layout, entry.number).and_then(|mut file| {
        path.clone_from(&file.path);
        file.read_all()
    });
    let text = match read {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // Retention may have dropped it just now.
            if Manifest::read(layout)?.kept().any(|now| now.number == entry.number) {
                report.wrong(&path, None, "it is missing");
            }
            return Ok(None);
        }
        Err(error) if is_skipped(&error) => {
            let path = layout.compressed_segment(entry.number);
            report.wrong(&path, None, format!("it cannot be decompressed: {error}"));
            return Ok(None);
        }
        Err(error) => return Err(Error::file("read", &path)(error)),
    };
    let scan = SegmentScan::of(&text, entry.opened);
    report.segments += 1;
    report.lines += scan.lines;
    report.calls += scan.calls;
    for fault in &scan.faults {
        report.wrong(&path, Some(fault.line), fault.what);
    }
    check_removed(layout, entry, &scan, &text, &path, report)?;
    check_signatures(layout, entry, &text, key, report);
    if entry.end.is_none() {
        let (segment, lines, hash) = (entry.number, scan.lines, scan.last.to_string());
        report.in_use.push(OpenSegment { segment, lines, hash });
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
        if line.and_then(SealedLine::parse).is_none_or(|line| line.hash.as_str() != last) {
            report.wrong(&path, None, "lines that the index has read are gone");
        }
    }
    Ok(Some(scan.last))
}

/// A segment that is not sealed may end in the middle of a line: somebody writes it, or died writing it.
fn check_end(
    layout: &Layout,
    number: u64,
    scan: &SegmentScan,
    text: &[u8],
    report: &mut VerifyReport,
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
