//! `tool_budget` of `[agent]` and of profiles: how much of a model's window the definitions of tools may take.

use std::{borrow::Cow, fmt, str::FromStr};

use serde::{Deserialize, Deserializer, de};

/// How many tokens the definitions of tools may take; if they take more, the model searches for tools (SPEC FT-3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ToolBudget {
    /// Any number: all tools are always offered.
    Off,
    /// This many tokens.
    Tokens(u64),
    /// This many percent of the model's window.
    Percent(f64),
}

impl Default for ToolBudget {
    fn default() -> Self {
        Self::Percent(5.0)
    }
}

impl ToolBudget {
    /// Returns the tokens for a window of this size; `None` if there is no limit.
    pub fn tokens(self, window: u64) -> Option<u64> {
        match self {
            Self::Off => None,
            Self::Tokens(tokens) => Some(tokens),
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss,
                reason = "windows are small numbers, and percentages are never negative"
            )]
            Self::Percent(percent) => Some((window as f64 * percent / 100.0) as u64),
        }
    }
}

impl FromStr for ToolBudget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || format!("`{text}` is not a budget: a number of tokens, \"5%\" or \"off\"");
        if text == "off" {
            return Ok(Self::Off);
        }
        let Some(percent) = text.strip_suffix('%') else {
            return text.parse().map(Self::Tokens).map_err(|_| wrong());
        };
        let percent: f64 = percent.trim().parse().map_err(|_| wrong())?;
        (0.0..=100.0).contains(&percent).then_some(Self::Percent(percent)).ok_or_else(wrong)
    }
}

impl<'de> Deserialize<'de> for ToolBudget {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BudgetVisitor;

        impl de::Visitor<'_> for BudgetVisitor {
            type Value = ToolBudget;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of tokens, a percentage such as \"5%\", or \"off\"")
            }

            fn visit_u64<E: de::Error>(self, tokens: u64) -> Result<ToolBudget, E> {
                Ok(ToolBudget::Tokens(tokens))
            }

            fn visit_i64<E: de::Error>(self, tokens: i64) -> Result<ToolBudget, E> {
                let negative = |_| E::invalid_value(de::Unexpected::Signed(tokens), &self);
                u64::try_from(tokens).map(ToolBudget::Tokens).map_err(negative)
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ToolBudget, E> {
                text.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_any(BudgetVisitor)
    }
}

impl schemars::JsonSchema for ToolBudget {
    fn schema_name() -> Cow<'static, str> {
        "ToolBudget".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"anyOf": [
            {"type": "integer", "minimum": 0},
            {"type": "string", "pattern": "^(off|[0-9]+|[0-9]+(\\.[0-9]+)? ?%)$"},
        ]})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // FT-3
    #[test]
    fn budgets_are_tokens_percentages_or_off() {
        let tokens = |text: &str| text.parse::<ToolBudget>().map(|budget| budget.tokens(32_768));
        assert_eq!(tokens("5%"), Ok(Some(1638)));
        assert_eq!(tokens("0.5%"), Ok(Some(163)));
        assert_eq!(tokens("900"), Ok(Some(900)));
        assert_eq!(tokens("off"), Ok(None));
        for wrong in ["", "five", "-5%", "101%", "NaN%", "5 tokens"] {
            assert!(tokens(wrong).is_err(), "{wrong}");
        }
    }
}
