//! Variables, and the budgets of time, memory and depth.

use std::{collections::HashMap, rc::Rc};

use crate::{
    Limits,
    error::{Error, Result},
    units::System,
    value::Value,
};

/// The state of one evaluation.
pub(crate) struct Context {
    limits: Limits,
    operations: u64,
    depth: usize,
    variables: HashMap<Rc<str>, Value>,
    /// The value of `end` inside the indices being evaluated, innermost last.
    ends: Vec<Option<f64>>,
    units: System,
    random: u64,
}

impl Context {
    pub(crate) fn new(limits: &Limits) -> Self {
        let seed = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0);
        Self {
            limits: limits.clone(),
            operations: limits.operations,
            depth: 0,
            variables: HashMap::new(),
            ends: Vec::new(),
            units: System::new(),
            random: seed,
        }
    }

    /// Takes `steps` from the budget.
    pub(crate) fn spend(&mut self, steps: usize) -> Result<()> {
        match self.operations.checked_sub(steps as u64) {
            Some(left) => {
                self.operations = left;
                Ok(())
            }
            None => Err(Error::Limit(format!(
                "The expression takes too long, at most {} operations",
                self.limits.operations
            ))),
        }
    }

    /// Takes room for `count` matrix elements from the budget.
    pub(crate) fn reserve(&mut self, count: usize) -> Result<()> {
        if count > self.limits.elements {
            let message = format!(
                "The matrix is too large ({count} elements, at most {})",
                self.limits.elements
            );
            return Err(Error::Limit(message));
        }
        self.spend(count)
    }

    /// Room for a matrix of `size`.
    pub(crate) fn reserve_size(&mut self, size: &[usize]) -> Result<()> {
        // A length of zero makes the product zero, however large the other lengths are.
        let count =
            size.iter().fold(1usize, |count, length| count.saturating_mul((*length).max(1)));
        self.reserve(count.saturating_add(size.len()))
    }

    /// Takes room for a text of `length` bytes from the budget.
    pub(crate) fn reserve_text(&mut self, length: usize) -> Result<()> {
        if length > self.limits.length {
            let message =
                format!("The text is too long ({length} bytes, at most {})", self.limits.length);
            return Err(Error::Limit(message));
        }
        self.spend(length / 8 + 1)
    }

    /// Fails if `value` is nested too deeply to be walked or dropped safely; only stored values can grow that deep.
    fn check_nesting(&mut self, value: &Value, level: usize) -> Result<()> {
        self.spend(1)?;
        if level > self.limits.nesting {
            return Err(Error::Limit(format!(
                "The value is nested too deeply, at most {} levels",
                self.limits.nesting
            )));
        }
        match value {
            Value::Matrix(matrix) => {
                self.spend(matrix.items.len() / 16)?;
                let nested = |item: &&Value| {
                    matches!(item, Value::Object(_) | Value::Function(_) | Value::Matrix(_))
                };
                matrix
                    .items
                    .iter()
                    .filter(nested)
                    .try_for_each(|item| self.check_nesting(item, level + 1))
            }
            Value::Object(object) => {
                object.values().try_for_each(|item| self.check_nesting(item, level + 1))
            }
            Value::Results(items) => {
                items.iter().try_for_each(|item| self.check_nesting(item, level + 1))
            }
            Value::Function(function) => function
                .captured()
                .into_iter()
                .try_for_each(|item| self.check_nesting(item, level + 1)),
            _ => Ok(()),
        }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Runs `work` one level deeper, unless that is too deep.
    pub(crate) fn deeper<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= self.limits.depth {
            return Err(Error::Limit(format!(
                "Too much recursion, at most {} levels",
                self.limits.depth
            )));
        }
        self.depth += 1;
        let result = work(self);
        self.depth -= 1;
        result
    }

    pub(crate) fn variable(&self, name: &str) -> Option<Value> {
        self.variables.get(name).cloned()
    }

    pub(crate) fn set_variable(&mut self, name: Rc<str>, value: Value) -> Result<()> {
        self.check_nesting(&value, 0)?;
        self.variables.insert(name, value);
        Ok(())
    }

    /// Returns the value of `end` here; `None` outside of indices.
    pub(crate) fn end(&self) -> Option<f64> {
        self.ends.last().copied().flatten()
    }

    /// Runs `work` with this value of `end`.
    pub(crate) fn with_end<T>(
        &mut self,
        end: Option<f64>,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.ends.push(end);
        let result = work(self);
        self.ends.pop();
        result
    }

    pub(crate) fn units(&self) -> &System {
        &self.units
    }

    pub(crate) fn units_mut(&mut self) -> &mut System {
        &mut self.units
    }

    /// A random number from 0 up to 1 (xorshift; nothing here needs to be unguessable).
    pub(crate) fn random(&mut self) -> f64 {
        self.random |= 1;
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as f64 / (1u64 << 53) as f64
    }
}
