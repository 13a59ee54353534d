//! Log lines without colours, as `tracing-subscriber` writes them but in a third of the time: a busy gateway writes
//! thousands a second.

use std::{
    cell::RefCell,
    error::Error,
    fmt::{self, Debug, Write},
    time::{SystemTime, UNIX_EPOCH},
};

use jiff::Timestamp;
use switchboard_toolcall::text::is_hidden;
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields, format::Writer},
    registry::LookupSpan,
};

/// Writes the time, the level, the spans, the target and the fields of an event.
pub(super) struct Plain;

impl<S, N> FormatEvent<S, N> for Plain
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        time(&mut writer, SystemTime::now())?;
        writer.write_str(level(*event.metadata().level()))?;
        if let Some(scope) = context.event_scope() {
            for span in scope.from_root() {
                writer.write_str(span.name())?;
                let extensions = span.extensions();
                let fields = extensions.get::<FormattedFields<N>>();
                if let Some(fields) = fields.filter(|fields| !fields.is_empty()) {
                    write!(writer, "{{{fields}}}")?;
                }
                writer.write_char(':')?;
            }
            writer.write_char(' ')?;
        }
        writer.write_str(event.metadata().target())?;
        writer.write_str(": ")?;
        let mut fields = Fields { writer, is_first: true, written: Ok(()) };
        event.record(&mut fields);
        fields.written?;
        fields.writer.write_char('\n')
    }
}

fn level(level: Level) -> &'static str {
    match level {
        Level::TRACE => " TRACE ",
        Level::DEBUG => " DEBUG ",
        Level::INFO => "  INFO ",
        Level::WARN => "  WARN ",
        Level::ERROR => " ERROR ",
    }
}

/// Writes the time to the microsecond. What it is to the second is worked out once a second.
fn time(writer: &mut impl Write, now: SystemTime) -> fmt::Result {
    thread_local! {
        static SECOND: RefCell<(u64, String)> = const { RefCell::new((u64::MAX, String::new())) };
    }
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    SECOND.with_borrow_mut(|(second, text)| {
        if *second != since.as_secs() {
            let time = i64::try_from(since.as_secs()).ok();
            let time = time.and_then(|second| Timestamp::from_second(second).ok());
            *text = time.unwrap_or_default().strftime("%Y-%m-%dT%H:%M:%S.").to_string();
            *second = since.as_secs();
        }
        writer.write_str(text)
    })?;
    let mut digits = *b"000000Z";
    let mut rest = since.subsec_micros();
    for digit in digits[..6].iter_mut().rev() {
        *digit += (rest % 10) as u8;
        rest /= 10;
    }
    writer.write_str(str::from_utf8(&digits).unwrap_or_default())
}

/// Writes the fields of an event, the message as it is and the others with their names.
struct Fields<'a> {
    writer: Writer<'a>,
    is_first: bool,
    written: fmt::Result,
}

impl Fields<'_> {
    fn write(&mut self, field: &Field, value: impl FnOnce(&mut Safe<'_, '_>) -> fmt::Result) {
        let Self { writer, is_first, written } = self;
        if written.is_err() {
            return;
        }
        let space = if std::mem::take(is_first) { "" } else { " " };
        *written = writer.write_str(space).and_then(|()| {
            if field.name() != "message" {
                let name = field.name();
                writer.write_str(name.strip_prefix("r#").unwrap_or(name))?;
                writer.write_char('=')?;
            }
            value(&mut Safe(writer))
        });
    }
}

impl Visit for Fields<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        let is_plain = |byte: u8| (0x20..0x7f).contains(&byte) && byte != b'"' && byte != b'\\';
        if field.name() == "message" {
            self.write(field, |writer| writer.write_str(value));
        } else if value.bytes().all(is_plain) {
            self.write(field, |writer| {
                writer.0.write_char('"')?;
                writer.0.write_str(value)?;
                writer.0.write_char('"')
            });
        } else {
            self.write(field, |writer| write!(writer, "{value:?}"));
        }
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        match millionths(value) {
            Some(parts) => self.write(field, |writer| decimal(writer.0, parts)),
            None => self.record_debug(field, &value),
        }
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.write(field, |writer| {
            write!(writer, "{value}")?;
            let mut cause = value.source();
            if cause.is_some() {
                write!(writer, " {}.sources=[", field.name())?;
                while let Some(error) = cause {
                    write!(writer, "{error}")?;
                    cause = error.source();
                    writer.write_str(if cause.is_some() { ", " } else { "]" })?;
                }
            }
            Ok(())
        });
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.write(field, |writer| write!(writer, "{value:?}"));
    }
}

/// What a number is in millionths, as durations in milliseconds are; none, where it is not whole there or is usually written
/// with an exponent.
fn millionths(value: f64) -> Option<u64> {
    let parts = (value * 1e6).round();
    let is_usual = (0.001..1e9).contains(&value) && parts / 1e6 == value;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "as just checked")]
    is_usual.then_some(parts as u64)
}

/// Writes millionths with as many digits as they need, and one behind the point at the least.
fn decimal(writer: &mut impl Write, parts: u64) -> fmt::Result {
    let mut digits = [0; 6];
    let mut rest = parts % 1_000_000;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    let needed = digits.iter().rposition(|digit| *digit != b'0').unwrap_or(0) + 1;
    write!(writer, "{}.", parts / 1_000_000)?;
    writer.write_str(str::from_utf8(&digits[..needed]).unwrap_or_default())
}

/// Keeps what could steer a terminal out of what somebody else wrote.
struct Safe<'a, 'b>(&'a mut Writer<'b>);

impl Write for Safe<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // Looked at to the end: many bytes at a time are quicker than an early stop. Not all of what is not ASCII is
        // hidden, but little of what is logged is not ASCII.
        let suspicious = |byte: u8| matches!(byte, 0..=8 | 0x0b..=0x1f | 0x7f..);
        if !text.bytes().fold(false, |any, byte| any | suspicious(byte)) {
            return self.0.write_str(text);
        }
        for letter in text.chars() {
            match letter {
                '\n' | '\r' | '\t' => self.0.write_char(letter)?,
                control if control.is_ascii_control() => {
                    write!(self.0, "\\x{:02x}", u32::from(control))?;
                }
                hidden if is_hidden(hidden) => {
                    write!(self.0, "\\u{{{:x}}}", u32::from(hidden))?;
                }
                letter => self.0.write_char(letter)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io,
        sync::{Arc, Mutex},
        time::Duration,
    };

    use tracing_subscriber::fmt::{MakeWriter, fmt};

    use super::*;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl<'a> MakeWriter<'a> for Written {
        type Writer = Self;

        fn make_writer(&'a self) -> Self {
            self.clone()
        }
    }

    /// What is written of what `log` logs, without the time: by us, and by `tracing-subscriber`.
    fn both(log: impl Fn()) -> [String; 2] {
        let (ours, theirs) = (Written::default(), Written::default());
        let subscriber = fmt().with_ansi(false).event_format(Plain).with_writer(ours.clone());
        tracing::subscriber::with_default(subscriber.finish(), &log);
        let subscriber = fmt().with_ansi(false).with_writer(theirs.clone());
        tracing::subscriber::with_default(subscriber.finish(), &log);
        [ours, theirs].map(|written| {
            let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
            text.lines().map(|line| format!("{}\n", &line[27..])).collect()
        })
    }

    // EX-5
    #[test]
    fn a_line_is_what_it_was() {
        let [ours, theirs] = both(|| {
            let (tool, quoted, number) = ("echo", "say \"é\"\u{1b}", 1.5);
            tracing::info!(tool, quoted, number, %tool, ?tool, "call of '{tool}' succeeded");
            tracing::warn!("plain");
            tracing::error!(target: "elsewhere", tool);
            let error = anyhow::anyhow!("innermost").context("inner").context("outer");
            let error: &(dyn Error + 'static) = error.as_ref();
            tracing::info!(error, "failed");
            let span = tracing::info_span!("outer", of = 1);
            span.in_scope(|| tracing::info_span!("inner").in_scope(|| tracing::info!("within")));
            tracing::info!("a message that \u{1b}[31m steers and \u{9b} too");
        });
        assert_eq!(ours, theirs);
        assert_eq!(ours.lines().count(), 6);
    }

    // EX-5
    #[test]
    fn no_value_steers_a_terminal() {
        let [ours, _] = both(|| tracing::info!(text = %"a\u{1b}[2J\u{9b}b\tc\u{202e}d", "shown"));
        assert!(ours.ends_with("shown text=a\\x1b[2J\\u{9b}b\tc\\u{202e}d\n"), "{ours}");
    }

    #[test]
    fn the_time_is_told_to_the_microsecond() {
        let told = |microseconds| {
            let mut text = String::new();
            time(&mut text, UNIX_EPOCH + Duration::from_micros(microseconds)).unwrap();
            text
        };
        assert_eq!(told(0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(told(1_794_769_419_000_120), "2026-11-15T19:03:39.000120Z");
        assert_eq!(told(1_794_769_419_999_999), "2026-11-15T19:03:39.999999Z");
        assert_eq!(told(1_794_769_420_000_000), "2026-11-15T19:03:40.000000Z");
    }

    #[test]
    fn numbers_are_written_as_ever() {
        for value in [
            0.001,
            0.213_417,
            1.0,
            12.5,
            0.1 + 0.2,
            1e-5,
            0.0,
            -1.5,
            123_456_789.25,
            1e9,
            1e300,
            f64::NAN,
        ] {
            let mut text = String::new();
            let written = millionths(value).map(|parts| decimal(&mut text, parts));
            let text = if written.is_some() { text } else { format!("{value:?}") };
            assert_eq!(text, format!("{value:?}"));
        }
        assert_eq!(millionths(0.213_417), Some(213_417));
    }
}
