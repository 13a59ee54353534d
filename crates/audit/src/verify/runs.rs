//! Checks that the files of runs are as the journal says.

use std::{
    collections::{HashMap, HashSet},
    fs, io,
};

use sha2::{Digest, Sha256};
use switchboard_toolcall::CallId;

use super::VerifyReport;
use crate::{
    error::Error,
    layout::Layout,
    line::{CallOfRun, LineKind, RunLine, RunsRemovedLine, hash_text, sha256},
    manifest::Manifest,
    segment::{SegmentFile, is_skipped, lines},
};

/// What the kept segments say of runs.
#[derive(Default)]
struct RunLines {
    /// The hashes of the files of runs that have ended; of one that was killed at its end there are several.
    ended: HashMap<CallId, Vec<String>>,
    /// When the last of those lines was written, in microseconds since 1970.
    written: HashMap<CallId, u64>,
    removed: HashSet<CallId>,
    /// The hashes of files up to their turns: several of a turn that was asked again after a crash.
    turns: HashMap<(CallId, u32), Vec<String>>,
    /// When the first line about a run was written: before that, none were.
    since: Option<u64>,
    /// Up to when segments were dropped, with what they said of runs.
    dropped: u64,
}

impl RunLines {
    fn read(layout: &Layout) -> Result<Self, Error> {
        let mut found = Self::default();
        let manifest = {
            let _guard = layout.lock()?;
            Manifest::read(layout)?
        };
        let dropped = manifest.entries.iter().filter(|entry| entry.dropped);
        let ends = dropped.filter_map(|entry| entry.end.as_ref());
        found.dropped = ends.map(|end| end.at.max(end.until)).max().unwrap_or_default();
        for entry in manifest.kept() {
            let text = SegmentFile::open(layout, entry.number).and_then(|mut file| file.read_all());
            match text {
                Ok(text) => lines(&text).for_each(|(_, line)| found.take(line)),
                // Reported where segments are checked.
                Err(error) if is_skipped(&error) => {}
                Err(error) => {
                    return Err(Error::file("read", &layout.segment(entry.number))(error));
                }
            }
        }
        Ok(found)
    }

    fn take(&mut self, line: &[u8]) {
        match LineKind::of(line) {
            Some(LineKind::Run) => {
                let Ok(run) = serde_json::from_slice::<RunLine>(line) else { return };
                self.ended.entry(run.id).or_default().push(run.sha256);
                let written = self.written.entry(run.id).or_default();
                *written = run.tick.max(*written);
                self.since = Some(self.since.map_or(run.tick, |since| since.min(run.tick)));
            }
            // A short look: most calls are of no run.
            Some(LineKind::Open) if memchr::memmem::find(line, b"\"turn_sha256\":").is_some() => {
                let Ok(call) = serde_json::from_slice::<CallOfRun<'_>>(line) else { return };
                if let (Some(run), Some(turn), Some(hash)) = (call.run, call.turn, call.turn_sha256)
                {
                    let hashes = self.turns.entry((run, turn)).or_default();
                    if !hashes.iter().any(|known| known == hash) {
                        hashes.push(hash.to_owned());
                    }
                }
            }
            Some(LineKind::RunsRemoved) => {
                let Ok(removed) = serde_json::from_slice::<RunsRemovedLine>(line) else { return };
                self.removed.extend(removed.ids);
            }
            _ => {}
        }
    }

    /// Whether a run began when there were lines about runs, none of which was dropped since.
    fn covers(&self, id: CallId) -> bool {
        // The first 48 bits of an id are the time in milliseconds.
        let began = u64::try_from(id.number() >> 80).unwrap_or_default().saturating_mul(1000);
        self.since.is_some_and(|since| began > since) && began > self.dropped
    }

    /// Returns the first turn up to which the file of a run that goes on is not as it was when a call of that turn began.
    fn altered_turn(&self, layout: &Layout, id: CallId) -> Result<Option<u32>, Error> {
        let path = layout.live_run(id);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::file("read", &path)(error)),
        };
        let (mut hash, mut turn) = (Sha256::new(), 0);
        for (_, line) in lines(&text) {
            hash.update(line);
            hash.update(b"\n");
            if line.starts_with(b"{\"turn\":") {
                turn += 1;
                let now = hash_text(hash.clone());
                if self.turns.get(&(id, turn)).is_some_and(|hashes| !hashes.contains(&now)) {
                    return Ok(Some(turn));
                }
            }
        }
        // The line of a call is written before that of its turn, so the last may be missing after a kill.
        let last = self.turns.keys().filter(|(run, _)| *run == id).map(|(_, turn)| *turn).max();
        Ok(last.filter(|last| *last > turn + 1).map(|_| turn + 1))
    }

    /// Returns what is wrong with the file of a run.
    fn fault(&self, layout: &Layout, id: CallId) -> Result<Option<&'static str>, Error> {
        let path = layout.run(id);
        let content = match fs::read(&path) {
            Ok(content) => content,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let was_there = self.written.get(&id).is_some_and(|at| *at > self.dropped);
                // Its process may have been killed between the line and the file: then the run goes on.
                let is_gone =
                    was_there && !self.removed.contains(&id) && !layout.live_run(id).exists();
                return Ok(is_gone.then_some("it is missing"));
            }
            Err(error) => return Err(Error::file("read", &path)(error)),
        };
        Ok(match self.ended.get(&id) {
            Some(hashes) if hashes.contains(&sha256(&content)) => None,
            Some(_) => Some("it was altered"),
            None => self.covers(id).then_some("no line of the journal speaks of it"),
        })
    }
}

/// Checks the file of every run.
pub(super) fn check(layout: &Layout, report: &mut VerifyReport) -> Result<(), Error> {
    // Listed before the journal is read: what is added meanwhile has its line first.
    let files = named(layout, ".json")?;
    let said = RunLines::read(layout)?;
    let all: HashSet<CallId> = files.iter().chain(said.ended.keys()).copied().collect();
    let mut all: Vec<CallId> = all.into_iter().collect();
    all.sort_unstable();
    // What is wrong is looked at again with what was written meanwhile: retention may just have removed it.
    let mut again = None;
    for id in all {
        report.runs += u64::from(files.contains(&id));
        if said.fault(layout, id)?.is_none() {
            continue;
        }
        let now = match &again {
            Some(now) => now,
            None => again.insert(RunLines::read(layout)?),
        };
        if let Some(what) = now.fault(layout, id)? {
            report.wrong(&layout.run(id), None, what);
        }
    }
    // Listed after the journal was read: each has the turns that it speaks of, but for the last.
    for id in named(layout, ".live")? {
        if let Some(turn) = said.altered_turn(layout, id)? {
            report.wrong(
                &layout.live_run(id),
                None,
                format!("it was altered before turn {turn} ended"),
            );
        }
    }
    Ok(())
}

/// Returns the runs whose files have names that end like this.
fn named(layout: &Layout, end: &str) -> Result<HashSet<CallId>, Error> {
    let folder = layout.runs();
    let files = match fs::read_dir(&folder) {
        Ok(files) => files,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(HashSet::new()),
        Err(error) => return Err(Error::file("read", &folder)(error)),
    };
    let names = files.filter_map(|file| file.ok()?.file_name().into_string().ok());
    Ok(names.filter_map(|name| CallId::parse(name.strip_suffix(end)?)).collect())
}
