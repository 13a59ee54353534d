//! What a model's tokens cost (SPEC RN-4).

use serde::{Deserialize, Serialize};

use crate::Usage;

/// The price of a million tokens, in whatever currency the settings are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// The price of input tokens.
    pub input: f64,
    /// The price of output tokens.
    pub output: f64,
}

impl Price {
    /// Returns what these tokens cost.
    #[expect(clippy::cast_precision_loss, reason = "nobody pays for 2^53 tokens")]
    pub fn cost(self, usage: Usage) -> f64 {
        let millionths =
            self.input * usage.input_tokens as f64 + self.output * usage.output_tokens as f64;
        // Sums of decimal fractions are not shown with the noise of binary ones.
        (millionths * 1e3).round() / 1e9
    }

    /// Returns what is wrong with it, if anything.
    pub(crate) fn problem(self) -> Option<&'static str> {
        let is_price = |price: f64| price.is_finite() && price >= 0.0;
        let is_valid = is_price(self.input) && is_price(self.output);
        (!is_valid).then_some("`price`: what a million tokens cost, 0 or more")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // RN-4
    #[test]
    fn tokens_are_paid_by_the_million() {
        let price = Price { input: 3.0, output: 15.0 };
        let cost = |input_tokens, output_tokens| price.cost(Usage { input_tokens, output_tokens });
        assert_eq!(cost(1_000_000, 1_000_000), 18.0);
        assert_eq!(cost(120, 9), 0.000_495);
        assert_eq!(
            Price { input: 0.1, output: 0.2 }.cost(Usage { input_tokens: 1, output_tokens: 1 }),
            3e-7
        );
        assert!(price.problem().is_none());
        assert!(Price { input: -1.0, ..price }.problem().is_some());
        assert!(Price { output: f64::NAN, ..price }.problem().is_some());
    }
}
