//! Names, literals, brackets, and the calls and indices that may follow them.

use std::rc::Rc;

use super::{Parser, parse_number};
use crate::{
    error::Result,
    lexer::{Kind, NAMED_DELIMITERS},
    syntax::{Index, Node},
    value::Value,
};

impl Parser<'_> {
    pub(super) fn primary(&mut self) -> Result<Rc<Node>> {
        if self.at_name() {
            return self.name();
        }
        if self.cursor.kind == Kind::Number {
            let value = parse_number(self.cursor.token)?;
            self.cursor.advance()?;
            return Ok(Rc::new(Node::Constant(Value::Number(value))));
        }
        match self.cursor.token {
            quote @ ("\"" | "'") => {
                let text = self.cursor.string(quote)?;
                self.accessors(Rc::new(Node::Constant(Value::text(text))))
            }
            "[" => self.matrix(),
            "{" => self.object(),
            "(" => self.parenthesis(),
            "" => Err(self.cursor.error("Unexpected end of expression")),
            _ => Err(self.cursor.error("Value expected")),
        }
    }

    fn at_name(&self) -> bool {
        self.cursor.kind == Kind::Symbol || NAMED_DELIMITERS.contains(&self.cursor.token)
    }

    fn name(&mut self) -> Result<Rc<Node>> {
        let name = self.cursor.token;
        self.cursor.advance()?;
        let node = match name {
            "true" => Node::Constant(Value::Boolean(true)),
            "false" => Node::Constant(Value::Boolean(false)),
            "null" => Node::Constant(Value::Null),
            "undefined" => Node::Constant(Value::Undefined),
            "NaN" => Node::Constant(Value::Number(f64::NAN)),
            "Infinity" => Node::Constant(Value::Number(f64::INFINITY)),
            _ => Node::Symbol(name.into()),
        };
        self.accessors(Rc::new(node))
    }

    fn parenthesis(&mut self) -> Result<Rc<Node>> {
        self.open()?;
        let node = self.assignment()?;
        self.close(")", "Parenthesis ) expected")?;
        self.accessors(Rc::new(Node::Parenthesis(node)))
    }

    /// The calls, indices and properties that follow `node`.
    pub(super) fn accessors(&mut self, mut node: Rc<Node>) -> Result<Rc<Node>> {
        let mut count = 0;
        loop {
            let optional = self.at("?.");
            if optional {
                self.cursor.advance()?;
            }
            let callable = matches!(*node, Node::Symbol(_) | Node::Access { .. });
            node = match self.cursor.token {
                "(" if optional || callable => {
                    let arguments = self.list(")", "Parenthesis ) expected")?;
                    Rc::new(Node::Call { function: node, arguments, optional })
                }
                "[" => {
                    let index = Index::Dimensions(self.list("]", "Parenthesis ] expected")?.into());
                    Rc::new(Node::Access { object: node, index, optional })
                }
                "." if !optional && self.cursor.kind == Kind::Delimiter => {
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

    fn property(&mut self, object: Rc<Node>, optional: bool) -> Result<Rc<Node>> {
        if !self.at_name() {
            let after = if optional { "optional chain" } else { "dot" };
            return Err(self.cursor.error(format!("Property name expected after {after}")));
        }
        let index = Index::Property(self.cursor.token.into());
        self.cursor.advance()?;
        Ok(Rc::new(Node::Access { object, index, optional }))
    }

    /// Values separated by commas up to `close`, the cursor being at the opening bracket.
    fn list(&mut self, close: &str, message: &str) -> Result<Vec<Rc<Node>>> {
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

    fn matrix(&mut self) -> Result<Rc<Node>> {
        self.open()?;
        if self.at("]") {
            self.close("]", "")?;
            return self.accessors(Rc::new(Node::Array(Vec::new())));
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
        let mut rows = rows.into_iter().map(|row| Rc::new(Node::Array(row)));
        let array = match rows.next() {
            Some(row) if single => row,
            first => Rc::new(Node::Array(first.into_iter().chain(rows).collect())),
        };
        self.accessors(array)
    }

    fn row(&mut self) -> Result<Vec<Rc<Node>>> {
        let mut items = vec![self.assignment()?];
        while self.at(",") {
            self.cursor.advance()?;
            if !self.at("]") && !self.at(";") {
                items.push(self.assignment()?);
            }
        }
        Ok(items)
    }

    fn object(&mut self) -> Result<Rc<Node>> {
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
        self.accessors(Rc::new(Node::Object(properties)))
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
