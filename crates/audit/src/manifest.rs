//! The manifest: the list of segments, hash-chained itself.
//!
//! It is small, and written only under the store's lock: when a segment begins, is sealed or is dropped. A segment's
//! header follows the manifest's line about it, and the line that seals it has the segment's last hash: so no segment
//! can be altered, removed or added without a trace.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    time::SystemTime,
};

use serde::Deserialize;
use switchboard_runtime::private_files;

use crate::{
    chain::{self, Hash, SealedLine},
    error::Error,
    key::SigningKey,
    layout::{Layout, StoreLock},
    line::{LineBody, LineKind, last_tick, microseconds},
};

/// A segment's entry in the manifest.
#[derive(Clone, Debug)]
pub(crate) struct ManifestEntry {
    pub(crate) number: u64,
    /// The hash of the line that began it, which its header follows.
    pub(crate) opened: Hash,
    /// The tick of that line; those of the segment are greater.
    pub(crate) began: u64,
    pub(crate) end: Option<SegmentEnd>,
    pub(crate) dropped: bool,
    /// Whether the line that began it is signed; all its own lines then are.
    pub(crate) is_signed: bool,
    /// The SHA-256 of its text after lines lost their content, of each time that some did.
    pub(crate) removed: Vec<String>,
}

/// The content of a sealed segment.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct SegmentEnd {
    pub(crate) lines: u64,
    pub(crate) bytes: u64,
    pub(crate) last: String,
    /// The tick of its last line.
    pub(crate) until: u64,
    /// When it was sealed, by the clock, in microseconds since 1970.
    #[serde(default)]
    pub(crate) at: u64,
}

/// The manifest as it was read.
pub(crate) struct Manifest {
    path: PathBuf,
    pub(crate) entries: Vec<ManifestEntry>,
    /// The hash of its last line.
    pub(crate) last: Hash,
    pub(crate) tick: u64,
    pub(crate) lines: u64,
    /// What is wrong with it: the line's number and the problem.
    pub(crate) damage: Vec<(u64, &'static str)>,
    /// How many bytes are valid; what follows was torn.
    good: u64,
    /// The number of the next segment.
    pub(crate) next: u64,
    sync: bool,
    key: Option<SigningKey>,
    pub(crate) signatures: Signatures,
}

/// The signatures of the manifest's lines.
#[derive(Default)]
pub(crate) struct Signatures {
    /// How many lines are signed.
    pub(crate) signed: u64,
    /// The signed lines that were not signed with the key, by number. Unknown without a key.
    pub(crate) wrong: Vec<u64>,
    /// Whether the last signed line is among them.
    last_is_wrong: bool,
}

impl Manifest {
    /// Reads the manifest; a missing one is empty.
    pub(crate) fn read(layout: &Layout) -> Result<Self, Error> {
        let path = layout.manifest();
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(Error::file("read", &path)(error)),
        };
        let mut manifest = Self {
            path,
            entries: Vec::new(),
            last: Hash::NONE,
            tick: 0,
            lines: 0,
            damage: Vec::new(),
            good: 0,
            next: 1,
            sync: layout.sync,
            key: layout.key.clone(),
            signatures: Signatures::default(),
        };
        private_files::tighten(&manifest.path);
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let Some(line) = line.strip_suffix(b"\n") else { break };
            manifest.good += line.len() as u64 + 1;
            manifest.lines += 1;
            manifest.take(line);
        }
        Ok(manifest)
    }

    fn take(&mut self, line: &[u8]) {
        let wrong = |manifest: &mut Self, what| manifest.damage.push((manifest.lines, what));
        let Some(sealed) = SealedLine::parse(line) else {
            return wrong(self, "it cannot be read");
        };
        // A checkpoint replaces lines that were deleted; the next line follows the last of those.
        let follows = match LineKind::of(line) {
            Some(LineKind::Checkpoint) => Hash::NONE,
            _ => self.last,
        };
        if !sealed.follows(&follows) {
            wrong(self, "it does not follow the line before it");
        }
        // A checkpoint comes before older lines, which are unsigned if there was no key then.
        let is_checkpoint = LineKind::of(line) == Some(LineKind::Checkpoint);
        self.look_at_signature(&sealed, &follows, is_checkpoint);
        self.last = sealed.hash;
        self.tick = last_tick(line).unwrap_or(self.tick).max(self.tick);
        match serde_json::from_slice(line) {
            Ok(said) => self.apply(said, &sealed),
            Err(_) => wrong(self, "it cannot be read"),
        }
    }

    fn look_at_signature(&mut self, line: &SealedLine<'_>, follows: &Hash, is_checkpoint: bool) {
        if !line.is_signed() {
            if self.signatures.signed > 0 {
                self.damage.push((self.lines, "it was written without the key"));
            }
            return;
        }
        let is_wrong = |key: &SigningKey| line.is_signed_with(key, follows) == Some(false);
        self.signatures.last_is_wrong = self.key.as_ref().is_some_and(is_wrong);
        if self.signatures.last_is_wrong {
            self.signatures.wrong.push(self.lines);
        }
        self.signatures.signed += u64::from(!is_checkpoint);
    }

    /// Checks whether this process may continue the chain: signed lines must be followed by lines signed with the same
    /// key.
    pub(crate) fn may_write(&self) -> Result<(), Error> {
        let path = || self.path.clone();
        match (&self.key, &self.signatures) {
            (None, Signatures { signed: 1.., .. }) => Err(Error::KeyMissing { path: path() }),
            (Some(_), Signatures { last_is_wrong: true, .. }) => {
                Err(Error::WrongKey { path: path() })
            }
            _ => Ok(()),
        }
    }

    fn apply(&mut self, said: ManifestLine, line: &SealedLine<'_>) {
        let hash = line.hash;
        let ManifestLine { opened, sealed, dropped, removed, sha256, checkpoint, follows, end } =
            said;
        if let Some(next) = checkpoint {
            self.next = self.next.max(next);
            self.last = follows.as_deref().and_then(Hash::parse).unwrap_or(hash);
        }
        if let Some(number) = opened {
            self.next = self.next.max(number + 1);
            self.entries.push(ManifestEntry {
                number,
                opened: hash,
                began: self.tick,
                end: None,
                dropped: false,
                is_signed: line.is_signed(),
                removed: Vec::new(),
            });
        }
        if let Some(entry) = sealed.and_then(|number| self.entry(number)) {
            entry.end = end;
        }
        if let Some(entry) = dropped.and_then(|number| self.entry(number)) {
            entry.dropped = true;
        }
        if let Some(entry) = removed.and_then(|number| self.entry(number)) {
            entry.removed.extend(sha256);
        }
    }

    fn entry(&mut self, number: u64) -> Option<&mut ManifestEntry> {
        self.entries.iter_mut().rev().find(|entry| entry.number == number)
    }

    /// Returns the segments that may still grow, newest first.
    pub(crate) fn unsealed(&self) -> Vec<ManifestEntry> {
        let is_unsealed = |entry: &&ManifestEntry| entry.end.is_none() && !entry.dropped;
        self.entries.iter().rev().filter(is_unsealed).cloned().collect()
    }

    /// Returns the segments whose files exist.
    pub(crate) fn kept(&self) -> impl Iterator<Item = &ManifestEntry> {
        self.entries.iter().filter(|entry| !entry.dropped)
    }

    /// Begins the segment with the next number. Returns the hash that its header follows.
    pub(crate) fn begin(&mut self, guard: &StoreLock) -> Result<Hash, Error> {
        let body = LineBody::new("opened", self.next).at(SystemTime::now());
        self.append(body.with("process", std::process::id()), guard)?;
        Ok(self.last)
    }

    /// Records the content of a segment when it is sealed.
    pub(crate) fn seal(
        &mut self,
        number: u64,
        end: &SegmentEnd,
        guard: &StoreLock,
    ) -> Result<(), Error> {
        let SegmentEnd { lines, bytes, last, until, at } = end;
        let end = serde_json::json!({"lines": lines, "bytes": bytes, "last": last, "until": until, "at": at});
        let body = LineBody::new("sealed", number).at(SystemTime::now()).with("end", end);
        self.append(body, guard)
    }

    /// Records that a segment was dropped, and why.
    pub(crate) fn drop_segment(
        &mut self,
        number: u64,
        why: &str,
        guard: &StoreLock,
    ) -> Result<(), Error> {
        let body = LineBody::new("dropped", number).at(SystemTime::now()).with("why", why);
        self.append(body, guard)
    }

    /// Records that lines of a segment lose their content, how many, and the SHA-256 of its text then. On disk before it happens:
    /// lines without content that the manifest does not vouch for look like tampering.
    pub(crate) fn remove_content(
        &mut self,
        number: u64,
        lines: u64,
        sha256: &str,
        guard: &StoreLock,
    ) -> Result<(), Error> {
        let body = LineBody::new("removed", number).at(SystemTime::now());
        let body = body.with("why", "tool_max_age").with("lines", lines).with("sha256", sha256);
        let sync = std::mem::replace(&mut self.sync, true);
        let written = self.append(body, guard);
        self.sync = sync;
        written
    }

    fn append(&mut self, mut body: LineBody, _held: &StoreLock) -> Result<(), Error> {
        self.may_write()?;
        let tried = Error::file("write", &self.path);
        let tick = microseconds(SystemTime::now()).max(self.tick + 1);
        _ = write!(body.0, ",\"tick\":{tick}");
        chain::seal(&mut body.0, 0, &self.last, self.key.as_ref());
        let length = body.0.len() as u64;
        write_whole(&self.path, self.good, &body.0, self.sync).map_err(tried)?;
        self.good += length;
        self.lines += 1;
        self.take(body.0.trim_ascii_end());
        Ok(())
    }

    /// Removes the lines about dropped segments, leaving a checkpoint where the chain continues.
    pub(crate) fn compact(&mut self, layout: &Layout, _held: &StoreLock) -> Result<(), Error> {
        let text = fs::read(&self.path).map_err(Error::file("read", &self.path))?;
        let oldest = self.kept().map(|entry| entry.number).min().unwrap_or(self.next);
        let about = |line: &[u8]| match serde_json::from_slice::<ManifestLine>(line) {
            Ok(said) => {
                said.opened.or(said.sealed).or(said.dropped).or(said.removed).or(said.checkpoint)
            }
            Err(_) => None,
        };
        // Only whole runs from the beginning can be removed: the rest of the chain stays as it was written.
        let lines: Vec<_> = text.split_inclusive(|byte| *byte == b'\n').collect();
        let gone = lines.iter().take_while(|line| about(line).is_some_and(|n| n < oldest)).count();
        let Some(last) =
            lines[..gone].last().and_then(|line| SealedLine::parse(line.trim_ascii_end()))
        else {
            return Ok(());
        };
        let mut body = LineBody::new("checkpoint", oldest).at(SystemTime::now());
        body = body.with("follows", last.hash.as_str());
        _ = write!(body.0, ",\"tick\":{}", self.tick);
        chain::seal(&mut body.0, 0, &Hash::NONE, self.key.as_ref());
        let mut kept = body.0;
        for line in &lines[gone..] {
            kept.extend_from_slice(line);
        }
        let fresh = layout.root.join("manifest.new");
        let written = private_files::create(&fresh).and_then(|mut file| file.write_all(&kept));
        written.map_err(Error::file("write", &fresh))?;
        fs::rename(&fresh, &self.path).map_err(Error::file("replace", &self.path))
    }
}

/// The kinds of lines in the manifest.
#[derive(Deserialize)]
struct ManifestLine {
    #[serde(default)]
    opened: Option<u64>,
    #[serde(default)]
    sealed: Option<u64>,
    #[serde(default)]
    dropped: Option<u64>,
    #[serde(default)]
    removed: Option<u64>,
    #[serde(default)]
    sha256: Option<String>,
    #[serde(default)]
    checkpoint: Option<u64>,
    #[serde(default)]
    follows: Option<String>,
    #[serde(default)]
    end: Option<SegmentEnd>,
}

/// Appends after the valid part, and removes what was written only in part.
fn write_whole(path: &Path, good: u64, line: &[u8], sync: bool) -> io::Result<()> {
    let mut file = private_files::open(File::options().create(true).append(true), path)?;
    if file.metadata()?.len() != good {
        file.set_len(good)?;
    }
    let mut written = file.write_all(line);
    if sync {
        written = written.and_then(|()| file.sync_data());
    }
    if written.is_err() {
        _ = file.set_len(good);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_dropped_can_be_forgotten_and_the_chain_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path());
        let guard = layout.lock().unwrap();
        let mut manifest = Manifest::read(&layout).unwrap();
        let end = SegmentEnd { lines: 1, bytes: 1, last: String::new(), until: 1, at: 1 };
        for _ in 0..5 {
            let number = manifest.next;
            manifest.begin(&guard).unwrap();
            manifest.seal(number, &end, &guard).unwrap();
        }
        for number in 1..=3 {
            manifest.drop_segment(number, "age", &guard).unwrap();
        }
        for _ in 0..2 {
            manifest.compact(&layout, &guard).unwrap();
            manifest = Manifest::read(&layout).unwrap();
            assert_eq!(manifest.damage, []);
            assert_eq!(manifest.kept().map(|entry| entry.number).collect::<Vec<_>>(), [4, 5]);
        }
        // A checkpoint, two lines for each that is left, and three that came after them.
        assert_eq!(manifest.lines, 8);
        assert_eq!(manifest.next, 6);
        let hash = manifest.begin(&guard).unwrap();
        let manifest = Manifest::read(&layout).unwrap();
        assert_eq!((manifest.damage.len(), manifest.last), (0, hash));
    }
}
