//! What is told of a call: the lines of the journal themselves, and where they stand.

use std::time::{Duration, UNIX_EPOCH};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};
use switchboard_toolcall::{CallId, ErrorKind};

use super::Node;
use crate::{
    line::{End, Line, Open},
    record::{Detail, Outcome, Place, Record},
};

/// How far a call was when it was told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// It is about to run.
    Begun,
    /// Its process died, and nobody knows how it ended.
    Unknown,
    /// It ended.
    Ended,
}

impl Stage {
    /// Every stage.
    pub const ALL: [Self; 3] = [Self::Begun, Self::Unknown, Self::Ended];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Begun => "begun",
            Self::Unknown => "unknown",
            Self::Ended => "ended",
        }
    }
}

/// What is told of a call at one of its stages; it holds what the earlier ones held.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Told {
    /// The call.
    pub id: CallId,
    /// How far it is.
    pub stage: Stage,
    /// Who tells.
    pub node: Node,
    begin: Box<RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end: Option<Box<RawValue>>,
    journal: Vec<Place>,
}

/// What a single value may have where the whole is too long.
const SHORT: usize = 4096;

impl Told {
    /// What the lines say; none where one of them is no JSON.
    pub(super) fn new(
        id: CallId,
        stage: Stage,
        node: Node,
        lines: Vec<(Vec<u8>, Place)>,
    ) -> Option<Self> {
        let (texts, journal): (Vec<_>, Vec<_>) = lines.into_iter().unzip();
        let raw = |text| RawValue::from_string(String::from_utf8(text).ok()?).ok();
        let mut texts = texts.into_iter().map(raw);
        let (begin, end) = (texts.next()??, texts.next());
        Some(Self { id, stage, node, begin, end: end.flatten(), journal })
    }

    /// As JSON of at most about `most` bytes: long values give way to a note.
    pub fn to_json(&self, most: usize) -> Vec<u8> {
        let write = |told: &Self| serde_json::to_vec(told).unwrap_or_default();
        let json = write(self);
        if json.len() <= most {
            return json;
        }
        let (begin, end) = (shortened(&self.begin), self.end.as_deref().map(shortened));
        write(&Self { begin, end, ..self.clone() })
    }

    /// All that is told of the call; none where a line is not to be understood.
    pub fn detail(&self) -> Option<Detail> {
        let Line::Open(open) = Line::parse(self.begin.get().as_bytes())? else { return None };
        let end = self.end.as_deref().map(|end| Line::parse(end.get().as_bytes()));
        let end = match end {
            Some(Some(Line::End(end))) => Some(end),
            Some(_) => return None,
            None => None,
        };
        let mut detail = Detail::of(self.record(&open, end.as_deref()));
        detail.lines.clone_from(&self.journal);
        if let Some(end) = end {
            detail.end(*end, None);
        }
        Some(detail)
    }

    fn record(&self, open: &Open<'_>, end: Option<&End<'_>>) -> Record {
        let found = end.and_then(|end| end.found.as_deref());
        let outcome = match (self.stage, end) {
            (_, Some(end)) => Outcome::parse(Some(&end.outcome)),
            (Stage::Unknown, None) => Outcome::Failed(ErrorKind::OutcomeUnknown),
            (_, None) => Outcome::Running,
        };
        // As exact as the store itself says it.
        let started = open.at.parse().map_or(0, |at: Timestamp| at.as_microsecond());
        let started = UNIX_EPOCH + Duration::from_micros(started.max(0).unsigned_abs());
        Record {
            id: open.id,
            tool: found.unwrap_or(&open.tool).to_owned(),
            server: end.and_then(|end| end.server.as_deref()).map(str::to_owned),
            caller: open.caller.as_deref().map(str::to_owned),
            client: open.client.as_deref().map(str::to_owned),
            conversation: open.conversation.as_deref().map(str::to_owned),
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

/// The line with a note in the place of each long value.
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
