//! A point in time on a command line or in a query: `1h` ago, or a date.

use std::{str::FromStr, time::SystemTime};

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use switchboard_toolcall::HumanDuration;

/// A point in time, written as how long ago it was (`90s`, `1h`, `7d`) or as a date (`2026-07-28`,
/// `2026-07-28T10:00:00Z`; without an offset it is local time).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HumanTime(pub SystemTime);

impl FromStr for HumanTime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(HumanDuration(ago)) = text.parse() {
            let now = SystemTime::now();
            return Ok(Self(now.checked_sub(ago).unwrap_or(SystemTime::UNIX_EPOCH)));
        }
        let instant = text.parse::<Timestamp>().or_else(|_| {
            let local: DateTime = text.parse()?;
            local.to_zoned(TimeZone::system()).map(|zoned| zoned.timestamp())
        });
        let wrong = |_| {
            format!(
                "`{text}` is not a time; write how long ago, like 90s, 1h or 7d, or a date, like 2026-07-28T10:00:00Z"
            )
        };
        let instant: SystemTime = instant.map(Into::into).map_err(wrong)?;
        // Nothing was recorded before.
        Ok(Self(instant.max(SystemTime::UNIX_EPOCH)))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn durations_and_dates_are_parsed() {
        let read = |text: &str| text.parse::<HumanTime>().map(|time| time.0);
        let at = |seconds| Ok(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(read("1970-01-02T00:00:00Z"), at(86400));
        assert_eq!(read("1970-01-02T01:00:00+01:00"), at(86400));
        assert!(read("2026-07-28").is_ok());
        let then = read("1h").unwrap();
        let ago = SystemTime::now().duration_since(then).unwrap();
        assert!(ago >= Duration::from_secs(3600) && ago < Duration::from_secs(4000));
        assert_eq!(read("1960-01-01T00:00:00Z"), at(0));
        for wrong in ["yesterday", "", "1", "2026-13-01"] {
            let error = read(wrong).unwrap_err();
            assert!(error.contains(&format!("`{wrong}`")) && error.contains("1h"), "{error}");
        }
    }
}
