//! The binary operators, from `or` down to `*`.

use std::rc::Rc;

use super::ExpressionParser;
use crate::{
    error::Result,
    lexer::TokenKind,
    syntax::{
        Comparison,
        Operator::{self, *},
        SyntaxNode,
    },
    value::Value,
};

/// The plain left-associative levels, loosest first; comparison comes after the last.
const LOOSE_LEVELS: [(&str, Operator); 6] =
    [("or", Or), ("xor", Xor), ("and", And), ("|", BitOr), ("^|", BitXor), ("&", BitAnd)];

const COMPARISONS: [(&str, Comparison); 6] = [
    ("==", Comparison::Equal),
    ("!=", Comparison::Unequal),
    ("<", Comparison::Smaller),
    (">", Comparison::Larger),
    ("<=", Comparison::SmallerOrEqual),
    (">=", Comparison::LargerOrEqual),
];

const SHIFTS: [(&str, Operator); 3] =
    [("<<", LeftShift), (">>", RightArithmeticShift), (">>>", RightLogicalShift)];
const CONVERSIONS: [(&str, Operator); 2] = [("to", Convert), ("in", Convert)];
const SUMS: [(&str, Operator); 2] = [("+", Add), ("-", Subtract)];
const PRODUCTS: [(&str, Operator); 6] = [
    ("*", Multiply),
    (".*", DotMultiply),
    ("/", Divide),
    ("./", DotDivide),
    ("%", Modulus),
    ("mod", Modulus),
];

impl ExpressionParser<'_> {
    /// The operators of `LOOSE_LEVELS` from `level` on.
    pub(super) fn binary(&mut self, level: usize) -> Result<Rc<SyntaxNode>> {
        let Some(&(text, operator)) = LOOSE_LEVELS.get(level) else { return self.relational() };
        let first = self.binary(level + 1)?;
        let mut rest = Vec::new();
        while self.at(text) {
            self.cursor.advance_past_newlines()?;
            rest.push((operator, self.binary(level + 1)?));
        }
        Ok(chain(first, rest))
    }

    fn relational(&mut self) -> Result<Rc<SyntaxNode>> {
        let first = self.shift()?;
        let mut rest = Vec::new();
        while let Some(comparison) = self.operator(&COMPARISONS) {
            self.cursor.advance_past_newlines()?;
            rest.push((comparison, self.shift()?));
        }
        Ok(if rest.is_empty() { first } else { Rc::new(SyntaxNode::Relational(first, rest)) })
    }

    fn operator<T: Copy>(&self, operators: &[(&str, T)]) -> Option<T> {
        let at_operator = |(text, _): &&(&str, T)| self.at(text);
        operators.iter().find(at_operator).map(|(_, operator)| *operator)
    }

    fn shift(&mut self) -> Result<Rc<SyntaxNode>> {
        let first = self.conversion()?;
        let mut rest = Vec::new();
        while let Some(operator) = self.operator(&SHIFTS) {
            self.cursor.advance_past_newlines()?;
            rest.push((operator, self.conversion()?));
        }
        Ok(chain(first, rest))
    }

    fn conversion(&mut self) -> Result<Rc<SyntaxNode>> {
        let first = self.range()?;
        let mut rest = Vec::new();
        while let Some(operator) = self.operator(&CONVERSIONS) {
            let name = self.cursor.token;
            self.cursor.advance_past_newlines()?;
            // With nothing to convert to, `in` is the inch.
            if name == "in" && "])},;".contains(self.cursor.token) {
                rest.push((ImplicitMultiply, Rc::new(SyntaxNode::Symbol("in".into()))));
            } else {
                rest.push((operator, self.range()?));
            }
        }
        Ok(chain(first, rest))
    }

    fn range(&mut self) -> Result<Rc<SyntaxNode>> {
        let start = if !self.at(":") {
            self.sum()?
        } else if self.in_conditional() {
            return Err(self
                .cursor
                .error("The true-expression of a conditional operator may not be empty"));
        } else {
            Rc::new(SyntaxNode::Constant(Value::Number(1.0)))
        };
        let mut parts = Vec::new();
        while self.at(":") && !(parts.is_empty() && self.in_conditional()) && parts.len() < 2 {
            self.cursor.advance_past_newlines()?;
            let open_ended = [")", "]", ",", ""].contains(&self.cursor.token)
                && self.cursor.kind == TokenKind::Delimiter;
            parts.push(if open_ended {
                Rc::new(SyntaxNode::Symbol("end".into()))
            } else {
                self.sum()?
            });
        }
        let Some(end) = parts.pop() else { return Ok(start) };
        Ok(Rc::new(SyntaxNode::Range { start, step: parts.pop(), end }))
    }

    fn in_conditional(&self) -> bool {
        self.cursor.conditional == Some(self.cursor.nesting)
    }

    fn sum(&mut self) -> Result<Rc<SyntaxNode>> {
        let first = self.product()?;
        let mut rest = Vec::new();
        while let Some(operator) = self.operator(&SUMS) {
            self.cursor.advance_past_newlines()?;
            rest.push((operator, self.product()?));
        }
        Ok(chain(first, rest))
    }

    fn product(&mut self) -> Result<Rc<SyntaxNode>> {
        let first = self.implicit_product()?;
        let mut rest = Vec::new();
        while let Some(operator) = self.operator(&PRODUCTS) {
            self.cursor.advance_past_newlines()?;
            rest.push((operator, self.implicit_product()?));
        }
        Ok(chain(first, rest))
    }
}

/// `first` with the operations in `rest`, or just `first`.
pub(super) fn chain(
    first: Rc<SyntaxNode>,
    rest: Vec<(Operator, Rc<SyntaxNode>)>,
) -> Rc<SyntaxNode> {
    if rest.is_empty() { first } else { Rc::new(SyntaxNode::Chain(first, rest)) }
}
