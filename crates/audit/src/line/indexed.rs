//! Reads the fields of a line that the index keeps, without parsing the others.
//!
//! An optimisation: a second parser beside [`JournalLine::parse`], for lines as this crate writes them. With rows that are
//! written sixteen at a time, it took feeding the index from 6.2 to 2.7 µs per call (docs/performance.md). A line of any other form, such as one with an escape in a text, is
//! left to `parse`, and a property test holds both to the same answers.

use std::borrow::Cow;

use jiff::Timestamp;
use switchboard_toolcall::{Artifact, CallId, ReuseReason, RunTurn};

use super::{EndLine, JournalLine, LineKind, OpenLine, fields::LineFields};

/// Longer arguments stay in the journal alone.
const LONG: usize = 4096;
/// How much of longer arguments the index has, for lists: more than a terminal is wide.
const HEAD: usize = 512;

/// The part of a line that the index keeps.
pub(crate) enum IndexedLine<'a> {
    Open(IndexedOpen<'a>),
    End(IndexedEnd<'a>),
    Unknown(CallId),
    /// Housekeeping, and what cannot be read.
    Other,
}

/// The beginning of a call.
#[derive(Debug, PartialEq)]
pub(crate) struct IndexedOpen<'a> {
    pub(crate) id: CallId,
    /// Microseconds since 1970.
    pub(crate) started: i64,
    pub(crate) tool: Cow<'a, str>,
    pub(crate) caller: Option<Cow<'a, str>>,
    pub(crate) client: Option<Cow<'a, str>>,
    pub(crate) conversation: Option<Cow<'a, str>>,
    /// The turn of a run that made it.
    pub(crate) run: Option<RunTurn>,
    pub(crate) profile: Option<Cow<'a, str>>,
    /// What the profile calls the tool, if that differs.
    pub(crate) shown_as: Option<Cow<'a, str>>,
    /// As JSON; `None` if they are so long that only the journal has them.
    pub(crate) arguments: Option<Cow<'a, str>>,
    /// The beginning of such long arguments.
    pub(crate) head: Option<Cow<'a, str>>,
    pub(crate) tick: u64,
}

/// The end of a call.
#[derive(Debug, PartialEq)]
pub(crate) struct IndexedEnd<'a> {
    pub(crate) id: CallId,
    pub(crate) outcome: Cow<'a, str>,
    pub(crate) duration_ns: u64,
    pub(crate) server: Option<Cow<'a, str>>,
    pub(crate) found: Option<Cow<'a, str>>,
    pub(crate) reused: Option<ReuseReason>,
    pub(crate) bytes: u64,
    pub(crate) artifacts: Vec<Artifact>,
}

impl<'a> IndexedLine<'a> {
    /// Reads a line, by [`JournalLine::parse`] unless it has the form in which this crate writes lines.
    pub(crate) fn read(line: &'a [u8], clock: &mut TimeParser) -> Self {
        let brief = match LineKind::of(line) {
            Some(LineKind::Open) => begun(line, clock).map(Self::Open),
            Some(LineKind::End) => ended(line).map(Self::End),
            _ => None,
        };
        brief.unwrap_or_else(|| match JournalLine::parse(line) {
            Some(JournalLine::Open(open)) => Self::Open(IndexedOpen::of(*open, clock)),
            Some(JournalLine::End(end)) => Self::End((*end).into()),
            Some(JournalLine::Unknown(id)) => Self::Unknown(id),
            Some(JournalLine::Other) | None => Self::Other,
        })
    }
}

impl<'a> IndexedOpen<'a> {
    fn of(open: OpenLine<'a>, clock: &mut TimeParser) -> Self {
        let json = open.arguments.get().as_bytes();
        let run = open.run_turn();
        Self {
            id: open.id,
            run,
            started: clock.microseconds(&open.at),
            tool: open.tool,
            caller: open.caller,
            client: open.client,
            conversation: open.conversation,
            profile: open.profile,
            shown_as: open.shown_as,
            arguments: short(json),
            head: head(json),
            tick: open.tick,
        }
    }

    /// Returns by how many microseconds its tick is later than its start.
    pub(crate) fn lead(&self) -> i64 {
        i64::try_from(self.tick).unwrap_or(i64::MAX).saturating_sub(self.started)
    }

    /// Copies what is borrowed.
    pub(crate) fn into_owned(self) -> IndexedOpen<'static> {
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        IndexedOpen {
            id: self.id,
            started: self.started,
            tool: owned(self.tool),
            caller: self.caller.map(owned),
            client: self.client.map(owned),
            conversation: self.conversation.map(owned),
            run: self.run,
            profile: self.profile.map(owned),
            shown_as: self.shown_as.map(owned),
            arguments: self.arguments.map(owned),
            head: self.head.map(owned),
            tick: self.tick,
        }
    }
}

impl<'a> From<EndLine<'a>> for IndexedEnd<'a> {
    fn from(end: EndLine<'a>) -> Self {
        let EndLine { id, outcome, duration_ns, server, found, reused, bytes, artifacts, .. } = end;
        Self { id, outcome, duration_ns, server, found, reused, bytes, artifacts }
    }
}

/// Returns `None` if a field is missing or a text contains an escape.
fn begun<'a>(line: &'a [u8], clock: &mut TimeParser) -> Option<IndexedOpen<'a>> {
    let (mut id, mut at, mut tool, mut tick) = (None, None, None, None);
    let (mut caller, mut client, mut conversation) = (None, None, None);
    let (mut profile, mut shown_as) = (None, None);
    let (mut run, mut turn) = (None, None);
    let (mut arguments, mut beginning) = (None, None);
    for (key, value) in LineFields::of(line) {
        match key {
            b"open" => id = CallId::parse(text(value)?),
            b"at" => at = Some(text(value)?),
            b"tool" => tool = Some(text(value)?),
            b"caller" => caller = Some(text(value)?.into()),
            b"client" => client = Some(text(value)?.into()),
            b"conversation" => conversation = Some(text(value)?.into()),
            b"run" => run = Some(CallId::parse(text(value)?)?),
            b"turn" => turn = Some(u32::try_from(number(value)?).ok()?),
            b"profile" => profile = Some(text(value)?.into()),
            b"shown_as" => shown_as = Some(text(value)?.into()),
            b"arguments" => (arguments, beginning) = (short(value), head(value)),
            b"tick" => tick = number(value),
            _ => {}
        }
    }
    let (id, tool, tick) = (id?, tool?.into(), tick?);
    let (started, head) = (clock.microseconds(at?), beginning);
    Some(IndexedOpen {
        id,
        started,
        tool,
        caller,
        client,
        conversation,
        run: run.zip(turn).map(|(run, turn)| RunTurn { run, turn }),
        profile,
        shown_as,
        arguments,
        head,
        tick,
    })
}

fn ended(line: &[u8]) -> Option<IndexedEnd<'_>> {
    let (mut id, mut outcome, mut duration_ns, mut is_whole) = (None, None, None, false);
    let (mut server, mut found, mut reused, mut bytes) = (None, None, None, 0);
    let mut artifacts = Vec::new();
    for (key, value) in LineFields::of(line) {
        match key {
            b"end" => id = CallId::parse(text(value)?),
            b"outcome" => outcome = Some(text(value)?),
            b"duration_ns" => duration_ns = number(value),
            b"server" => server = Some(text(value)?.into()),
            b"found" => found = Some(text(value)?.into()),
            b"reused" => reused = serde_json::from_slice(value).ok()?,
            b"bytes" => bytes = number(value)?,
            b"artifacts" => artifacts = serde_json::from_slice(value).ok()?,
            // Every line has one, behind all that is read here.
            b"tick" => is_whole = true,
            _ => {}
        }
    }
    let (id, outcome, duration_ns) = (id?, outcome?.into(), duration_ns?);
    is_whole.then_some(IndexedEnd {
        id,
        outcome,
        duration_ns,
        server,
        found,
        reused,
        bytes,
        artifacts,
    })
}

/// Returns JSON unless it is too long for the index.
fn short(json: &[u8]) -> Option<Cow<'_, str>> {
    let text = (json.len() <= LONG).then(|| std::str::from_utf8(json));
    text?.ok().map(Cow::Borrowed)
}

/// Returns the beginning of JSON that is too long for the index.
fn head(json: &[u8]) -> Option<Cow<'_, str>> {
    let head = (json.len() > LONG).then(|| json.get(..HEAD))??;
    let whole = match std::str::from_utf8(head) {
        Ok(_) => head.len(),
        // The cut is within a character.
        Err(error) => error.valid_up_to(),
    };
    std::str::from_utf8(&head[..whole]).ok().map(Cow::Borrowed)
}

/// Returns the text of a string without escapes.
fn text(value: &[u8]) -> Option<&str> {
    let inner = value.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    match memchr::memchr(b'\\', inner) {
        None => std::str::from_utf8(inner).ok(),
        Some(_) => None,
    }
}

/// Returns an unsigned integer.
fn number(value: &[u8]) -> Option<u64> {
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
    let (first, rest) = value.split_first()?;
    rest.iter().try_fold(digit(first)?, |sum, byte| sum.checked_mul(10)?.checked_add(digit(byte)?))
}

/// Parses times. Caches the last second, as many calls start within the same one.
#[derive(Default)]
pub(crate) struct TimeParser {
    second: String,
    began: i64,
}

impl TimeParser {
    /// Returns microseconds since 1970, or 0 if the text is not a time.
    fn microseconds(&mut self, at: &str) -> i64 {
        self.quick(at).unwrap_or_else(|| at.parse().map_or(0, |at: Timestamp| at.as_microsecond()))
    }

    /// Parses `2026-07-28T10:00:00.123456789Z`, with any number of digits behind the second.
    fn quick(&mut self, at: &str) -> Option<i64> {
        let (second, fraction) = at.strip_suffix('Z')?.split_at_checked(19)?;
        if second != self.second {
            let began = format!("{second}Z").parse::<Timestamp>().ok()?;
            (self.second, self.began) = (second.to_owned(), began.as_microsecond());
        }
        let digits = match fraction.strip_prefix('.') {
            Some(digits) if !digits.is_empty() => digits.as_bytes(),
            None if fraction.is_empty() => &[],
            _ => return None,
        };
        let mut unit = 1_000_000;
        let mut sum = 0;
        for byte in digits {
            unit /= 10;
            sum += i64::from(byte.is_ascii_digit().then(|| byte - b'0')?) * unit;
        }
        Some(self.began + sum)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    use super::*;

    const ID: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    const TAIL: &str = "\"tick\":7,\"hash\":\"0\"}";

    /// Reads a line both ways, and returns whether the quick one knew it.
    fn check(fields: &str) -> bool {
        let line = format!("{{{fields},{TAIL}");
        let clock = &mut TimeParser::default();
        match JournalLine::parse(line.as_bytes()) {
            Some(JournalLine::Open(open)) => {
                let whole = IndexedOpen::of(*open, clock);
                begun(line.as_bytes(), clock).is_some_and(|quick| {
                    assert_eq!(quick, whole, "{line}");
                    true
                })
            }
            Some(JournalLine::End(end)) => {
                let whole = IndexedEnd::from(*end);
                ended(line.as_bytes()).is_some_and(|quick| {
                    assert_eq!(quick, whole, "{line}");
                    true
                })
            }
            _ => panic!("no line of a call: {line}"),
        }
    }

    #[test]
    fn both_ways_of_reading_say_the_same() {
        let open =
            |rest: &str| format!("\"open\":\"{ID}\",\"at\":\"2026-07-28T10:00:00.12Z\",{rest}");
        let end =
            |rest: &str| format!("\"end\":\"{ID}\",\"outcome\":\"ok\",\"duration_ns\":12{rest}");
        assert!(check(&open("\"tool\":\"t\",\"arguments\":{\"tool\":\"u\",\"tick\":1}")));
        assert!(check(&open(
            "\"tool\":\"ü\",\"arguments\":\"\\\"\",\"caller\":\"c\",\"client\":\"p\",\"conversation\":\"d\""
        )));
        let of_run = format!("\"tool\":\"t\",\"arguments\":{{}},\"run\":\"{ID}\",\"turn\":12");
        assert!(check(&open(&of_run)));
        assert!(check(&open(&of_run.replace(",\"turn\":12", ""))));
        assert!(check(&end("")));
        assert!(check(&end(
            ",\"found\":\"f\",\"server\":\"s\",\"bytes\":3,\"result\":[{\"server\":\"\\\\\"}]"
        )));
        let artifact = "{\"id\":\"a\",\"kind\":\"text\",\"media_type\":\"m\",\"size\":9}";
        assert!(check(&end(&format!(",\"reused\":\"cached\",\"artifacts\":[{artifact}]"))));
        // These are left to `JournalLine::parse`.
        assert!(!check(&open("\"tool\":\"a\\nb\",\"arguments\":{}")));
        assert!(!check(&open(" \"tool\":\"t\",\"arguments\":{}")));
        assert!(!check(&end(",\"server\":\"a\\u0041\"")));
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            let object = prop::collection::vec((any::<String>(), inner.clone()), 0..4);
            prop_oneof![
                prop::collection::vec(inner, 0..4).prop_map(Value::from),
                object.prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    /// A text of any characters, more often one that needs no escape.
    fn any_text() -> impl Strategy<Value = Option<String>> {
        prop::option::of(prop_oneof!["[a-zü_ {}:,]{0,12}", any::<String>()])
    }

    /// The optional fields of a line, each there or not.
    fn optional(keys: &'static [&'static str]) -> impl Strategy<Value = Map<String, Value>> {
        prop::collection::vec(any_text(), keys.len()).prop_map(|texts| {
            let fields = keys.iter().zip(texts).filter_map(|(key, text)| Some((key, text?)));
            fields.map(|(key, text)| ((*key).to_owned(), Value::from(text))).collect()
        })
    }

    fn join(first: Value, others: Map<String, Value>) -> String {
        let Value::Object(mut fields) = first else { panic!("no object") };
        fields.extend(others);
        let text = Value::Object(fields).to_string();
        text[1..text.len() - 1].to_owned()
    }

    proptest! {
        // RC-1: the fast way never says anything else than the parser.
        #[test]
        fn random_lines_are_read_as_the_parser_reads_them(
            at in 0_i64..4_000_000_000_000_000,
            tool in any_text(),
            arguments in value(),
            who in optional(&["caller", "client", "conversation", "profile", "shown_as", "later"]),
            end in optional(&["server", "found", "error", "hint", "result_head", "later"]),
            result in value(),
            duration_ns in any::<u64>(),
            bytes in any::<u64>(),
            artifacts in prop::collection::vec(any::<String>(), 0..3),
        ) {
            let at = Timestamp::from_microsecond(at).unwrap().to_string();
            let tool = tool.unwrap_or_default();
            check(&join(json!({"open": ID, "at": at, "tool": tool, "arguments": arguments}), who));
            let artifact = |id| json!({"id": id, "kind": "text", "media_type": "m", "size": 9});
            let artifacts: Vec<_> = artifacts.into_iter().map(artifact).collect();
            let first = json!({
                "end": ID, "outcome": "ok", "duration_ns": duration_ns, "bytes": bytes, "result": result,
                "reused": "cached", "artifacts": artifacts,
            });
            check(&join(first, end));
        }
    }

    #[test]
    fn a_line_that_breaks_off_is_not_read() {
        for line in ["{\"end\":\"", "{\"open\":\"nonsense\"}", "{\"rest\":1}", "nonsense", ""] {
            let brief = IndexedLine::read(line.as_bytes(), &mut TimeParser::default());
            assert!(matches!(brief, IndexedLine::Other), "{line}");
        }
    }

    #[test]
    fn times_are_read_as_jiff_reads_them() {
        let mut clock = TimeParser::default();
        let times = [
            "2026-07-28T10:00:00Z",
            "2026-07-28T10:00:00.1Z",
            "2026-07-28T10:00:00.123456789Z",
            "2026-07-28T10:00:01.000001999Z",
            "2026-07-28T12:00:00.5+02:00",
            "2024-02-29T23:59:59.999999Z",
            "1970-01-01T00:00:00.000001Z",
        ];
        for at in times {
            let expected = at.parse::<Timestamp>().unwrap().as_microsecond();
            assert_eq!(clock.microseconds(at), expected, "{at}");
        }
        for at in ["", "Z", "yesterday", "2026-07-28T10:00:00.Z", "2026-07-28T10:00:00.1xZ"] {
            assert_eq!(clock.microseconds(at), 0, "{at}");
        }
    }
}
