//! How long records of single tools are kept.

use std::{collections::BTreeMap, time::Duration};

use serde::Deserialize;
use switchboard_toolcall::{HumanDuration, ToolPattern};

/// Ages by globs of tool names.
#[derive(Clone, Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "BTreeMap<String, HumanDuration>")]
pub struct ToolAges(#[schemars(with = "BTreeMap<String, HumanDuration>")] Vec<ToolAge>);

#[derive(Clone, Debug)]
struct ToolAge {
    glob: String,
    pattern: ToolPattern,
    age: HumanDuration,
}

impl ToolAges {
    /// Returns the shortest of the ages whose globs match a tool.
    pub fn of(&self, tool: &str) -> Option<Duration> {
        let matching = self.0.iter().filter(|tools| tools.pattern.matches(tool));
        matching.map(|tools| tools.age.0).min()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Checks that none is longer than `most`.
    pub(super) fn check(&self, most: HumanDuration) -> Result<(), String> {
        match self.0.iter().find(|tools| tools.age > most) {
            None => Ok(()),
            Some(ToolAge { glob, .. }) => Err(format!(
                "`tool_max_age` of `{glob}` is longer than `max_age`, after which segments of the journal are deleted with the calls of all tools: raise `max_age`, and shorten the others here"
            )),
        }
    }
}

impl TryFrom<BTreeMap<String, HumanDuration>> for ToolAges {
    type Error = String;

    fn try_from(ages: BTreeMap<String, HumanDuration>) -> Result<Self, String> {
        let age = |(glob, age): (String, HumanDuration)| match glob.parse::<ToolPattern>() {
            Ok(pattern) => Ok(ToolAge { glob, pattern, age }),
            Err(error) => Err(error.to_string()),
        };
        ages.into_iter().map(age).collect::<Result<_, _>>().map(Self)
    }
}

impl PartialEq for ToolAges {
    fn eq(&self, other: &Self) -> bool {
        let ages = |ages: &Self| -> Vec<_> {
            ages.0.iter().map(|tools| (tools.glob.clone(), tools.age)).collect()
        };
        ages(self) == ages(other)
    }
}
