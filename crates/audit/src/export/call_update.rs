//! An exported update: the journal's own lines of a call, and their positions.

use std::{
    borrow::Cow,
    time::{Duration, UNIX_EPOCH},
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};
use switchboard_toolcall::{CallId, ErrorKind};

use super::StoreNode;
use crate::{
    line::{EndLine, JournalLine, OpenLine},
    record::{CallDetail, CallOutcome, LinePosition, Record},
};

/// How far a call was when it was exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallStage {
    /// It is about to run.
    #[serde(rename = "begun")]
    Started,
    /// Its process died, and nobody knows how it ended.
    Unknown,
    /// It ended.
    Ended,
}

impl CallStage {
    /// Every stage.
    pub const ALL: [Self; 3] = [Self::Started, Self::Unknown, Self::Ended];

    /// Returns its name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Started => "begun",
            Self::Unknown => "unknown",
            Self::Ended => "ended",
        }
    }
}

/// A call at one of its stages; a later stage contains the earlier ones.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CallUpdate {
    /// The call.
    pub id: CallId,
    /// How far it is.
    pub stage: CallStage,
    /// The store it comes from.
    pub node: StoreNode,
    begin: Box<RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end: Option<Box<RawValue>>,
    journal: Vec<LinePosition>,
}

/// The most bytes of a value if the whole is too long.
const SHORT: usize = 4096;
/// The most bytes of what is around the lines.
const ENVELOPE: usize = 2048;

impl CallUpdate {
    /// Creates an update from lines; returns `None` if one of them is not JSON.
    pub(super) fn new(
        id: CallId,
        stage: CallStage,
        node: StoreNode,
        lines: Vec<(Vec<u8>, LinePosition)>,
    ) -> Option<Self> {
        let (texts, journal): (Vec<_>, Vec<_>) = lines.into_iter().unzip();
        let raw = |text| RawValue::from_string(String::from_utf8(text).ok()?).ok();
        let mut texts = texts.into_iter().map(raw);
        let (begin, end) = (texts.next()??, texts.next());
        Some(Self { id, stage, node, begin, end: end.flatten(), journal })
    }

    /// Returns JSON of at most about `most` bytes: notes replace long values.
    pub fn to_json(&self, most: usize) -> Vec<u8> {
        serde_json::to_vec(&*self.within(most)).unwrap_or_default()
    }

    /// Returns the update with at most about `most` bytes: notes replace long values.
    pub fn within(&self, most: usize) -> Cow<'_, Self> {
        let lines = self.begin.get().len() + self.end.as_ref().map_or(0, |end| end.get().len());
        if lines + ENVELOPE <= most {
            return Cow::Borrowed(self);
        }
        let (begin, end) = (shortened(&self.begin), self.end.as_deref().map(shortened));
        Cow::Owned(Self { begin, end, ..self.clone() })
    }

    /// Parses the lines; returns `None` if one is damaged.
    pub fn detail(&self) -> Option<CallDetail> {
        let JournalLine::Open(open) = JournalLine::parse(self.begin.get().as_bytes())? else {
            return None;
        };
        let end = self.end.as_deref().map(|end| JournalLine::parse(end.get().as_bytes()));
        let end = match end {
            Some(Some(JournalLine::End(end))) => Some(end),
            Some(_) => return None,
            None => None,
        };
        let mut detail = CallDetail::of(self.record(&open, end.as_deref()));
        detail.lines.clone_from(&self.journal);
        if let Some(end) = end {
            detail.end(*end, None);
        }
        Some(detail)
    }

    fn record(&self, open: &OpenLine<'_>, end: Option<&EndLine<'_>>) -> Record {
        let found = end.and_then(|end| end.found.as_deref());
        let outcome = match (self.stage, end) {
            (_, Some(end)) => CallOutcome::parse(Some(&end.outcome)),
            (CallStage::Unknown, None) => CallOutcome::Failed(ErrorKind::OutcomeUnknown),
            (_, None) => CallOutcome::Running,
        };
        // As exact as the store has it.
        let started = open.at.parse().map_or(0, |at: Timestamp| at.as_microsecond());
        let started = UNIX_EPOCH + Duration::from_micros(started.max(0).unsigned_abs());
        Record {
            id: open.id,
            tool: found.unwrap_or(&open.tool).to_owned(),
            server: end.and_then(|end| end.server.as_deref()).map(str::to_owned),
            caller: open.caller.as_deref().map(str::to_owned),
            client: open.client.as_deref().map(str::to_owned),
            conversation: open.conversation.as_deref().map(str::to_owned),
            run: open.run_turn(),
            profile: open.profile.as_deref().map(str::to_owned),
            shown_as: open.shown_as.as_deref().map(str::to_owned),
            arguments: open.arguments.get().to_owned(),
            outcome,
            duration: end.map(|end| Duration::from_nanos(end.duration_ns)),
            started,
            bytes: end.map(|end| end.bytes),
            reused: end.and_then(|end| end.reused),
            node: Some(self.node.clone()),
        }
    }
}

/// Replaces each long value by a note.
fn shortened(line: &RawValue) -> Box<RawValue> {
    let Ok(mut line) = serde_json::from_str::<Map<String, Value>>(line.get()) else {
        return line.to_owned();
    };
    line.retain(|key, value| {
        let length = value.to_string().len();
        if length <= SHORT {
            return true;
        }
        let note = format!("({length} bytes, which only the node's own journal has)");
        *value = Value::String(note);
        // Of the others a text could not stand in their place.
        matches!(&**key, "arguments" | "result" | "result_head" | "error" | "hint" | "tool")
    });
    serde_json::value::to_raw_value(&line).unwrap_or_else(|_| RawValue::NULL.to_owned())
}
