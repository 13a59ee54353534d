//! Implicit multiplication, percentages, signs, powers and postfix operators.

use std::rc::Rc;

use super::{ExpressionParser, operators::chain};
use crate::{
    error::Result,
    lexer::TokenKind,
    syntax::{Operator, SyntaxNode, Unary},
};

const SIGNS: [(&str, Unary); 4] =
    [("-", Unary::Minus), ("+", Unary::Plus), ("~", Unary::BitNot), ("not", Unary::Not)];

impl ExpressionParser<'_> {
    /// Factors that stand side by side, as in `2 pi (3)`.
    pub(super) fn implicit_product(&mut self) -> Result<Rc<SyntaxNode>> {
        let first = self.fraction()?;
        let mut rest: Vec<(Operator, Rc<SyntaxNode>)> = Vec::new();
        loop {
            let last = rest.last().map_or(&first, |(_, node)| node);
            let inch = self.at("in") && rest.is_empty() && is_signed_constant(&first);
            let number = self.cursor.kind == TokenKind::Number && may_precede_number(last);
            if !(self.cursor.kind == TokenKind::Symbol || inch || number || self.at("(")) {
                return Ok(chain(first, rest));
            }
            rest.push((Operator::ImplicitMultiply, self.fraction()?));
        }
    }

    /// A literal fraction before a factor binds first: `1/2 x` is `(1/2) x`, while `1/x y` is `1/(x y)`.
    fn fraction(&mut self) -> Result<Rc<SyntaxNode>> {
        let first = self.percentage()?;
        let mut rest: Vec<(Operator, Rc<SyntaxNode>)> = Vec::new();
        loop {
            let last = rest.last().map_or(&first, |(_, node)| node);
            if !self.at("/") || !is_fraction_part(last) {
                return Ok(chain(first, rest));
            }
            let before_slash = self.cursor;
            self.cursor.advance_past_newlines()?;
            let before_number = self.cursor;
            if self.cursor.kind == TokenKind::Number {
                self.cursor.advance_past_newlines()?;
                if self.cursor.kind == TokenKind::Symbol || self.at("(") || self.at("in") {
                    self.cursor = before_number;
                    rest.push((Operator::Divide, self.percentage()?));
                    continue;
                }
            }
            self.cursor = before_slash;
            return Ok(chain(first, rest));
        }
    }

    /// `%` is a percentage when no operand follows it, and the modulus operator otherwise.
    fn percentage(&mut self) -> Result<Rc<SyntaxNode>> {
        let node = self.unary()?;
        if !self.at("%") {
            return Ok(node);
        }
        let before = self.cursor;
        self.cursor.advance_past_newlines()?;
        let ahead = self.cursor;
        let key = ahead.key();
        if !self.tried.contains_key(&key) {
            let outcome = self.unary().map(|node| (node, self.cursor));
            self.tried.insert(key, outcome);
        }
        if matches!(self.tried.get(&key), Some(Ok(_))) {
            self.cursor = before;
            return Ok(node);
        }
        self.cursor = ahead;
        Ok(Rc::new(SyntaxNode::Percent(node)))
    }

    fn unary(&mut self) -> Result<Rc<SyntaxNode>> {
        if let Some(outcome) = self.tried.get(&self.cursor.key()) {
            let (node, cursor) = outcome.clone()?;
            self.cursor = cursor;
            return Ok(node);
        }
        self.deeper(|parser| {
            let sign = SIGNS.iter().find(|(text, _)| parser.at(text));
            let Some((_, sign)) = sign else { return parser.power() };
            parser.cursor.advance_past_newlines()?;
            Ok(Rc::new(SyntaxNode::Unary(*sign, parser.unary()?)))
        })
    }

    fn power(&mut self) -> Result<Rc<SyntaxNode>> {
        let base = self.nullish()?;
        let operator = match self.cursor.token {
            "^" => Operator::Power,
            ".^" => Operator::DotPower,
            _ => return Ok(base),
        };
        self.cursor.advance_past_newlines()?;
        // The exponent may have a sign and powers of its own, so powers group from the right.
        let exponent = self.unary()?;
        Ok(chain(base, vec![(operator, exponent)]))
    }

    fn nullish(&mut self) -> Result<Rc<SyntaxNode>> {
        let first = self.postfix()?;
        let mut rest = Vec::new();
        while self.at("??") {
            self.cursor.advance_past_newlines()?;
            rest.push((Operator::Nullish, self.postfix()?));
        }
        Ok(chain(first, rest))
    }

    fn postfix(&mut self) -> Result<Rc<SyntaxNode>> {
        let mut node = self.primary()?;
        let mut count = 0;
        loop {
            let operator = match self.cursor.token {
                "!" => Unary::Factorial,
                "'" if self.cursor.kind == TokenKind::Delimiter => Unary::Transpose,
                _ => return Ok(node),
            };
            count += 1;
            self.check_depth(self.depth + count)?;
            self.cursor.advance()?;
            node = self.accessors(Rc::new(SyntaxNode::Unary(operator, node)))?;
        }
    }
}

fn is_signed_constant(node: &SyntaxNode) -> bool {
    match node {
        SyntaxNode::Constant(_) => true,
        SyntaxNode::Unary(Unary::Minus, operand) => matches!(**operand, SyntaxNode::Constant(_)),
        _ => false,
    }
}

fn is_fraction_part(node: &SyntaxNode) -> bool {
    match node {
        SyntaxNode::Constant(_) => true,
        SyntaxNode::Unary(Unary::Minus | Unary::Plus | Unary::BitNot, operand) => {
            matches!(**operand, SyntaxNode::Constant(_))
        }
        _ => false,
    }
}

/// `(2) 3` and `2! 3` multiply; `2 3` and `2^2 3` do not.
fn may_precede_number(node: &SyntaxNode) -> bool {
    match node {
        SyntaxNode::Unary(operator, _) => *operator == Unary::Factorial,
        SyntaxNode::Constant(_) | SyntaxNode::Chain(..) | SyntaxNode::Percent(_) => false,
        _ => true,
    }
}
