//! How times, sizes and outcomes are written for people.

use std::time::{Duration, SystemTime};

use jiff::{Timestamp, tz::TimeZone};
use switchboard_audit::{CallOutcome, Record};

use crate::terminal::Paint;

/// How long ago something was, in one unit: `now`, `5s ago`, `3d ago`.
pub(crate) fn ago(then: SystemTime, now: SystemTime) -> String {
    let seconds = now.duration_since(then).unwrap_or_default().as_secs();
    let units = [(86400, "d"), (3600, "h"), (60, "m"), (1, "s")];
    match units.into_iter().find(|(length, _)| seconds >= *length) {
        Some((length, unit)) => format!("{}{unit} ago", seconds / length),
        None => "now".to_owned(),
    }
}

/// The local time, with its offset.
pub(in crate::commands) fn local(time: SystemTime) -> String {
    let time = Timestamp::try_from(time).unwrap_or_default();
    time.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S%.3f %:z").to_string()
}

/// The local time of day.
pub(super) fn clock(time: SystemTime) -> String {
    let time = Timestamp::try_from(time).unwrap_or_default();
    time.to_zoned(TimeZone::system()).strftime("%H:%M:%S").to_string()
}

/// A duration with the digits that matter: `0.31 ms`, `35 ms`, `1.2 s`, `2m 5s`.
pub(in crate::commands) fn took(duration: Duration) -> String {
    let milliseconds = duration.as_secs_f64() * 1000.0;
    match milliseconds {
        less if less < 10.0 => format!("{less:.2} ms"),
        less if less < 1000.0 => format!("{less:.0} ms"),
        less if less < 60_000.0 => format!("{:.1} s", less / 1000.0),
        _ => format!("{}m {}s", duration.as_secs() / 60, duration.as_secs() % 60),
    }
}

/// How long a call took, if known.
pub(super) fn duration_of(record: &Record) -> String {
    record.duration.map(took).unwrap_or_default()
}

/// A size in bytes: `512 B`, `1.5 kB`, `20 MB`.
pub(in crate::commands) fn size(bytes: u64) -> String {
    let mut number = bytes as f64;
    for unit in ["B", "kB", "MB", "GB"] {
        if number < 1000.0 || unit == "GB" {
            let digits = usize::from(unit != "B" && number < 10.0);
            return format!("{number:.digits$} {unit}");
        }
        number /= 1000.0;
    }
    String::new()
}

/// A number of things: `1 call`, `2 calls`.
pub(in crate::commands) fn counted(number: usize, thing: &str) -> String {
    let end = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{end}")
}

/// A text in the colour of its outcome.
pub(super) fn coloured(text: &str, outcome: CallOutcome, paint: Paint) -> String {
    match outcome {
        CallOutcome::Ok => paint.green(text),
        CallOutcome::Running => paint.yellow(text),
        CallOutcome::Failed(_) => paint.red(text),
    }
}

/// Numbers as a line of bars, the highest of them full.
pub(super) fn sparkline(numbers: &[u64]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = numbers.iter().copied().max().unwrap_or(0).max(1);
    let bar = |number: &u64| match number {
        0 => ' ',
        number => BARS[usize::try_from((number * 7).div_ceil(most)).unwrap_or(7).min(7)],
    };
    numbers.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_have_the_digits_that_matter() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let back = |seconds| ago(now - Duration::from_secs(seconds), now);
        assert_eq!(
            [0, 5, 90, 7200, 200_000].map(back),
            ["now", "5s ago", "1m ago", "2h ago", "2d ago"]
        );
        assert_eq!(ago(now + Duration::from_secs(5), now), "now");
        let took = |micros| took(Duration::from_micros(micros));
        assert_eq!(
            [310, 35_200, 1_240_000, 125_000_000].map(took),
            ["0.31 ms", "35 ms", "1.2 s", "2m 5s"]
        );
        assert_eq!([0, 999, 1500, 20_000_000].map(size), ["0 B", "999 B", "1.5 kB", "20 MB"]);
        assert_eq!(sparkline(&[0, 1, 4, 8]), " ▂▅█");
        assert_eq!(sparkline(&[]), "");
    }
}
