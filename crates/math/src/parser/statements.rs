//! Blocks, assignments and conditionals.

use std::rc::Rc;

use super::ExpressionParser;
use crate::{error::Result, syntax::SyntaxNode, value::Value};

impl ExpressionParser<'_> {
    /// Statements separated by `;` (silent) or line breaks (visible).
    pub(super) fn block(&mut self) -> Result<Rc<SyntaxNode>> {
        let mut only = None;
        let mut statements = Vec::new();
        if !self.at_separator() && !self.cursor.token.is_empty() {
            only = Some(self.assignment()?);
        }
        while self.at_separator() {
            if let Some(first) = only.take() {
                statements.push((first, !self.at(";")));
            }
            self.cursor.advance()?;
            if !self.at_separator() && !self.cursor.token.is_empty() {
                let statement = self.assignment()?;
                statements.push((statement, !self.at(";")));
            }
        }
        Ok(match only {
            _ if !statements.is_empty() => Rc::new(SyntaxNode::Block(statements)),
            Some(node) => node,
            None => Rc::new(SyntaxNode::Constant(Value::Undefined)),
        })
    }

    fn at_separator(&self) -> bool {
        self.at("\n") || self.at(";")
    }

    pub(super) fn assignment(&mut self) -> Result<Rc<SyntaxNode>> {
        self.deeper(|parser| {
            let node = parser.conditional()?;
            if parser.at("=") { parser.assigned(&node) } else { Ok(node) }
        })
    }

    /// The assignment to `target`, the cursor being at its `=`.
    fn assigned(&mut self, target: &SyntaxNode) -> Result<Rc<SyntaxNode>> {
        let invalid = self.cursor.error("Invalid left hand side of assignment operator =");
        let node = match target {
            SyntaxNode::Symbol(name) => SyntaxNode::Assign(name.clone(), self.assigned_value()?),
            SyntaxNode::Access { optional: true, .. } => {
                return Err(self.cursor.error("Cannot assign to optional chain"));
            }
            SyntaxNode::Access { object, index, .. } => SyntaxNode::AssignIndex {
                object: object.clone(),
                index: index.clone(),
                value: self.assigned_value()?,
            },
            SyntaxNode::Call { function, arguments, .. } => {
                let SyntaxNode::Symbol(name) = &**function else { return Err(invalid) };
                let parameters: Option<Vec<_>> =
                    arguments.iter().map(|argument| symbol(argument)).collect();
                let parameters = parameters.ok_or(invalid)?;
                SyntaxNode::AssignFunction {
                    name: name.clone(),
                    parameters,
                    body: self.assigned_value()?,
                }
            }
            _ => return Err(invalid),
        };
        Ok(Rc::new(node))
    }

    fn assigned_value(&mut self) -> Result<Rc<SyntaxNode>> {
        self.cursor.advance_past_newlines()?;
        self.assignment()
    }

    fn conditional(&mut self) -> Result<Rc<SyntaxNode>> {
        let mut node = self.binary(0)?;
        while self.at("?") {
            // A `:` at this nesting now ends the true part instead of making a range.
            let outer = self.cursor.conditional.replace(self.cursor.nesting);
            self.cursor.advance_past_newlines()?;
            let then = self.assignment()?;
            if !self.at(":") {
                return Err(self.cursor.error("False part of conditional expression expected"));
            }
            self.cursor.conditional = None;
            self.cursor.advance_past_newlines()?;
            let otherwise = self.assignment()?;
            node = Rc::new(SyntaxNode::Conditional(node, then, otherwise));
            self.cursor.conditional = outer;
        }
        Ok(node)
    }
}

fn symbol(node: &SyntaxNode) -> Option<Rc<str>> {
    match node {
        SyntaxNode::Symbol(name) => Some(name.clone()),
        _ => None,
    }
}
