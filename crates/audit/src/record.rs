//! Records as they are read back.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser::SerializeMap};
use serde_json::value::RawValue;
use switchboard_runtime::{Approval, record::Stages};
use switchboard_toolcall::{Artifact, CallId, Content, ErrorKind, ReuseReason, RunTurn};

use crate::{
    chain::Hash,
    export::StoreNode,
    line::{EndLine, StagesNs},
};

/// One call, in short. Serializes as `switchboard calls --json` shows it (SPEC RC-2).
#[derive(Clone, Debug)]
pub struct Record {
    /// The id of the execution, the envelope's `call_id`.
    pub id: CallId,
    /// The tool's name.
    pub tool: String,
    /// The server that the tool belongs to.
    pub server: Option<String>,
    /// The caller.
    pub caller: Option<String>,
    /// The client program, as it names itself.
    pub client: Option<String>,
    /// The conversation it was part of.
    pub conversation: Option<String>,
    /// The turn of a run that made it, as its key says: over a network, the word of a client.
    pub run: Option<RunTurn>,
    /// The profile through which it was called.
    pub profile: Option<String>,
    /// What that profile calls the tool, if that differs.
    pub shown_as: Option<String>,
    /// The arguments as JSON, secrets redacted.
    pub arguments: String,
    /// How it ended.
    pub outcome: CallOutcome,
    /// How long it took if known.
    pub duration: Option<Duration>,
    /// When it began.
    pub started: SystemTime,
    /// How large its result was, in bytes of JSON or text.
    pub bytes: Option<u64>,
    /// How an existing result was reused, if it was.
    pub reused: Option<ReuseReason>,
    /// The node that made the call, if records of several are read.
    pub node: Option<StoreNode>,
}

/// How a call ended, if it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// A running process holds it.
    Running,
    /// It succeeded.
    Ok,
    /// It failed, or its outcome is unknown.
    Failed(ErrorKind),
}

impl CallOutcome {
    /// Returns `running`, `ok`, or the code of the error.
    pub fn code(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Ok => "ok",
            Self::Failed(kind) => kind.code(),
        }
    }

    /// Parses the outcome of a record; an error kind of a later version is `internal`.
    pub(crate) fn parse(code: Option<&str>) -> Self {
        match code {
            None => Self::Running,
            Some("ok") => Self::Ok,
            Some(kind) => Self::Failed(kind.parse().unwrap_or(ErrorKind::Internal)),
        }
    }

    /// Returns the kind of error, if it failed.
    pub fn error_kind(self) -> Option<ErrorKind> {
        match self {
            Self::Failed(kind) => Some(kind),
            _ => None,
        }
    }
}

/// Everything known of one call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CallDetail {
    /// The call in short.
    pub record: Record,
    /// The result as JSON, secrets redacted, if it succeeded and results are recorded.
    pub result: Option<String>,
    /// Whether the result was content parts.
    pub is_content: bool,
    /// Whether the result is only the beginning of what the caller got: the whole of it was deleted.
    pub(crate) is_head: bool,
    /// A person's decision, if one was asked.
    pub approval: Option<Approval>,
    /// The failure as the model read it.
    pub error: Option<String>,
    /// The hint that was shown with it.
    pub hint: Option<String>,
    /// What caused the failure, outermost first.
    pub causes: Vec<String>,
    /// How long each stage took.
    pub stages: Option<Stages>,
    /// Whether text was truncated.
    pub truncated: bool,
    /// What is stored besides the record.
    pub artifacts: Vec<Artifact>,
    /// The positions of its lines in the journal: the start, and the end if there is one.
    pub lines: Vec<LinePosition>,
}

impl CallDetail {
    /// Creates the detail of a call that has not ended.
    pub fn of(record: Record) -> Self {
        Self {
            record,
            result: None,
            is_content: false,
            is_head: false,
            approval: None,
            error: None,
            hint: None,
            causes: Vec::new(),
            stages: None,
            truncated: false,
            artifacts: Vec::new(),
            lines: Vec::new(),
        }
    }

    /// Returns the text of a result of content parts (SPEC RS-3); any other result is read as it is.
    pub fn text(&self) -> Option<String> {
        let json = self.result.as_deref().filter(|_| self.is_content)?;
        let object = serde_json::from_str(json).ok()?;
        Content::from_object(object).ok().map(|content| content.text(&[]))
    }

    /// Adds the call's last line; `whole` is a result that was too long for it.
    pub(crate) fn end(&mut self, end: EndLine<'_>, whole: Option<String>) {
        // If the whole was collected, its head is shown as text.
        let head = || end.result_head.as_ref().map(|head| serde_json::json!(head).to_string());
        self.is_head = end.result.is_none() && whole.is_none() && end.result_head.is_some();
        self.result = end.result.map(|json| json.get().to_owned()).or(whole).or_else(head);
        self.is_content = end.content;
        self.approval = end.approval;
        self.error = end.error.map(Into::into);
        self.hint = end.hint.map(Into::into);
        self.causes = end.causes;
        self.truncated = end.truncated;
        self.artifacts = end.artifacts;
        self.stages = end.stages_ns.and_then(StagesNs::read).map(|stages| Stages {
            open: Duration::from_nanos(stages.open),
            lookup: Duration::from_nanos(stages.lookup),
            check: Duration::from_nanos(stages.check),
            wait: Duration::from_nanos(stages.wait),
            run: Duration::from_nanos(stages.run),
            shape: Duration::from_nanos(stages.shape),
        });
    }
}

/// The position of a line, and its hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LinePosition {
    /// The segment's number.
    pub segment: u64,
    /// The line's number, from 1 if it was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Where the line begins, in bytes.
    pub offset: u64,
    /// The hash it carries.
    #[serde(serialize_with = "hash_text", deserialize_with = "text_hash")]
    pub hash: Hash,
    /// The hash of the line before, which it follows.
    #[serde(serialize_with = "hash_text", deserialize_with = "text_hash")]
    pub previous: Hash,
}

fn hash_text<S: Serializer>(hash: &Hash, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(hash.as_str())
}

fn text_hash<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Hash, D::Error> {
    let text = String::deserialize(deserializer)?;
    Hash::parse(&text).ok_or_else(|| de::Error::custom("this is not a hash of 64 hex digits"))
}

impl Record {
    fn entries<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("tool", &self.tool)?;
        map.serialize_entry("server", &self.server)?;
        map.serialize_entry("arguments", &json(&self.arguments))?;
        map.serialize_entry("outcome", self.outcome.code())?;
        map.serialize_entry("error_kind", &self.outcome.error_kind())?;
        map.serialize_entry("duration_ms", &self.duration.map(milliseconds))?;
        let started = Timestamp::try_from(self.started).unwrap_or_default();
        map.serialize_entry("started", &started.to_string())?;
        let more = [
            ("caller", &self.caller),
            ("client", &self.client),
            ("conversation", &self.conversation),
            ("profile", &self.profile),
            ("shown_as", &self.shown_as),
        ];
        for (key, value) in more.into_iter().filter(|(_, value)| value.is_some()) {
            map.serialize_entry(key, value)?;
        }
        if let Some(bytes) = self.bytes {
            map.serialize_entry("bytes", &bytes)?;
        }
        if let Some(reused) = self.reused {
            map.serialize_entry("reused", &reused)?;
        }
        if let Some(node) = &self.node {
            map.serialize_entry("node", node)?;
        }
        Ok(())
    }
}

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.entries(&mut map)?;
        map.end()
    }
}

impl Serialize for CallDetail {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.record.entries(&mut map)?;
        if let Some(result) = &self.result {
            map.serialize_entry("result", &json(result))?;
        }
        for (key, value) in [("error", &self.error), ("hint", &self.hint)] {
            if let Some(value) = value {
                map.serialize_entry(key, value)?;
            }
        }
        if let Some(approval) = &self.approval {
            map.serialize_entry("approval", approval)?;
        }
        if !self.causes.is_empty() {
            map.serialize_entry("causes", &self.causes)?;
        }
        if let Some(stages) = &self.stages {
            let Stages { open, lookup, check, wait, run, shape } = *stages;
            let names = ["open", "lookup", "check", "wait", "run", "shape"];
            let times = [open, lookup, check, wait, run, shape].map(milliseconds);
            let stages: serde_json::Map<_, _> = names
                .iter()
                .zip(times)
                .map(|(name, time)| ((*name).to_owned(), time.into()))
                .collect();
            map.serialize_entry("stages_ms", &stages)?;
        }
        if self.truncated {
            map.serialize_entry("truncated", &true)?;
        }
        if !self.artifacts.is_empty() {
            map.serialize_entry("artifacts", &self.artifacts)?;
        }
        map.serialize_entry("journal", &self.lines)?;
        map.end()
    }
}

/// Text that is JSON, as such.
fn json(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e6
}
