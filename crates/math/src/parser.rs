//! Turns text into a [`SyntaxNode`], with the precedence and the peculiarities of mathjs.
//!
//! `statements` holds blocks, assignments and conditionals; `operators` the binary operators from
//! `or` down to `*`; `factors` implicit multiplication, percentages, signs, powers and postfixes;
//! `primary` names, literals, brackets and what may follow them.

mod statements;
mod operators;
mod factors;
mod primary;
mod literal;

use std::{collections::HashMap, rc::Rc};

use crate::{
    Limits,
    error::{Error, Result},
    lexer::{LexerCursor, TokenKind},
    syntax::SyntaxNode,
};

pub(crate) use literal::parse_number;

/// Parses a whole expression.
pub(crate) fn parse(source: &str, limits: &Limits) -> Result<Rc<SyntaxNode>> {
    let mut parser = ExpressionParser {
        cursor: LexerCursor::new(source),
        depth: 0,
        nesting: limits.nesting,
        tried: HashMap::new(),
    };
    parser.cursor.advance()?;
    let node = parser.block()?;
    if parser.cursor.token.is_empty() {
        return Ok(node);
    }
    let token = parser.cursor.token;
    Err(parser.cursor.error(match parser.cursor.kind {
        TokenKind::Delimiter => format!("Unexpected operator {token}"),
        TokenKind::Number | TokenKind::Symbol => format!("Unexpected part \"{token}\""),
    }))
}

type ParseAttempt<'a> = Result<(Rc<SyntaxNode>, LexerCursor<'a>)>;

struct ExpressionParser<'a> {
    cursor: LexerCursor<'a>,
    depth: usize,
    nesting: usize,
    /// Operands parsed ahead of time to find out what a `%` means, so that no text is parsed twice.
    tried: HashMap<(usize, usize, Option<usize>), ParseAttempt<'a>>,
}

impl<'a> ExpressionParser<'a> {
    /// Runs `parse` one level deeper, unless that is too deep.
    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.check_depth(self.depth + 1)?;
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    fn check_depth(&self, depth: usize) -> Result<()> {
        if depth <= self.nesting {
            return Ok(());
        }
        let error = self
            .cursor
            .error(format!("The expression is nested too deeply, at most {} levels", self.nesting));
        Err(Error::Limit(error.to_string()))
    }

    fn at(&self, token: &str) -> bool {
        self.cursor.at_delimiter(token)
    }

    /// Opens a bracket and reads on.
    fn open(&mut self) -> Result<()> {
        self.cursor.nesting += 1;
        self.cursor.advance()
    }

    /// Closes the bracket `token` and reads on, or fails with `message`.
    fn close(&mut self, token: &str, message: &str) -> Result<()> {
        if !self.at(token) {
            return Err(self.cursor.error(message));
        }
        self.cursor.nesting -= 1;
        self.cursor.advance()
    }
}
