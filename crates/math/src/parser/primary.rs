//! Names, literals, brackets, and the calls and indices that may follow them.

use std::rc::Rc;

use super::{ExpressionParser, parse_number};
use crate::{
    error::Result,
    lexer::{NAMED_DELIMITERS, TokenKind},
    syntax::{IndexNode, SyntaxNode},
    value::Value,
};

impl ExpressionParser<'_> {
    pub(super) fn primary(&mut self) -> Result<Rc<SyntaxNode>> {
        if self.at_name() {
            return self.name();
        }
        if self.cursor.kind == TokenKind::Number {
            let value = parse_number(self.cursor.token)?;
            self.cursor.advance()?;
            return Ok(Rc::new(SyntaxNode::Constant(Value::Number(value))));
        }
        match self.cursor.token {
            quote @ ("\"" | "'") => {
                let text = self.cursor.string(quote)?;
                self.accessors(Rc::new(SyntaxNode::Constant(Value::text(text))))
            }
            "[" => self.matrix(),
            "{" => self.object(),
            "(" => self.parenthesis(),
            "" => Err(self.cursor.error("Unexpected end of expression")),
            _ => Err(self.cursor.error("Value expected")),
        }
    }

    fn at_name(&self) -> bool {
        self.cursor.kind == TokenKind::Symbol || NAMED_DELIMITERS.contains(&self.cursor.token)
    }

    fn name(&mut self) -> Result<Rc<SyntaxNode>> {
        let name = self.cursor.token;
        self.cursor.advance()?;
        let node = match name {
            "true" => SyntaxNode::Constant(Value::Boolean(true)),
            "false" => SyntaxNode::Constant(Value::Boolean(false)),
            "null" => SyntaxNode::Constant(Value::Null),
            "undefined" => SyntaxNode::Constant(Value::Undefined),
            "NaN" => SyntaxNode::Constant(Value::Number(f64::NAN)),
            "Infinity" => SyntaxNode::Constant(Value::Number(f64::INFINITY)),
            _ => SyntaxNode::Symbol(name.into()),
        };
        self.accessors(Rc::new(node))
    }

    fn parenthesis(&mut self) -> Result<Rc<SyntaxNode>> {
        self.open()?;
        let node = self.assignment()?;
        self.close(")", "Parenthesis ) expected")?;
        self.accessors(Rc::new(SyntaxNode::Parenthesis(node)))
    }

    /// The calls, indices and properties that follow `node`.
    pub(super) fn accessors(&mut self, mut node: Rc<SyntaxNode>) -> Result<Rc<SyntaxNode>> {
        let mut count = 0;
        loop {
            let optional = self.at("?.");
            if optional {
                self.cursor.advance()?;
            }
            let callable = matches!(*node, SyntaxNode::Symbol(_) | SyntaxNode::Access { .. });
            node = match self.cursor.token {
                "(" if optional || callable => {
                    let arguments = self.list(")", "Parenthesis ) expected")?;
                    Rc::new(SyntaxNode::Call { function: node, arguments, optional })
                }
                "[" => {
                    let index =
                        IndexNode::Dimensions(self.list("]", "Parenthesis ] expected")?.into());
                    Rc::new(SyntaxNode::Access { object: node, index, optional })
                }
                "." if !optional && self.cursor.kind == TokenKind::Delimiter => {
                    self.cursor.advance()?;
                    self.property(node, false)?
                }
                _ if optional => self.property(node, true)?,
                _ => return Ok(node),
            };
            count += 1;
            self.check_depth(self.depth + count)?;
        }
    }

    fn property(&mut self, object: Rc<SyntaxNode>, optional: bool) -> Result<Rc<SyntaxNode>> {
        if !self.at_name() {
            let after = if optional { "optional chain" } else { "dot" };
            return Err(self.cursor.error(format!("Property name expected after {after}")));
        }
        let index = IndexNode::Property(self.cursor.token.into());
        self.cursor.advance()?;
        Ok(Rc::new(SyntaxNode::Access { object, index, optional }))
    }

    /// Values separated by commas up to `close`, the cursor being at the opening bracket.
    fn list(&mut self, close: &str, message: &str) -> Result<Vec<Rc<SyntaxNode>>> {
        self.open()?;
        let mut items = Vec::new();
        if !self.at(close) {
            items.push(self.assignment()?);
            while self.at(",") {
                self.cursor.advance()?;
                items.push(self.assignment()?);
            }
        }
        self.close(close, message)?;
        Ok(items)
    }

    fn matrix(&mut self) -> Result<Rc<SyntaxNode>> {
        self.open()?;
        if self.at("]") {
            self.close("]", "")?;
            return self.accessors(Rc::new(SyntaxNode::Array(Vec::new())));
        }
        let mut rows = vec![self.row()?];
        let single = !self.at(";");
        while self.at(";") {
            self.cursor.advance()?;
            if !self.at("]") {
                rows.push(self.row()?);
            }
        }
        self.close("]", "End of matrix ] expected")?;
        let columns = rows[0].len();
        if let Some(row) = rows.iter().find(|row| row.len() != columns) {
            return Err(self
                .cursor
                .error(format!("Column dimensions mismatch ({} !== {columns})", row.len())));
        }
        let mut rows = rows.into_iter().map(|row| Rc::new(SyntaxNode::Array(row)));
        let array = match rows.next() {
            Some(row) if single => row,
            first => Rc::new(SyntaxNode::Array(first.into_iter().chain(rows).collect())),
        };
        self.accessors(array)
    }

    fn row(&mut self) -> Result<Vec<Rc<SyntaxNode>>> {
        let mut items = vec![self.assignment()?];
        while self.at(",") {
            self.cursor.advance()?;
            if !self.at("]") && !self.at(";") {
                items.push(self.assignment()?);
            }
        }
        Ok(items)
    }

    fn object(&mut self) -> Result<Rc<SyntaxNode>> {
        self.cursor.nesting += 1;
        let mut properties = Vec::new();
        loop {
            self.cursor.advance()?;
            if !self.at("}") {
                let key: Rc<str> = self.key()?.into();
                if !self.at(":") {
                    return Err(self.cursor.error("Colon : expected after object key"));
                }
                self.cursor.advance()?;
                properties.push((key, self.assignment()?));
            }
            if !self.at(",") {
                break;
            }
        }
        self.close("}", "Comma , or bracket } expected after object value")?;
        self.accessors(Rc::new(SyntaxNode::Object(properties)))
    }

    fn key(&mut self) -> Result<String> {
        match self.cursor.token {
            quote @ ("\"" | "'") => self.cursor.string(quote),
            name if self.at_name() => {
                self.cursor.advance()?;
                Ok(name.to_owned())
            }
            _ => Err(self.cursor.error("Symbol or string expected as object key")),
        }
    }
}
