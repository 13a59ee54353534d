//! Reads a whole segment and checks its chain.

use std::collections::BTreeSet;

use serde::Deserialize;
use switchboard_toolcall::CallId;

use crate::{
    chain::{Hash, SealedLine},
    line::{LineKind, first_id, last_tick},
};

/// The result of scanning a segment.
pub(crate) struct SegmentScan {
    /// How many lines are valid: all but a torn tail.
    pub(crate) lines: u64,
    /// Where those lines end.
    pub(crate) length: u64,
    pub(crate) last: Hash,
    pub(crate) tick: u64,
    pub(crate) began: u64,
    /// Calls that began and did not end.
    pub(crate) open: BTreeSet<CallId>,
    /// How many calls began here.
    pub(crate) calls: u64,
    /// How many lines lost their content.
    pub(crate) removed: u64,
    /// Lines that were altered or damaged.
    pub(crate) faults: Vec<ScanFault>,
    /// Whether the last line marks a clean end, or that the segment is sealed.
    pub(crate) ended_well: bool,
}

/// An altered or damaged line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScanFault {
    /// The line's number, from 1.
    pub(crate) line: u64,
    /// Where it begins, in bytes.
    pub(crate) offset: u64,
    /// What is wrong with it.
    pub(crate) what: &'static str,
}

/// Returns the complete lines, each with its offset, without the newline.
pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let mut from = 0;
    memchr::memchr_iter(b'\n', text).map(move |end| {
        let begin = std::mem::replace(&mut from, end + 1);
        (begin as u64, &text[begin..end])
    })
}

impl SegmentScan {
    /// Scans the text of a segment whose header follows `opened`.
    pub(crate) fn of(text: &[u8], opened: Hash) -> Self {
        let mut scan = Self {
            lines: 0,
            length: 0,
            last: opened,
            tick: 0,
            began: 0,
            open: BTreeSet::new(),
            calls: 0,
            removed: 0,
            faults: Vec::new(),
            ended_well: false,
        };
        let (mut number, mut previous) = (0, Some(opened));
        for (offset, line) in lines(text) {
            number += 1;
            let sealed = SealedLine::parse(line);
            let what = match (&sealed, &previous) {
                (None, _) => Some("it cannot be read"),
                (Some(sealed), Some(previous)) if !sealed.follows(previous) => {
                    Some("it was altered, or does not follow the line before it")
                }
                _ => None,
            };
            match what {
                // An error at the very end is a torn tail; before valid lines it is damage.
                Some(what) => scan.faults.push(ScanFault { line: number, offset, what }),
                None => scan.take(line, number, offset),
            }
            // The next line is checked against this one's own hash, if it has one.
            previous = sealed.map(|sealed| sealed.hash);
            if what.is_none() {
                scan.last = previous.unwrap_or(scan.last);
            }
        }
        scan.faults.retain(|fault| fault.offset < scan.length);
        scan
    }

    fn take(&mut self, line: &[u8], number: u64, offset: u64) {
        self.lines = number;
        self.length = offset + line.len() as u64 + 1;
        self.tick = last_tick(line).unwrap_or(self.tick).max(self.tick);
        let kind = LineKind::of(line);
        self.ended_well = matches!(kind, Some(LineKind::Rest | LineKind::Sealed));
        match (kind, first_id(line)) {
            (Some(LineKind::Open), Some(id)) => {
                self.calls += 1;
                self.open.insert(id);
            }
            (Some(LineKind::Removed), _) => self.removed += 1,
            (Some(LineKind::End | LineKind::Unknown), Some(id)) => _ = self.open.remove(&id),
            (Some(LineKind::Segment), _) => {
                self.began = self.tick;
                let header = serde_json::from_slice::<SegmentHeader>(line);
                self.open.extend(header.into_iter().flat_map(|header| header.carried));
            }
            _ => {}
        }
    }
}

#[derive(Deserialize)]
struct SegmentHeader {
    #[serde(default)]
    carried: Vec<CallId>,
}
