//! The loop's settings.

use std::num::{NonZeroU32, NonZeroUsize};

use serde::Deserialize;
use switchboard_toolcall::{HumanDuration, ToolPatterns};

use crate::ToolBudget;

/// The settings of the loop.
#[derive(Clone, Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How often the model is asked at most; the last time without tools.
    pub max_iterations: NonZeroU32,
    /// How many calls of one turn run at once.
    pub max_parallel: NonZeroUsize,
    /// Whether calls of tools that are not read-only run one at a time, in the model's order.
    pub sequential_writes: bool,
    /// How many tokens, in and out, may be spent before no more calls are run.
    pub token_budget: Option<u64>,
    /// How much a run may cost, by the `price` of its model, before no more calls are run.
    pub cost_budget: Option<f64>,
    /// The model of `[models.*]` that summarises the oldest turns of a conversation that no longer fits; the one that answers, if
    /// unset.
    pub summary_model: Option<String>,
    /// How long it may all take.
    pub time_budget: Option<HumanDuration>,
    /// Tools that may be called again and again with the same arguments, as patterns.
    pub polling_tools: ToolPatterns,
    /// How many tokens the definitions of tools may take: a number, a percentage of the model's window, or `off`. If they
    /// would take more, the model is offered the pinned tools, and searches for the others.
    pub tool_budget: ToolBudget,
    /// Tools that are offered even if the model searches for tools, as patterns.
    pub pinned: ToolPatterns,
    /// Whether turns come in pieces.
    pub stream: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            max_iterations: NonZeroU32::MIN.saturating_add(9),
            max_parallel: NonZeroUsize::MIN.saturating_add(7),
            sequential_writes: false,
            token_budget: None,
            cost_budget: None,
            summary_model: None,
            time_budget: None,
            polling_tools: ToolPatterns::default(),
            tool_budget: ToolBudget::default(),
            pinned: ToolPatterns::default(),
            stream: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // ML-4
    #[test]
    fn settings_have_defaults_and_no_strangers() {
        let config: Config = toml::from_str("").unwrap();
        assert_eq!(config.max_iterations.get(), 10);
        let text = "time_budget = '2m'\ntoken_budget = 9\npolling_tools = ['job_*']";
        let config: Config = toml::from_str(text).unwrap();
        assert_eq!(config.time_budget.map(|budget| budget.0.as_secs()), Some(120));
        assert!(config.polling_tools.matches("job_status"));
        assert_eq!(config.tool_budget, ToolBudget::Percent(5.0));
        let config: Config = toml::from_str("tool_budget = 900\npinned = ['fs__*']").unwrap();
        assert_eq!(config.tool_budget, ToolBudget::Tokens(900));
        assert!(config.pinned.matches("fs__read_file"));
        let config: Config = toml::from_str("cost_budget = 0.5\nsummary_model = 'small'").unwrap();
        assert_eq!(config.cost_budget, Some(0.5));
        for wrong in [
            "cost_budget = 'much'",
            "tool_budget = -1",
            "tool_budget = 'all'",
            "max_iteration = 3",
            "max_iterations = 0",
            "polling_tools = ['a{']",
        ] {
            assert!(toml::from_str::<Config>(wrong).is_err(), "{wrong}");
        }
    }
}
