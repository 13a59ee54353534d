//! The query parameters that filter calls.

use std::str::FromStr;

use serde::{Deserialize, Deserializer, de::Error};
use switchboard_audit::{Filter, HumanTime};
use switchboard_toolcall::{CallId, HumanDuration};
use utoipa::IntoParams;

/// What may follow the question mark.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallsQuery {
    /// A glob of the tool's name.
    #[param(nullable = false, pattern = "^[A-Za-z0-9_.*-]*$")]
    tool: Option<String>,
    /// The server that the tool belongs to.
    #[param(nullable = false)]
    server: Option<String>,
    /// The caller.
    #[param(nullable = false)]
    caller: Option<String>,
    /// The conversation that they were part of.
    #[param(nullable = false)]
    conversation: Option<String>,
    /// Only calls with all of these words in their names, arguments, result or error, in any case: `broken bul*`, `"in this order"`. Without a store, and with a profile, results and errors are not searched.
    #[param(nullable = false, min_length = 1, max_length = 200)]
    text: Option<String>,
    /// Only calls that failed.
    #[serde(default, deserialize_with = "flag")]
    #[param(required = false)]
    failed: bool,
    /// Only calls whose outcome is unknown.
    #[serde(default, deserialize_with = "flag")]
    #[param(required = false)]
    unknown: bool,
    /// Only calls that took longer: a duration, or `true` for the executor's `slow_call`.
    #[serde(default, deserialize_with = "slow")]
    #[param(value_type = Option<String>, nullable = false, pattern = "^(true|[0-9]{1,4}(ms|s|m|h|d))$")]
    slow: Option<SlowFilter>,
    /// Only calls since then: a time, or a duration such as `1h` before now.
    #[serde(default, deserialize_with = "read")]
    #[param(value_type = Option<String>, nullable = false, pattern = "^([0-9]{1,4}(ms|s|m|h|d)|[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])(T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z)?)$")]
    since: Option<HumanTime>,
    /// Only calls until then.
    #[serde(default, deserialize_with = "read")]
    #[param(value_type = Option<String>, nullable = false, pattern = "^([0-9]{1,4}(ms|s|m|h|d)|[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])(T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z)?)$")]
    until: Option<HumanTime>,
    /// The calls of all nodes of the cluster: of all gateways and workers, and of commands. `text` is then looked for in names and arguments.
    #[serde(default, alias = "fleet", deserialize_with = "flag")]
    #[param(required = false)]
    pub(super) cluster: bool,
    /// Long arguments too, of more than 4 KiB.
    #[serde(default, deserialize_with = "flag")]
    #[param(required = false)]
    pub(super) whole: bool,
    /// How many calls are returned; 100 by default.
    #[param(minimum = 0, maximum = 10_000, nullable = false)]
    pub(super) limit: Option<usize>,
    /// The last call of the page before.
    #[serde(default, deserialize_with = "call")]
    #[param(value_type = Option<String>, nullable = false, pattern = "^[0-7][0-9A-HJKMNP-TV-Z]{25}$")]
    after: Option<CallId>,
}

/// The threshold for slow calls.
#[derive(Debug)]
enum SlowFilter {
    /// The executor's threshold.
    AsSet,
    Over(HumanDuration),
}

impl CallsQuery {
    /// Converts it to the store's filter.
    pub(super) fn filter(self, slow: HumanDuration) -> Filter {
        Filter {
            tool: self.tool,
            server: self.server,
            caller: self.caller,
            conversation: self.conversation,
            failed: self.failed,
            unknown: self.unknown,
            slower_than: self.slow.map(|asked| match asked {
                SlowFilter::AsSet => slow.0,
                SlowFilter::Over(limit) => limit.0,
            }),
            since: self.since.map(|moment| moment.0),
            until: self.until.map(|moment| moment.0),
            search: self.text,
            after: self.after,
            ..Filter::default()
        }
    }
}

/// Parses `failed`, `failed=true` or `failed=1`.
pub(crate) fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    match String::deserialize(deserializer)?.trim() {
        "" | "1" | "true" => Ok(true),
        "0" | "false" => Ok(false),
        other => Err(D::Error::custom(format_args!("`{other}` is neither true nor false"))),
    }
}

/// Parses `slow`, or `slow=5s`.
fn slow<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SlowFilter>, D::Error> {
    match String::deserialize(deserializer)?.trim() {
        "" | "true" => Ok(Some(SlowFilter::AsSet)),
        limit => limit.parse().map(|limit| Some(SlowFilter::Over(limit))).map_err(D::Error::custom),
    }
}

fn read<'de, D: Deserializer<'de>, T: FromStr<Err = String>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    String::deserialize(deserializer)?.trim().parse().map(Some).map_err(D::Error::custom)
}

fn call<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<CallId>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let wrong = || D::Error::custom(format_args!("after: `{text}` is not the id of a call"));
    CallId::parse(text.trim()).map(Some).ok_or_else(wrong)
}
