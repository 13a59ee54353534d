//! Parses lines.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use switchboard_runtime::Approval;
use switchboard_toolcall::{Artifact, CallId, ReuseReason, RunTurn};

/// The kind of a line: its first key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineKind {
    Segment,
    Open,
    End,
    Unknown,
    Run,
    RunsRemoved,
    Removed,
    Torn,
    Rest,
    Sealed,
    Opened,
    Dropped,
    Checkpoint,
}

impl LineKind {
    /// Returns the kind of a line, or `None` if its first key is unknown.
    pub(crate) fn of(line: &[u8]) -> Option<Self> {
        let key = line.strip_prefix(b"{\"")?;
        let end = key.iter().take(16).position(|byte| *byte == b'"')?;
        Some(match &key[..end] {
            b"segment" => Self::Segment,
            b"open" => Self::Open,
            b"end" => Self::End,
            b"unknown" => Self::Unknown,
            b"run" => Self::Run,
            b"runs_removed" => Self::RunsRemoved,
            b"removed" => Self::Removed,
            b"torn" => Self::Torn,
            b"rest" => Self::Rest,
            b"sealed" => Self::Sealed,
            b"opened" => Self::Opened,
            b"dropped" => Self::Dropped,
            b"checkpoint" => Self::Checkpoint,
            _ => return None,
        })
    }
}

/// Returns the call id of a line without parsing the rest.
pub(crate) fn first_id(line: &[u8]) -> Option<CallId> {
    let (_, rest) = std::str::from_utf8(line.get(..48.min(line.len()))?).ok()?.split_once(":\"")?;
    CallId::parse(rest.split_once('"')?.0)
}

/// Returns the tick of a line, which comes just before its hash.
pub(crate) fn last_tick(line: &[u8]) -> Option<u64> {
    // `,"hash":"…64…"}` is 75 bytes, `,"tick":` and a number come before it.
    let end = line.len().checked_sub(75)?;
    let text = std::str::from_utf8(line.get(end.saturating_sub(40)..end)?).ok()?;
    text.rsplit_once(",\"tick\":")?.1.parse().ok()
}

/// A line that says something about a call.
pub(crate) enum JournalLine<'a> {
    Open(Box<OpenLine<'a>>),
    End(Box<EndLine<'a>>),
    Unknown(CallId),
    /// Housekeeping, and kinds of a later version.
    Other,
}

/// The beginning of a call.
#[derive(Deserialize)]
pub(crate) struct OpenLine<'a> {
    #[serde(rename = "open")]
    pub(crate) id: CallId,
    #[serde(borrow)]
    pub(crate) at: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) tool: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) arguments: &'a RawValue,
    #[serde(borrow, default)]
    pub(crate) caller: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) client: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) conversation: Option<Cow<'a, str>>,
    /// The run that made it; lines of older versions do not say it.
    #[serde(default)]
    pub(crate) run: Option<CallId>,
    /// The turn of that run.
    #[serde(default)]
    pub(crate) turn: Option<u32>,
    #[serde(borrow, default)]
    pub(crate) profile: Option<Cow<'a, str>>,
    /// What the profile calls the tool, if that differs.
    #[serde(borrow, default)]
    pub(crate) shown_as: Option<Cow<'a, str>>,
    pub(crate) tick: u64,
}

/// The end of a call.
#[derive(Deserialize)]
pub(crate) struct EndLine<'a> {
    #[serde(rename = "end")]
    pub(crate) id: CallId,
    #[serde(borrow)]
    pub(crate) outcome: Cow<'a, str>,
    pub(crate) duration_ns: u64,
    #[serde(borrow, default)]
    pub(crate) server: Option<Cow<'a, str>>,
    /// The name of the tool that was found if it is not the name that was asked for.
    #[serde(borrow, default)]
    pub(crate) found: Option<Cow<'a, str>>,
    /// Parsed on demand.
    #[serde(borrow, default)]
    pub(crate) stages_ns: Option<&'a RawValue>,
    #[serde(default)]
    pub(crate) reused: Option<ReuseReason>,
    #[serde(default)]
    pub(crate) approval: Option<Approval>,
    #[serde(default)]
    pub(crate) bytes: u64,
    #[serde(borrow, default)]
    pub(crate) result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) result_head: Option<Cow<'a, str>>,
    #[serde(default)]
    pub(crate) content: bool,
    #[serde(default)]
    pub(crate) whole: Option<String>,
    #[serde(borrow, default)]
    pub(crate) error: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) hint: Option<Cow<'a, str>>,
    #[serde(default)]
    pub(crate) causes: Vec<String>,
    #[serde(default)]
    pub(crate) truncated: bool,
    #[serde(default)]
    pub(crate) artifacts: Vec<Artifact>,
}

/// How long each stage took, in nanoseconds.
#[derive(Clone, Copy, Deserialize)]
pub(crate) struct StagesNs {
    pub(crate) open: u64,
    pub(crate) lookup: u64,
    pub(crate) check: u64,
    pub(crate) wait: u64,
    pub(crate) run: u64,
    pub(crate) shape: u64,
}

impl StagesNs {
    /// Reads what a line says of the stages.
    pub(crate) fn read(json: &RawValue) -> Option<Self> {
        serde_json::from_str(json.get()).ok()
    }
}

impl OpenLine<'_> {
    /// Returns the turn of a run that made the call.
    pub(crate) fn run_turn(&self) -> Option<RunTurn> {
        Some(RunTurn { run: self.run?, turn: self.turn? })
    }
}

#[derive(Deserialize)]
struct UnknownLine {
    unknown: CallId,
}

impl<'a> JournalLine<'a> {
    /// Parses a line; returns `None` if it does not have the fields of its kind.
    pub(crate) fn parse(line: &'a [u8]) -> Option<Self> {
        Some(match LineKind::of(line) {
            Some(LineKind::Open) => Self::Open(Box::new(serde_json::from_slice(line).ok()?)),
            Some(LineKind::End) => Self::End(Box::new(serde_json::from_slice(line).ok()?)),
            Some(LineKind::Unknown) => {
                Self::Unknown(serde_json::from_slice::<UnknownLine>(line).ok()?.unknown)
            }
            _ => Self::Other,
        })
    }
}
