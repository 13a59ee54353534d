//! `get_current_datetime`: what time it is, here or elsewhere (SPEC LT-3).

use std::sync::Arc;

use jiff::{
    Timestamp, Zoned,
    fmt::{strtime, temporal::DateTimeParser},
    tz::{self, TimeZone},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchboard_toolcall::{Annotations, CallContext, Json, Tool, ToolError, tool_fn};

#[cfg(test)]
mod tests;

/// Tells the current date and time, with the weekday and the time zone.
#[derive(Deserialize, JsonSchema)]
struct DatetimeArguments {
    /// IANA time zone, such as "Europe/Berlin" or "UTC"; the zone of this machine by default.
    timezone: Option<String>,
    /// Adds the field "formatted" in this strftime format, such as "%A, %d %B %Y, %H:%M".
    format: Option<String>,
}

/// One moment, split into its fields so that the model need not compute them.
#[derive(Debug, PartialEq, Serialize)]
struct DatetimeAnswer {
    datetime: String,
    date: String,
    time: String,
    weekday: String,
    timezone: String,
    utc_offset: String,
    unix: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    formatted: Option<String>,
}

/// The tool `get_current_datetime`.
pub fn tool() -> Arc<dyn Tool> {
    tool_at(Timestamp::now, || TimeZone::try_system().unwrap_or(TimeZone::UTC))
}

/// The same tool with a clock and a zone to call its own.
fn tool_at(
    now: impl Fn() -> Timestamp + Send + Sync + 'static,
    here: impl Fn() -> TimeZone + Send + Sync + 'static,
) -> Arc<dyn Tool> {
    let tool =
        tool_fn("get_current_datetime", move |arguments: DatetimeArguments, _cx: CallContext| {
            std::future::ready(answer(now(), &here, &arguments).map(Json))
        });
    Arc::new(tool.annotate(Annotations::READ_ONLY))
}

fn answer(
    now: Timestamp,
    here: &impl Fn() -> TimeZone,
    arguments: &DatetimeArguments,
) -> Result<DatetimeAnswer, ToolError> {
    let zone = match given(arguments.timezone.as_ref()) {
        Some(name) => lookup(name)?,
        None => here(),
    };
    let now = now.to_zoned(zone);
    let format = given(arguments.format.as_ref());
    Ok(DatetimeAnswer {
        datetime: written("%Y-%m-%dT%H:%M:%S%:z", &now)?,
        date: written("%Y-%m-%d", &now)?,
        time: written("%H:%M:%S", &now)?,
        weekday: written("%A", &now)?,
        timezone: name_of(&now)?,
        utc_offset: written("%:z", &now)?,
        unix: now.timestamp().as_second(),
        formatted: format.map(|format| formatted(format, &now)).transpose()?,
    })
}

/// Models fill what they do not need with empty text.
fn given(text: Option<&String>) -> Option<&str> {
    text.map(|text| text.trim()).filter(|text| !text.is_empty())
}

fn name_of(now: &Zoned) -> Result<String, ToolError> {
    match now.time_zone().iana_name() {
        Some(name) => Ok(name.to_owned()),
        // A machine whose zone is a bare offset, or a file without a name.
        None => written("%:z", now),
    }
}

fn formatted(format: &str, now: &Zoned) -> Result<String, ToolError> {
    const EXAMPLE: &str = "write it in the directives of strftime, such as %Y-%m-%d %H:%M";
    // `YYYY-MM-DD` would come back as it is, and be taken for the date.
    if !format.contains('%') {
        let problem = format!("'format' has no directive in `{format}`; {EXAMPLE}");
        return Err(ToolError::invalid(problem));
    }
    strtime::format(format, now).map_err(|error| {
        let problem = format!("'format' `{format}` cannot be used: {error}; {EXAMPLE}");
        ToolError::invalid(problem).caused_by(error)
    })
}

fn written(format: &str, now: &Zoned) -> Result<String, ToolError> {
    strtime::format(format, now).map_err(|error| ToolError::failed(&error).caused_by(error))
}

fn lookup(name: &str) -> Result<TimeZone, ToolError> {
    // Only plain offsets: `UTC+2` would be read the POSIX way, which is two hours *behind* UTC.
    let zone = if name.starts_with(['+', '-']) {
        DateTimeParser::new().parse_time_zone(name)
    } else {
        tz::db().get(name)
    };
    zone.map_err(|error| {
        let near = nearest(name);
        let way_out = match near.is_empty() {
            true => "use an IANA name such as Europe/Berlin".to_owned(),
            false => format!("did you mean {}?", near.join(", ")),
        };
        let problem = format!("'timezone' is unknown: `{name}`; {way_out}");
        ToolError::invalid(problem).caused_by(error)
    })
}

/// The names that look like `name`: as a whole, or like its city.
fn nearest(name: &str) -> Vec<String> {
    const SHOWN: usize = 3;
    const ALIKE: f64 = 0.87;
    // Comparing takes time by length, and no zone comes near to this.
    const LONGEST: usize = 64;
    if name.len() > LONGEST {
        return Vec::new();
    }
    let wanted = name.to_lowercase().replace(' ', "_");
    let mut names: Vec<(f64, String)> = tz::db()
        .available()
        .map(|candidate| {
            (likeness(&wanted, &candidate.as_str().to_lowercase()), candidate.to_string())
        })
        .filter(|(score, _)| *score >= ALIKE)
        .collect();
    names.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    names.into_iter().take(SHOWN).map(|(_, name)| name).collect()
}

fn likeness(wanted: &str, candidate: &str) -> f64 {
    let city = candidate.rsplit('/').next().unwrap_or(candidate);
    let wanted_city = wanted.rsplit('/').next().unwrap_or(wanted);
    // The city decides even under the wrong continent, but a little less.
    let by_city = strsim::jaro_winkler(wanted_city, city) * 0.99;
    strsim::jaro_winkler(wanted, candidate).max(by_city)
}
