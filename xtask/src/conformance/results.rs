//! What became of each scenario, as the suite's summary tells it.

use std::fmt::{self, Display, Formatter};

use anyhow::{Context, Result, bail};

use super::reasons::Reasons;
use super::requirements::{Leg, Requirements};

/// One run of the suite.
pub(super) struct Pairing {
    pub(super) revision: &'static str,
    /// What is behind the gateway, if the suite tests our server.
    pub(super) behind: Option<Behind>,
    pub(super) scored: Vec<Scenario>,
    /// Those that are not counted, each with the suite's word for why.
    pub(super) unscored: Vec<(Scenario, String)>,
    pub(super) reasons: Reasons,
}

/// What is behind the gateway that the suite tests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Behind {
    /// The revision that the server behind it speaks.
    pub(super) era: &'static str,
    /// Whether the suite asks at the address of a profile.
    pub(super) in_profile: bool,
}

impl Behind {
    pub(super) fn server(era: &'static str) -> Self {
        Self { era, in_profile: false }
    }

    pub(super) fn profile(era: &'static str) -> Self {
        Self { era, in_profile: true }
    }
}

impl Display for Behind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let profile = if self.in_profile { ", through a profile" } else { "" };
        write!(f, "{}{profile}", self.era)
    }
}

/// How many checks of a scenario passed and failed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scenario {
    pub(super) name: String,
    pub(super) passed: usize,
    pub(super) failed: usize,
    /// Neither failures nor warnings.
    pub(super) passes: bool,
}

impl Pairing {
    pub(super) fn new(
        requirements: &Requirements,
        leg: Leg,
        behind: Option<Behind>,
        told: &str,
        reasons: Reasons,
    ) -> Result<Self> {
        let all = summary(told)?;
        let revision = requirements.revision;
        let find = |name: &str| {
            all.iter().find(|scenario| scenario.name == name).cloned().with_context(|| {
                format!("the suite requires `{name}` for {revision}, but did not run it")
            })
        };
        let scored = requirements.scored(leg).map(find).collect::<Result<_>>()?;
        let unscored = all.iter().filter_map(|scenario| {
            Some((scenario.clone(), requirements.unscored(&scenario.name)?.to_owned()))
        });
        Ok(Self { revision, behind, scored, unscored: unscored.collect(), reasons })
    }

    pub(super) fn failing(&self) -> impl Iterator<Item = &Scenario> {
        self.scored.iter().filter(|scenario| !scenario.passes)
    }
}

/// The lines between the heading of the summary and its total.
pub(super) fn summary(told: &str) -> Result<Vec<Scenario>> {
    let (_, after) = told.split_once("SUMMARY ===").context("the suite printed no summary")?;
    let lines = after.lines().map(str::trim).take_while(|line| !line.starts_with("Total"));
    let scenarios: Option<Vec<_>> =
        lines.filter(|line| line.starts_with(['✓', '✗'])).map(scenario).collect();
    let Some(mut scenarios) = scenarios.filter(|scenarios| !scenarios.is_empty()) else {
        bail!("the suite's summary cannot be read; did its output change?");
    };
    // The summary of servers leaves out warnings; the list of what was expected to fail does not.
    let expected: Vec<&str> =
        after.lines().filter_map(|line| line.trim().strip_prefix("~ ")).collect();
    for scenario in &mut scenarios {
        scenario.passes &= !expected.contains(&scenario.name.as_str());
    }
    Ok(scenarios)
}

/// `✗ server-stateless: 28 passed, 2 failed`
fn scenario(line: &str) -> Option<Scenario> {
    let (mark, line) = line.split_once(' ')?;
    let (name, counts) = line.rsplit_once(": ")?;
    let mut counts = counts.split(", ");
    let mut count = |word| counts.next()?.strip_suffix(word)?.trim().parse().ok();
    let (passed, failed) = (count("passed")?, count("failed")?);
    Some(Scenario { name: name.to_owned(), passed, failed, passes: mark == "✓" })
}
