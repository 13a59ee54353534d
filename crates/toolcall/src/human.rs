//! Durations and sizes as people write them, for settings and flags (SPEC §13).

use std::{borrow::Cow, fmt, str::FromStr, time::Duration};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A duration written as `500ms`, `30s`, `5m`, `2h` or `7d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HumanDuration(pub Duration);

/// A number of bytes or characters written as `50000`, `50k` (1000) or `64KiB` (1024).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HumanSize(pub u64);

const DURATIONS: &[(&str, f64)] =
    &[("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", 86400.0)];

const SIZES: &[(&str, f64)] = &[
    ("", 1.0),
    ("b", 1.0),
    ("k", 1e3),
    ("kb", 1e3),
    ("m", 1e6),
    ("mb", 1e6),
    ("g", 1e9),
    ("gb", 1e9),
    ("kib", 1024.0),
    ("mib", 1_048_576.0),
    ("gib", 1_073_741_824.0),
];

impl JsonSchema for HumanDuration {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "examples": ["500ms", "30s", "5m", "2h", "7d"]})
    }
}

impl JsonSchema for HumanSize {
    fn schema_name() -> Cow<'static, str> {
        "Size".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["integer", "string"], "minimum": 0, "examples": [50000, "50k", "64KiB"]})
    }
}

impl FromStr for HumanDuration {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let seconds = scaled(text, DURATIONS).ok_or_else(|| {
            format!("`{text}` is not a duration; write it like 500ms, 30s, 5m or 2h")
        })?;
        // Far beyond any deadline, and within what a clock can add.
        Duration::try_from_secs_f64(seconds)
            .ok()
            .filter(|duration| *duration <= Duration::from_secs(100 * 365 * 86400))
            .map(Self)
            .ok_or_else(|| format!("the duration `{text}` is out of range"))
    }
}

impl FromStr for HumanSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let size = scaled(text, SIZES).filter(|size| size.fract() == 0.0 && *size < 1e18);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole and in range, as just checked"
        )]
        size.map(|size| Self(size as u64)).ok_or_else(|| {
            format!("`{text}` is not a size; write it like 50000, 50k (1000) or 64KiB (1024)")
        })
    }
}

/// Parses a number with one of the units, ignoring case and underscores.
fn scaled(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let text = text.trim().replace('_', "").to_lowercase();
    let split = text.find(|c: char| c.is_ascii_alphabetic());
    let (number, unit) = text.split_at(split.unwrap_or(text.len()));
    let factor = units.iter().find(|(name, _)| *name == unit.trim())?.1;
    let number: f64 = number.trim().parse().ok()?;
    (number >= 0.0 && number.is_finite()).then_some(number * factor)
}

impl fmt::Display for HumanDuration {
    /// Writes decimal seconds, as the timeout text shows them: `0.5s`, `90s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}s", self.0.as_secs_f64())
    }
}

impl fmt::Display for HumanSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'de> Deserialize<'de> for HumanDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = HumanDuration;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration in quotes, like \"500ms\", \"30s\" or \"5m\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<HumanDuration, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl<'de> Deserialize<'de> for HumanSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = HumanSize;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size, like 50000, \"50k\" or \"64KiB\"")
            }

            fn visit_u64<E: de::Error>(self, size: u64) -> Result<HumanSize, E> {
                Ok(HumanSize(size))
            }

            fn visit_i64<E: de::Error>(self, size: i64) -> Result<HumanSize, E> {
                u64::try_from(size).map(HumanSize).map_err(|_| {
                    E::custom(format_args!("`{size}` is not a size; it cannot be negative"))
                })
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<HumanSize, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl Serialize for HumanDuration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for HumanSize {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_people_write_them() {
        let check = |text: &str| text.parse::<HumanDuration>().map(|duration| duration.0);
        assert_eq!(check("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(check("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(check("1.5 m"), Ok(Duration::from_secs(90)));
        assert_eq!(check("7d"), Ok(Duration::from_secs(7 * 86400)));
        for wrong in ["30", "s", "-1s", "1y", "", "1e400s", "99999999d"] {
            let error = check(wrong).unwrap_err();
            assert!(error.contains(&format!("`{wrong}`")), "{error}");
        }
    }

    #[test]
    fn durations_show_decimal_seconds() {
        // EX-3
        let check = |ms| HumanDuration(Duration::from_millis(ms)).to_string();
        assert_eq!(check(500), "0.5s");
        assert_eq!(check(90_000), "90s");
        assert_eq!(check(30_000), "30s");
    }

    #[test]
    fn sizes_know_both_kilos() {
        let check = |text: &str| text.parse::<HumanSize>().map(|size| size.0);
        assert_eq!(check("50_000"), Ok(50_000));
        assert_eq!(check("50k"), Ok(50_000));
        assert_eq!(check("64KiB"), Ok(65_536));
        assert_eq!(check("1.5MB"), Ok(1_500_000));
        for wrong in ["k", "-1", "1.5", "1 parsec", "1e30"] {
            assert!(check(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn settings_say_what_they_want() {
        let error = serde_json::from_str::<HumanDuration>("30").unwrap_err();
        assert!(error.to_string().contains("\"30s\""), "{error}");
        let error = serde_json::from_str::<HumanSize>("-5").unwrap_err();
        assert!(error.to_string().contains("negative"), "{error}");
        assert_eq!(serde_json::from_str::<HumanSize>("\"2k\"").unwrap(), HumanSize(2000));
        assert_eq!(serde_json::from_str::<HumanSize>("50000").unwrap(), HumanSize(50_000));
    }
}
