//! Bounds on what one expression may cost.

use crate::error::{Error, Result};

/// Bounds on what one expression may cost; the defaults end any expression in a fraction of a second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Longest expression, in bytes.
    pub length: usize,
    /// Deepest nesting of parentheses, signs, powers and the like.
    pub nesting: usize,
    /// Deepest recursion while evaluating, function calls included.
    pub depth: usize,
    /// Steps of work: nodes visited, matrix elements and characters made.
    pub operations: u64,
    /// Most elements in one matrix.
    pub elements: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            length: 16_384,
            nesting: 256,
            depth: 1_000,
            operations: 2_000_000,
            elements: 200_000,
        }
    }
}

/// Stack for one level of nesting or recursion; unoptimised builds need most of it.
const STACK_PER_LEVEL: usize = 32 * 1024;

impl Limits {
    pub(crate) fn check_length(&self, expression: &str) -> Result<()> {
        if expression.len() <= self.length {
            return Ok(());
        }
        let message = format!(
            "The expression is too long ({} bytes, at most {})",
            expression.len(),
            self.length
        );
        Err(Error::Limit(message))
    }

    /// Memory to reserve for the stack; untouched pages cost nothing.
    pub(crate) fn stack_size(&self) -> usize {
        (self.nesting + self.depth + 32) * STACK_PER_LEVEL
    }
}
