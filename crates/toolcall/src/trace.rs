//! The trace that a call belongs to, as in W3C Trace Context.

use std::fmt;

/// How much of `tracestate` is propagated; W3C asks for at least 512 characters.
const MOST_STATE: usize = 2048;
/// The flag of sampled traces.
const SAMPLED: u8 = 1;

/// A span in a trace: the parent of what is done next.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct TraceContext {
    trace_id: u128,
    span_id: u64,
    flags: u8,
    state: Option<Box<str>>,
}

impl TraceContext {
    /// Parses the values of `traceparent` and `tracestate`. Returns `None` if they are invalid.
    ///
    /// ```
    /// use switchboard_toolcall::TraceContext;
    ///
    /// let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    /// let trace = TraceContext::parse(header, None).unwrap();
    /// assert_eq!(trace.traceparent(), header);
    /// assert!(trace.is_sampled());
    /// ```
    pub fn parse(traceparent: &str, tracestate: Option<&str>) -> Option<Self> {
        let text = traceparent.trim();
        let known = text.get(..55)?;
        let mut fields = known.split('-');
        let version = hex(fields.next()?, 2)?;
        let trace_id = hex(fields.next()?, 32).filter(|id| *id != 0)?;
        let span_id = hex(fields.next()?, 16).filter(|id| *id != 0)?;
        let flags = hex(fields.next()?, 2)?;
        // A later version may have more fields; version 00 must not.
        let more = &text[55..];
        let is_whole = more.is_empty() || (version > 0 && more.starts_with('-'));
        if version == 0xff || fields.next().is_some() || !is_whole {
            return None;
        }
        let state = tracestate.map(str::trim).filter(|state| is_state(state));
        Some(Self {
            trace_id,
            span_id: u64::try_from(span_id).ok()?,
            flags: u8::try_from(flags).ok()?,
            state: state.map(Into::into),
        })
    }

    /// Parses the headers of an HTTP request; `values` returns the values of all headers with a name.
    pub fn from_headers<'a, I: Iterator<Item = &'a str>>(
        values: impl Fn(&'static str) -> I,
    ) -> Option<Self> {
        let parent = values("traceparent").next()?;
        // It may be split over several headers, which form one list.
        let state = values("tracestate").collect::<Vec<_>>().join(",");
        Self::parse(parent, Some(&state))
    }

    /// Starts a new trace.
    pub fn root(trace_id: u128, span_id: u64, sampled: bool) -> Self {
        Self { trace_id, span_id, flags: u8::from(sampled), state: None }
    }

    /// Returns the context of a new span under this one.
    #[must_use]
    pub fn child(&self, span_id: u64) -> Self {
        Self { span_id, ..self.clone() }
    }

    /// Returns the id of the trace.
    pub fn trace_id(&self) -> u128 {
        self.trace_id
    }

    /// Returns the id of the span.
    pub fn span_id(&self) -> u64 {
        self.span_id
    }

    /// Returns whether the trace is sampled.
    pub fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
    }

    /// Returns the flags, unchanged.
    pub fn flags(&self) -> u8 {
        self.flags
    }

    /// Returns the value of `traceparent`.
    pub fn traceparent(&self) -> String {
        self.to_string()
    }

    /// Returns the value of `tracestate`, if there is one.
    pub fn tracestate(&self) -> Option<&str> {
        self.state.as_deref()
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace_id, self.span_id, self.flags)
    }
}

impl fmt::Debug for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Parses exactly so many hex digits; W3C allows lower case only.
fn hex(text: &str, digits: usize) -> Option<u128> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_number = text.len() == digits && text.bytes().all(is_digit);
    is_number.then(|| u128::from_str_radix(text, 16).ok())?
}

/// Returns whether `tracestate` is valid in a header and not too long.
fn is_state(state: &str) -> bool {
    let is_printable = |byte: u8| matches!(byte, b' '..=b'~' | b'\t');
    !state.is_empty() && state.len() <= MOST_STATE && state.bytes().all(is_printable)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const SPAN: &str = "b7ad6b7169203331";

    fn read(traceparent: &str) -> Option<String> {
        TraceContext::parse(traceparent, None).map(|trace| trace.traceparent())
    }

    #[test]
    fn what_is_read_is_written_again() {
        for flags in ["00", "01", "03"] {
            let header = format!("00-{TRACE}-{SPAN}-{flags}");
            assert_eq!(read(&header), Some(header));
        }
        // A later version is understood as far as this one goes.
        let later = read(&format!("cc-{TRACE}-{SPAN}-01-what-comes-then"));
        assert_eq!(later, Some(format!("00-{TRACE}-{SPAN}-01")));
    }

    #[test]
    fn what_is_not_a_trace_is_left() {
        let zeros = ["0".repeat(32), "0".repeat(16)];
        for wrong in [
            String::new(),
            "00".to_owned(),
            format!("00-{TRACE}-{SPAN}"),
            format!("00-{TRACE}-{SPAN}-01-more"),
            format!("cc-{TRACE}-{SPAN}-01more"),
            format!("ff-{TRACE}-{SPAN}-01"),
            format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
            format!("00-{}-{SPAN}-01", zeros[0]),
            format!("00-{TRACE}-{}-01", zeros[1]),
            format!("00-{TRACE}-{SPAN}-0x"),
            format!("00_{TRACE}_{SPAN}_01"),
            format!("00-{}é-{SPAN}-01", &TRACE[..30]),
        ] {
            assert_eq!(read(&wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_state_goes_with_it_where_a_header_can_carry_it() {
        let header = format!("00-{TRACE}-{SPAN}-01");
        let state = |state: &str| {
            let trace = TraceContext::parse(&header, Some(state)).unwrap();
            trace.child(7).tracestate().map(str::to_owned)
        };
        assert_eq!(state("rojo=1,congo=2").as_deref(), Some("rojo=1,congo=2"));
        for wrong in ["", "a=1\r\nX-Evil: 1", "a=é", &"a".repeat(MOST_STATE + 1)] {
            assert_eq!(state(wrong), None, "{wrong}");
        }
    }
}
