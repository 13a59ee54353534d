//! Reads of a line what the index keeps, and passes over the rest.

use std::borrow::Cow;

use jiff::Timestamp;
use switchboard_toolcall::{Artifact, CallId, Reused};

use super::{End, Kind, Line, Open, fields::Fields};

/// Longer arguments stay in the journal alone.
const LONG: usize = 4096;

/// What the index keeps of a line.
pub(crate) enum Brief<'a> {
    Open(Begun<'a>),
    End(Ended<'a>),
    Unknown(CallId),
    /// Housekeeping, and what cannot be read.
    Other,
}

/// The beginning of a call.
#[derive(Debug, PartialEq)]
pub(crate) struct Begun<'a> {
    pub(crate) id: CallId,
    /// Microseconds since 1970.
    pub(crate) started: i64,
    pub(crate) tool: Cow<'a, str>,
    pub(crate) caller: Option<Cow<'a, str>>,
    pub(crate) client: Option<Cow<'a, str>>,
    pub(crate) conversation: Option<Cow<'a, str>>,
    /// As JSON; none where they are so long that only the journal has them.
    pub(crate) arguments: Option<Cow<'a, str>>,
    pub(crate) tick: u64,
}

/// The end of a call.
#[derive(Debug, PartialEq)]
pub(crate) struct Ended<'a> {
    pub(crate) id: CallId,
    pub(crate) outcome: Cow<'a, str>,
    pub(crate) duration_ns: u64,
    pub(crate) server: Option<Cow<'a, str>>,
    pub(crate) found: Option<Cow<'a, str>>,
    pub(crate) reused: Option<Reused>,
    pub(crate) bytes: u64,
    pub(crate) artifacts: Vec<Artifact>,
}

impl<'a> Brief<'a> {
    /// Reads a line. Where it is not quite as we write them, the parser of all JSON decides.
    pub(crate) fn read(line: &'a [u8], clock: &mut Clock) -> Self {
        let brief = match Kind::of(line) {
            Some(Kind::Open) => begun(line, clock).map(Self::Open),
            Some(Kind::End) => ended(line).map(Self::End),
            _ => None,
        };
        brief.unwrap_or_else(|| match Line::parse(line) {
            Some(Line::Open(open)) => Self::Open(Begun::of(open, clock)),
            Some(Line::End(end)) => Self::End((*end).into()),
            Some(Line::Unknown(id)) => Self::Unknown(id),
            Some(Line::Other) | None => Self::Other,
        })
    }
}

impl<'a> Begun<'a> {
    fn of(open: Open<'a>, clock: &mut Clock) -> Self {
        let Open { id, at, tool, caller, client, conversation, tick, arguments, .. } = open;
        let arguments = short(arguments.get().as_bytes());
        let started = clock.microseconds(&at);
        Self { id, started, tool, caller, client, conversation, arguments, tick }
    }

    /// The same, without the text that it was read from.
    pub(crate) fn into_owned(self) -> Begun<'static> {
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        Begun {
            id: self.id,
            started: self.started,
            tool: owned(self.tool),
            caller: self.caller.map(owned),
            client: self.client.map(owned),
            conversation: self.conversation.map(owned),
            arguments: self.arguments.map(owned),
            tick: self.tick,
        }
    }
}

impl<'a> From<End<'a>> for Ended<'a> {
    fn from(end: End<'a>) -> Self {
        let End { id, outcome, duration_ns, server, found, reused, bytes, artifacts, .. } = end;
        Self { id, outcome, duration_ns, server, found, reused, bytes, artifacts }
    }
}

/// None where a field is missing, or a text has something escaped in it.
fn begun<'a>(line: &'a [u8], clock: &mut Clock) -> Option<Begun<'a>> {
    let (mut id, mut at, mut tool, mut tick) = (None, None, None, None);
    let (mut caller, mut client, mut conversation, mut arguments) = (None, None, None, None);
    for (key, value) in Fields::of(line) {
        match key {
            b"open" => id = CallId::parse(text(value)?),
            b"at" => at = Some(text(value)?),
            b"tool" => tool = Some(text(value)?),
            b"caller" => caller = Some(text(value)?.into()),
            b"client" => client = Some(text(value)?.into()),
            b"conversation" => conversation = Some(text(value)?.into()),
            b"arguments" => arguments = short(value),
            b"tick" => tick = number(value),
            _ => {}
        }
    }
    let (id, tool, tick) = (id?, tool?.into(), tick?);
    let started = clock.microseconds(at?);
    Some(Begun { id, started, tool, caller, client, conversation, arguments, tick })
}

fn ended(line: &[u8]) -> Option<Ended<'_>> {
    let (mut id, mut outcome, mut duration_ns, mut is_whole) = (None, None, None, false);
    let (mut server, mut found, mut reused, mut bytes) = (None, None, None, 0);
    let mut artifacts = Vec::new();
    for (key, value) in Fields::of(line) {
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
    is_whole.then_some(Ended { id, outcome, duration_ns, server, found, reused, bytes, artifacts })
}

/// JSON that is not too long for the index.
fn short(json: &[u8]) -> Option<Cow<'_, str>> {
    let text = (json.len() <= LONG).then(|| std::str::from_utf8(json));
    text?.ok().map(Cow::Borrowed)
}

/// A string that has nothing escaped in it.
fn text(value: &[u8]) -> Option<&str> {
    let inner = value.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    match memchr::memchr(b'\\', inner) {
        None => std::str::from_utf8(inner).ok(),
        Some(_) => None,
    }
}

/// A number that is whole and not negative.
fn number(value: &[u8]) -> Option<u64> {
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
    let (first, rest) = value.split_first()?;
    rest.iter().try_fold(digit(first)?, |sum, byte| sum.checked_mul(10)?.checked_add(digit(byte)?))
}

/// Reads times. Many calls begin within the same second, whose date is then read once.
#[derive(Default)]
pub(crate) struct Clock {
    second: String,
    began: i64,
}

impl Clock {
    /// Microseconds since 1970; 0 where the text is no time.
    fn microseconds(&mut self, at: &str) -> i64 {
        self.quick(at).unwrap_or_else(|| at.parse().map_or(0, |at: Timestamp| at.as_microsecond()))
    }

    /// A time as we write it: `2026-07-28T10:00:00.123456789Z`, with as many digits behind the second as it needs.
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
    use super::*;

    const ID: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    const TAIL: &str = "\"tick\":7,\"hash\":\"0\"}";

    /// Reads a line both ways, and returns whether the quick one knew it.
    fn check(fields: &str) -> bool {
        let line = format!("{{{fields},{TAIL}");
        let clock = &mut Clock::default();
        match Line::parse(line.as_bytes()) {
            Some(Line::Open(open)) => {
                let whole = Begun::of(open, clock);
                begun(line.as_bytes(), clock).is_some_and(|quick| {
                    assert_eq!(quick, whole, "{line}");
                    true
                })
            }
            Some(Line::End(end)) => {
                let whole = Ended::from(*end);
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
        assert!(check(&end("")));
        assert!(check(&end(
            ",\"found\":\"f\",\"server\":\"s\",\"bytes\":3,\"result\":[{\"server\":\"\\\\\"}]"
        )));
        let artifact = "{\"id\":\"a\",\"kind\":\"text\",\"media_type\":\"m\",\"size\":9}";
        assert!(check(&end(&format!(",\"reused\":\"cached\",\"artifacts\":[{artifact}]"))));
        // These are left to the parser of all JSON.
        assert!(!check(&open("\"tool\":\"a\\nb\",\"arguments\":{}")));
        assert!(!check(&open(" \"tool\":\"t\",\"arguments\":{}")));
        assert!(!check(&end(",\"server\":\"a\\u0041\"")));
    }

    #[test]
    fn a_line_that_breaks_off_is_not_read() {
        for line in ["{\"end\":\"", "{\"open\":\"nonsense\"}", "{\"rest\":1}", "nonsense", ""] {
            let brief = Brief::read(line.as_bytes(), &mut Clock::default());
            assert!(matches!(brief, Brief::Other), "{line}");
        }
    }

    #[test]
    fn times_are_read_as_jiff_reads_them() {
        let mut clock = Clock::default();
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
