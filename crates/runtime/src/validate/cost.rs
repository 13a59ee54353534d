//! Limits the cost of a hostile schema, before it is compiled and before arguments are checked against it.
//!
//! A reference is checked wherever it occurs, so twenty-four levels that each refer to the next one twice mean sixteen
//! million checks. The cost of recursive schemas grows with the depth of the arguments, so it is checked with the
//! arguments.

use std::collections::HashMap;

use serde_json::Value;

use super::{SchemaError, document::SchemaDocument, patterns::PatternCost};

/// How many subschemas one check may visit.
pub(super) const MOST_SUBSCHEMAS: u64 = 100_000;

/// How deep subschemas and references may be nested: each level needs stack.
pub(super) const MOST_NESTED: u64 = 256;

/// How deep a recursive schema may be nested with the arguments.
const MOST_NESTED_WITH_ARGUMENTS: u64 = 2_000;

/// How many visits recursion may cause for one call.
const MOST_VISITS: u64 = 1_000_000;

/// How many steps may run on a serving thread, about a millisecond; longer checks run on other threads.
const MOST_INLINE: u64 = 100_000;

/// How many steps one check may take, about a minute: a running check cannot be stopped.
const MOST_STEPS: u64 = 10_000_000_000;

/// How many steps a backtracking match may take, given the validator's limit.
const BACKTRACKING: u64 = 2 * super::BACKTRACK_LIMIT as u64;

/// How many bytes of an automaton one step of a match visits.
const AUTOMATON_BYTES: u64 = 32;

/// The maximal cost of a check against a schema.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SchemaCost {
    /// For one value of the arguments.
    each: ExpandedCost,
    /// The factor by which recursion multiplies with each level of the arguments.
    branching: u64,
    /// The most that one reference expands to.
    largest: u64,
    /// Whether it has references that are not counted here: by URI, or out of the schema.
    is_uncertain: bool,
}

/// How arguments are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CheckEffort {
    /// Immediately: it takes hardly any time.
    Small,
    /// On another thread.
    Large,
    /// Not at all, for this reason.
    TooLarge(&'static str),
}

impl SchemaCost {
    /// Counts what the schema expands to.
    ///
    /// # Errors
    /// The schema costs too much, or is nested too deeply.
    pub(super) fn of(
        schema: &Value,
        document: &SchemaDocument<'_>,
        automata: &HashMap<&str, PatternCost>,
    ) -> Result<Self, SchemaError> {
        let mut count = CostCounter {
            document,
            automata,
            known: HashMap::new(),
            open: vec![schema],
            level: 0,
            steps: 0,
            cost: Self { branching: 1, ..Self::default() },
        };
        let each = count.subschema(schema)?;
        let mut cost = count.cost;
        cost.each = each;
        cost.branching = cost.branching.max(each.returns);
        cost.largest = cost.largest.max(each.visits);
        match each.visits > MOST_SUBSCHEMAS {
            true => Err(SchemaError::TooCostly),
            false => Ok(cost),
        }
    }

    /// Returns how to check the arguments. `is_compiled` says whether the schema is compiled.
    pub(super) fn effort(&self, args: &Value, is_compiled: bool) -> CheckEffort {
        let size = ArgumentSize::of(args);
        let is_recursive = self.each.returns > 0;
        let mut growth: u64 = 1;
        if self.branching > 1 {
            for _ in 0..size.depth {
                growth = growth.saturating_mul(self.branching);
                if growth > MOST_VISITS {
                    return CheckEffort::TooLarge(TOO_DEEP);
                }
            }
        }
        if is_recursive
            && (size.depth + 1).saturating_mul(self.each.nested) > MOST_NESTED_WITH_ARGUMENTS
        {
            return CheckEffort::TooLarge(TOO_DEEP);
        }
        let returned = self.each.returns.saturating_mul(self.largest);
        let visits = self.each.visits.saturating_add(returned).saturating_mul(size.values);
        let matched = (self.each.automata / AUTOMATON_BYTES).saturating_mul(size.bytes);
        let turned_back = self.each.backtracking.saturating_mul(size.values * BACKTRACKING);
        let steps = visits.saturating_add(matched).saturating_add(turned_back);
        let steps = steps.saturating_mul(growth);
        let compiles_fast =
            is_compiled || self.each.visits < 1_000 && self.each.automata < 64 << 10;
        match steps {
            steps if steps > MOST_STEPS => CheckEffort::TooLarge(TOO_MUCH),
            steps if steps <= MOST_INLINE && !self.is_uncertain && compiles_fast => {
                CheckEffort::Small
            }
            _ => CheckEffort::Large,
        }
    }

    /// Returns the maximal number of subschemas that one value is checked against.
    #[cfg(test)]
    pub(super) fn visits(&self) -> u64 {
        self.each.visits
    }
}

const TOO_DEEP: &str = "the arguments are nested too deeply for this tool's schema";
const TOO_MUCH: &str = "the arguments are too large for this tool's schema";

/// The size of arguments.
struct ArgumentSize {
    values: u64,
    /// Of texts and names.
    bytes: u64,
    depth: u64,
}

impl ArgumentSize {
    fn of(value: &Value) -> Self {
        let mut size = Self { values: 0, bytes: 0, depth: 0 };
        size.add(value, 0);
        size
    }

    fn add(&mut self, value: &Value, depth: u64) {
        self.values += 1;
        self.depth = self.depth.max(depth);
        match value {
            Value::String(text) => self.bytes += text.len() as u64,
            Value::Array(items) => {
                self.depth = self.depth.max(depth + 1);
                items.iter().for_each(|item| self.add(item, depth + 1));
            }
            Value::Object(object) => {
                self.depth = self.depth.max(depth + 1);
                for (name, value) in object {
                    self.bytes += name.len() as u64;
                    self.add(value, depth + 1);
                }
            }
            _ => {}
        }
    }
}

/// What a subschema expands to.
#[derive(Clone, Copy, Debug, Default)]
struct ExpandedCost {
    /// Subschemas visited, and options compared with.
    visits: u64,
    /// How often it refers to a subschema that is being counted.
    returns: u64,
    /// Bytes of the automata that texts are matched with.
    automata: u64,
    /// How many of those backtrack.
    backtracking: u64,
    /// The longest chain of subschemas in subschemas.
    nested: u64,
}

impl ExpandedCost {
    const VISIT: Self = Self { visits: 1, returns: 0, automata: 0, backtracking: 0, nested: 1 };

    /// Adds a sibling.
    fn add(&mut self, other: Self) {
        self.visits = self.visits.saturating_add(other.visits);
        self.returns = self.returns.saturating_add(other.returns);
        self.automata = self.automata.saturating_add(other.automata);
        self.backtracking = self.backtracking.saturating_add(other.backtracking);
        self.nested = self.nested.max(other.nested);
    }

    fn matches(&mut self, automaton: PatternCost) {
        self.automata = self.automata.saturating_add(automaton.bytes);
        self.backtracking += u64::from(automaton.backtracks);
    }

    /// Returns the larger of both, for each count.
    fn or(self, other: Self) -> Self {
        Self {
            visits: self.visits.max(other.visits),
            returns: self.returns.max(other.returns),
            automata: self.automata.max(other.automata),
            backtracking: self.backtracking.max(other.backtracking),
            nested: self.nested.max(other.nested),
        }
    }
}

struct CostCounter<'a, 'd> {
    document: &'d SchemaDocument<'a>,
    automata: &'d HashMap<&'d str, PatternCost>,
    /// What was counted already.
    known: HashMap<*const Value, ExpandedCost>,
    /// The targets of references that are being counted: meeting one again means recursion.
    open: Vec<&'a Value>,
    /// The current depth.
    level: u64,
    /// How many subschemas were visited.
    steps: u64,
    cost: SchemaCost,
}

impl<'a> CostCounter<'a, '_> {
    /// Counts a subschema, or a list of them.
    fn subschema(&mut self, value: &'a Value) -> Result<ExpandedCost, SchemaError> {
        match value {
            Value::Object(object) => {
                self.enter()?;
                let mut sum = ExpandedCost::VISIT;
                for (keyword, value) in object {
                    let mut inner = self.keyword(keyword, value)?;
                    inner.nested += 1;
                    sum.add(inner);
                }
                self.level -= 1;
                Ok(sum)
            }
            Value::Array(items) => {
                let mut sum = ExpandedCost::default();
                for item in items {
                    sum.add(self.subschema(item)?);
                }
                Ok(sum)
            }
            Value::Bool(_) | Value::String(_) => Ok(ExpandedCost::VISIT),
            Value::Null | Value::Number(_) => Ok(ExpandedCost::default()),
        }
    }

    /// Counts the value of a keyword. The value of an unknown keyword is counted as a subschema.
    fn keyword(&mut self, keyword: &str, value: &'a Value) -> Result<ExpandedCost, SchemaError> {
        let mut sum = ExpandedCost::default();
        match (keyword, value) {
            ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => {
                return self.reference(keyword, reference);
            }
            // Definitions cost nothing until they are referred to, data costs nothing at all.
            ("$defs" | "definitions" | "const" | "default" | "examples", _) => {}
            ("enum", Value::Array(options)) => sum.visits = options.len() as u64,
            ("pattern", Value::String(pattern)) => sum.matches(self.automaton(pattern)),
            // The keys are property names here.
            (
                "properties" | "patternProperties" | "dependentSchemas" | "dependencies",
                Value::Object(subschemas),
            ) => {
                for (name, subschema) in subschemas {
                    if keyword == "patternProperties" {
                        sum.matches(self.automaton(name));
                    }
                    sum.add(self.subschema(subschema)?);
                }
            }
            (_, Value::Object(_) | Value::Array(_) | Value::Bool(_)) => {
                return self.subschema(value);
            }
            _ => {}
        }
        Ok(sum)
    }

    fn automaton(&self, pattern: &str) -> PatternCost {
        self.automata.get(pattern).copied().unwrap_or_default()
    }

    /// Counts the most that a reference can lead to.
    fn reference(&mut self, keyword: &str, reference: &str) -> Result<ExpandedCost, SchemaError> {
        let targets = self.document.targets(keyword, reference);
        // A URI may lead to the meta-schema, which every validator has.
        self.cost.is_uncertain |= targets.is_empty() || !reference.starts_with('#');
        let mut most = ExpandedCost::VISIT;
        for target in targets {
            most = most.or(self.target(target)?);
        }
        Ok(most)
    }

    fn target(&mut self, target: &'a Value) -> Result<ExpandedCost, SchemaError> {
        if self.open.iter().any(|open| std::ptr::eq(*open, target)) {
            return Ok(ExpandedCost { returns: 1, ..ExpandedCost::VISIT });
        }
        if let Some(known) = self.known.get(&std::ptr::from_ref(target)) {
            return match self.level + known.nested > MOST_NESTED {
                true => Err(SchemaError::TooNested),
                false => Ok(*known),
            };
        }
        self.enter()?;
        self.open.push(target);
        let mut expanded = self.subschema(target)?;
        self.open.pop();
        self.level -= 1;
        expanded.nested += 1;
        self.cost.branching = self.cost.branching.max(expanded.returns);
        self.cost.largest = self.cost.largest.max(expanded.visits);
        // Parts with their own base URIs are compiled again for each path to them, so each path is counted.
        if !self.document.has_resources() {
            self.known.insert(target, expanded);
        }
        Ok(expanded)
    }

    /// Goes one level deeper.
    fn enter(&mut self) -> Result<(), SchemaError> {
        self.level += 1;
        self.steps += 1;
        if self.level > MOST_NESTED {
            return Err(SchemaError::TooNested);
        }
        // Since parts are counted only once, the steps are bounded by the size of the schema.
        match self.document.has_resources() && self.steps > MOST_SUBSCHEMAS {
            true => Err(SchemaError::TooCostly),
            false => Ok(()),
        }
    }
}
