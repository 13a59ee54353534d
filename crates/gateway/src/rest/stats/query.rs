//! The query parameters of figures.

use std::{
    str::FromStr,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Deserializer, de::Error};
use switchboard_audit::{FigureWindow, Filter, GroupBy, HumanTime};
use switchboard_toolcall::HumanDuration;
use utoipa::{IntoParams, ToSchema};

use crate::rest::calls::flag;

/// How many steps there are at most.
const MOST_STEPS: u128 = 1000;
/// The default number of steps.
const USUAL_STEPS: u32 = 60;
/// The default and the largest number of groups.
const GROUPS: (usize, usize) = (50, 500);

/// What may follow the question mark.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct StatsQuery {
    /// Since when: a time, or a duration such as `1h` before now, which is the default.
    #[serde(default, deserialize_with = "read")]
    #[param(value_type = Option<String>, nullable = false, pattern = "^([1-9][0-9]{0,2}(s|m|h|d)|[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z)$")]
    since: Option<HumanTime>,
    /// Until when; now by default.
    #[serde(default, deserialize_with = "read")]
    #[param(value_type = Option<String>, nullable = false, pattern = "^([1-9][0-9]{0,2}(s|m|h|d)|[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z)$")]
    until: Option<HumanTime>,
    /// The length of a step; a sixtieth of the time by default. There are at most 1000.
    #[param(value_type = Option<String>, nullable = false, pattern = "^[1-9][0-9]{0,3}(s|m|h|d)$")]
    step: Option<HumanDuration>,
    /// What calls are grouped by.
    #[param(inline, nullable = false)]
    by: Option<StatsGroupBy>,
    /// Which groups come first.
    #[param(inline, nullable = false)]
    sort: Option<StatsSort>,
    /// How many groups are returned; 50 by default.
    #[param(minimum = 0, maximum = 500, nullable = false)]
    top: Option<usize>,
    /// A glob of the tool's name.
    #[param(nullable = false, pattern = "^[A-Za-z0-9_.*-]*$")]
    tool: Option<String>,
    /// The server that the tool belongs to.
    #[param(nullable = false)]
    server: Option<String>,
    /// The caller.
    #[param(nullable = false)]
    caller: Option<String>,
    /// The calls of all nodes of the cluster.
    #[serde(default, alias = "fleet", deserialize_with = "flag")]
    #[param(required = false)]
    pub(super) cluster: bool,
}

/// What calls are grouped by.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StatsGroupBy {
    #[default]
    Tool,
    Caller,
    Server,
}

/// Which groups come first.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StatsSort {
    /// Those with most calls.
    #[default]
    Calls,
    /// Those with most failures.
    Failures,
    /// The slowest.
    P95,
}

impl StatsQuery {
    /// Returns the requested time window, aligned to whole steps so that two responses can be compared.
    pub(super) fn window(&self, now: SystemTime) -> Result<FigureWindow, String> {
        let since = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default();
        let hour = Duration::from_secs(60 * 60);
        let until = since(self.until.map_or(now, |moment| moment.0));
        let from = self.since.map_or(until.saturating_sub(hour), |moment| since(moment.0));
        let span = until.checked_sub(from).filter(|span| !span.is_zero());
        let span = span.ok_or("since: it must be before `until`")?;
        let usual = (span / USUAL_STEPS).max(Duration::from_secs(1));
        let step = self.step.map_or(usual, |step| step.0).as_millis().max(1);
        let first = from.as_millis() / step;
        let steps = until.as_millis().div_ceil(step) - first;
        if steps > MOST_STEPS {
            let least = HumanDuration(Duration::from_secs((span.as_secs() / 999).max(1)));
            return Err(format!(
                "step: that would be {steps} steps, and {MOST_STEPS} are the most; try {least}"
            ));
        }
        let milliseconds =
            |number: u128| Duration::from_millis(u64::try_from(number).unwrap_or(u64::MAX));
        Ok(FigureWindow {
            from: UNIX_EPOCH + milliseconds(first * step),
            step: milliseconds(step),
            steps: usize::try_from(steps).unwrap_or_default(),
            by: match self.by.unwrap_or_default() {
                StatsGroupBy::Tool => GroupBy::Tool,
                StatsGroupBy::Caller => GroupBy::Caller,
                StatsGroupBy::Server => GroupBy::Server,
            },
        })
    }

    /// Returns which calls count, besides their time.
    pub(super) fn filter(&self) -> Filter {
        Filter {
            tool: self.tool.clone(),
            server: self.server.clone(),
            caller: self.caller.clone(),
            ..Filter::default()
        }
    }

    pub(super) fn by_name(&self) -> &'static str {
        match self.by.unwrap_or_default() {
            StatsGroupBy::Tool => "tool",
            StatsGroupBy::Caller => "caller",
            StatsGroupBy::Server => "server",
        }
    }

    pub(super) fn sort(&self) -> StatsSort {
        self.sort.unwrap_or_default()
    }

    pub(super) fn top(&self) -> usize {
        self.top.unwrap_or(GROUPS.0).min(GROUPS.1)
    }
}

fn read<'de, D: Deserializer<'de>, T: FromStr<Err = String>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    String::deserialize(deserializer)?.trim().parse().map(Some).map_err(D::Error::custom)
}
