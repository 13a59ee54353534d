//! Cuts an expression into tokens, on demand.
//!
//! The meaning of a line break or a quote depends on the state of the parser, so the parser asks for one
//! token at a time, and may go back by restoring a copied [`LexerCursor`].

use crate::error::{Error, Result};

/// The kind of the token that the cursor is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// An operator, bracket, line break, named operator or (with empty text) the end.
    Delimiter,
    Number,
    Symbol,
}

/// Operators that are words.
pub(crate) const NAMED_DELIMITERS: [&str; 7] = ["mod", "to", "in", "and", "xor", "or", "not"];

const DELIMITERS: [&str; 37] = [
    ">>>", ".*", "./", ".^", "^|", "?.", "??", "==", "!=", "<=", ">=", "<<", ">>", ",", "(", ")",
    "[", "]", "{", "}", "\"", "'", ";", "+", "-", "*", "/", "%", "^", "~", "!", "&", "|", "=", ":",
    "?", "<",
];

/// A place in the expression and the token just read; copying it remembers the place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LexerCursor<'a> {
    source: &'a str,
    /// Byte offset just past the token.
    index: usize,
    pub(crate) token: &'a str,
    pub(crate) kind: TokenKind,
    /// How many brackets are open; inside brackets a line break is a space.
    pub(crate) nesting: usize,
    /// The nesting at which a conditional still waits for its `:`.
    pub(crate) conditional: Option<usize>,
}

impl<'a> LexerCursor<'a> {
    pub(crate) fn new(source: &'a str) -> Self {
        Self {
            source,
            index: 0,
            token: "",
            kind: TokenKind::Delimiter,
            nesting: 0,
            conditional: None,
        }
    }

    /// Returns a key that is equal for cursors that would read the same tokens.
    pub(crate) fn key(&self) -> (usize, usize, Option<usize>) {
        (self.index, self.nesting, self.conditional)
    }

    pub(crate) fn at_delimiter(&self, text: &str) -> bool {
        self.kind == TokenKind::Delimiter && self.token == text
    }

    /// A syntax error at the token.
    pub(crate) fn error(&self, message: impl Into<String>) -> Error {
        let before = &self.source[..self.index - self.token.len()];
        Error::Syntax { message: message.into(), position: before.encode_utf16().count() + 1 }
    }

    /// Reads the next token.
    pub(crate) fn advance(&mut self) -> Result<()> {
        self.skip_blanks();
        let start = self.index;
        let rest = &self.source[start..];
        if let Some(token) = delimiter_at(rest, self.nesting) {
            self.accept(TokenKind::Delimiter, token.len());
        } else if rest.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            self.number()?;
        } else if rest.starts_with(is_alpha) {
            let length =
                rest.find(|c: char| !is_alpha(c) && !c.is_ascii_digit()).unwrap_or(rest.len());
            let named = NAMED_DELIMITERS.contains(&&rest[..length]);
            self.accept(if named { TokenKind::Delimiter } else { TokenKind::Symbol }, length);
        } else {
            self.accept(TokenKind::Delimiter, rest.len());
            return Err(self.error(format!("Syntax error in part \"{rest}\"")));
        }
        Ok(())
    }

    /// Reads the next token that is not a line break.
    pub(crate) fn advance_past_newlines(&mut self) -> Result<()> {
        self.advance()?;
        while self.token == "\n" {
            self.advance()?;
        }
        Ok(())
    }

    /// Reads the text up to `quote`, the cursor being just past the opening one, and the token after it.
    pub(crate) fn string(&mut self, quote: &str) -> Result<String> {
        let mut text = String::new();
        while let Some(character) = self.source[self.index..].chars().next() {
            if quote.starts_with(character) {
                break;
            }
            self.index += character.len_utf8();
            if character == '\\' { text.push(self.escape()?) } else { text.push(character) }
        }
        self.advance()?;
        if self.token != quote {
            return Err(self.error(format!("End of string {quote} expected")));
        }
        self.advance()?;
        Ok(text)
    }

    fn escape(&mut self) -> Result<char> {
        let rest = &self.source[self.index..];
        self.token = "";
        let Some(character) = rest.chars().next() else {
            return Err(self.error("Bad escape character \\"));
        };
        let plain = match character {
            '"' | '\'' | '\\' | '/' => character,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let digits = rest
                    .get(1..5)
                    .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
                let Some(code) = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok())
                else {
                    return Err(self.error("Invalid unicode character \\u"));
                };
                self.index += 5;
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            other => return Err(self.error(format!("Bad escape character \\{other}"))),
        };
        self.index += character.len_utf8();
        Ok(plain)
    }

    fn skip_blanks(&mut self) {
        loop {
            let rest = &self.source[self.index..];
            if rest.starts_with('#') {
                self.index += rest.find('\n').unwrap_or(rest.len());
            }
            let rest = &self.source[self.index..];
            match rest.chars().next() {
                Some(blank @ (' ' | '\t' | '\u{a0}')) => self.index += blank.len_utf8(),
                Some('\n') if self.nesting > 0 => self.index += 1,
                _ => return,
            }
        }
    }

    fn accept(&mut self, kind: TokenKind, length: usize) {
        self.token = &self.source[self.index..self.index + length];
        self.index += length;
        self.kind = kind;
    }

    fn number(&mut self) -> Result<()> {
        let rest = &self.source[self.index..];
        if rest.starts_with("0b") || rest.starts_with("0o") || rest.starts_with("0x") {
            self.accept(TokenKind::Number, radix_length(rest));
            return Ok(());
        }
        let bytes = rest.as_bytes();
        let digits_from = |from: usize| {
            bytes[from.min(bytes.len())..].iter().take_while(|byte| byte.is_ascii_digit()).count()
        };
        let mut length = digits_from(0);
        if length == 0 && digits_from(1) == 0 {
            self.accept(TokenKind::Delimiter, 1); // a lone dot, for `a.b`
            return Ok(());
        }
        if length == 0 || decimal_mark(bytes, length) {
            length += 1;
            length += digits_from(length);
        }
        if matches!(bytes.get(length), Some(b'e' | b'E')) {
            length = self.exponent(bytes, length)?;
        }
        self.accept(TokenKind::Number, length);
        Ok(())
    }

    /// The length of the number when its exponent, if it is one, starts at `from`.
    fn exponent(&mut self, bytes: &'a [u8], from: usize) -> Result<usize> {
        let signed = matches!(bytes.get(from + 1), Some(b'+' | b'-'));
        if !signed && !bytes.get(from + 1).is_some_and(u8::is_ascii_digit) {
            if decimal_mark(bytes, from + 1) {
                return Err(self.digit_expected(from + 1));
            }
            return Ok(from); // `2e` is two times e
        }
        let start = from + 1 + usize::from(signed);
        let digits = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let end = start + digits;
        if digits == 0 || decimal_mark(bytes, end) {
            return Err(self.digit_expected(end));
        }
        Ok(end)
    }

    fn digit_expected(&mut self, offset: usize) -> Error {
        let got =
            self.source[self.index + offset..].chars().next().map(String::from).unwrap_or_default();
        self.token = "";
        self.index += offset;
        self.error(format!("Digit expected, got \"{got}\""))
    }
}

fn delimiter_at(rest: &str, nesting: usize) -> Option<&str> {
    if rest.is_empty() || (rest.starts_with('\n') && nesting == 0) {
        return Some(&rest[..rest.len().min(1)]);
    }
    let found = DELIMITERS.iter().chain([&">"]).find(|delimiter| {
        // `a?.5:1` is a conditional.
        rest.strip_prefix(**delimiter).is_some_and(|after| {
            **delimiter != "?." || !after.starts_with(|c: char| c.is_ascii_digit())
        })
    })?;
    Some(&rest[..found.len()])
}

/// A dot that belongs to a number and not to `./`, `.*` or `.^`.
fn decimal_mark(bytes: &[u8], at: usize) -> bool {
    bytes.get(at) == Some(&b'.') && !matches!(bytes.get(at + 1), Some(b'/' | b'*' | b'^'))
}

fn radix_length(rest: &str) -> usize {
    let word = |from: usize| {
        rest[from..]
            .find(|c: char| !is_alpha(c) && !c.is_ascii_digit())
            .unwrap_or(rest.len() - from)
    };
    let length = 2 + word(2);
    if rest[length..].starts_with('.') { length + 1 + word(length + 1) } else { length }
}

/// Characters a name may start with: Latin, Greek, letter-like and mathematical alphanumerics.
fn is_alpha(c: char) -> bool {
    matches!(c, 'a'..='z' | 'A'..='Z' | '_' | '$' | '\u{c0}'..='\u{2af}' | '\u{370}'..='\u{3ff}' | '\u{2100}'..='\u{214f}' | '\u{1d400}'..='\u{1d7ff}')
}
