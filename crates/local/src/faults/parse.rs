//! Faults as people write them.

use std::str::FromStr;

use switchboard_toolcall::{HumanDuration, PatternError};

use super::{Fault, FaultRule};

/// A rule that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FaultError {
    /// There is no colon between tools and faults.
    #[error("`{0}` does not say which tools: write it like 'zwave__*: 10% timeout, 5% error'")]
    NoTools(String),
    /// The tools are no glob.
    #[error("`{0}` is not a glob of tool names: {1}")]
    Glob(String, String),
    /// A fault without a number.
    #[error("`{0}` does not say how often: write it like 10% timeout")]
    NoPercent(String),
    /// The number is invalid, or not between 0 and 100.
    #[error("`{0}` is not a percentage from 0% to 100%")]
    Percent(String),
    /// The fault is unknown.
    #[error(
        "unknown fault `{0}`; known are timeout, error, unavailable, slow DURATION and garbage"
    )]
    Unknown(String),
    /// `slow` without or with a wrong duration.
    #[error("`slow` needs how much later, like 10% slow 2s: {0}")]
    Slow(String),
    /// More calls fail than there are.
    #[error("the faults of `{0}` add up to more than 100%")]
    TooMany(String),
}

impl FromStr for FaultRule {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        let parts = text.rsplit_once(':').map(|(tools, faults)| (tools.trim(), faults));
        let (tools, faults) = parts
            .filter(|(tools, _)| !tools.is_empty())
            .ok_or_else(|| FaultError::NoTools(text.to_owned()))?;
        let wrong = |error: PatternError| FaultError::Glob(tools.to_owned(), error.reason());
        let pattern = tools.parse().map_err(wrong)?;
        let faults = faults.split(',').map(fault).collect::<Result<Vec<_>, _>>()?;
        if faults.iter().map(|(percent, _)| percent).sum::<f64>() > 100.0 {
            return Err(FaultError::TooMany(tools.to_owned()));
        }
        Ok(Self { tools: pattern, faults })
    }
}

/// Reads `10% timeout`.
fn fault(text: &str) -> Result<(f64, Fault), FaultError> {
    let text = text.trim();
    let (percent, fault) =
        text.split_once('%').ok_or_else(|| FaultError::NoPercent(text.to_owned()))?;
    let number = percent.trim().parse::<f64>().ok();
    let number = number.filter(|number| (0.0..=100.0).contains(number));
    let number = number.ok_or_else(|| FaultError::Percent(format!("{percent}%")))?;
    let (word, rest) = fault.trim().split_once(' ').unwrap_or((fault.trim(), ""));
    let fault = match (word, rest.trim()) {
        ("timeout", "") => Fault::Timeout,
        ("error", "") => Fault::Error,
        ("unavailable", "") => Fault::Unavailable,
        ("garbage", "") => Fault::Garbage,
        ("slow", by) => Fault::Slow(by.parse::<HumanDuration>().map_err(FaultError::Slow)?.0),
        _ => return Err(FaultError::Unknown(fault.trim().to_owned())),
    };
    Ok((number, fault))
}
