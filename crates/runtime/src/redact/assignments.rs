//! Values that follow a name in a text: `password=…`, `"token": "…"`, `Cookie: …`, `--secret …`, `<password>…`.

use std::ops::Range;

use serde::de::IgnoredAny;

use super::{
    names::Secrecy,
    scan::{LONGEST_WORD, TextScan, line_end, whole_word_at, word_at},
    shapes::{clip, run},
    value_kinds::{is_code, is_placeholder, is_prose, is_random, is_scheme},
};

/// A secret name in a text.
pub(super) struct AssignedName {
    /// The offset at which the name begins, including its dashes.
    pub(super) from: usize,
    /// The offset at which the name ends.
    pub(super) to: usize,
    pub(super) secrecy: Secrecy,
    /// Whether it is a command-line flag.
    pub(super) is_flag: bool,
}

/// A quoted text; the quotes may be escaped themselves.
pub(super) struct QuotedText {
    pub(super) inner: Range<usize>,
}

impl QuotedText {
    /// Returns the quote that opens at `at`; an unclosed one extends to the end of its line.
    pub(super) fn at(text: &str, at: usize) -> Option<Self> {
        let rest = &text[at..];
        let slashes = run(rest, |byte| byte == b'\\');
        let quote =
            rest[slashes..].chars().next().filter(|quote| matches!(quote, '"' | '\'' | '`'))?;
        let from = at + slashes + 1;
        let bytes = text.as_bytes();
        // Closed by the same quote with as many backslashes: one with more belongs to the text.
        let mut before = 0;
        for (index, byte) in bytes.iter().enumerate().skip(from) {
            if *byte == quote as u8 && before <= slashes && (slashes > 0 || before % 2 == 0) {
                return Some(Self { inner: from..index - before.min(slashes) });
            }
            before = if *byte == b'\\' { before + 1 } else { 0 };
        }
        Some(Self { inner: from..line_end(text, from) })
    }
}

impl TextScan<'_> {
    /// Hides the value that is assigned to a name.
    pub(super) fn assigned(&mut self, found: AssignedName) {
        let (text, bytes) = (self.text, self.text.as_bytes());
        let name = text[found.from..found.to].trim_matches(['-', '.', '_']).to_owned();
        let is_at = |at: usize, byte: u8| bytes.get(at) == Some(&byte);
        if is_at(found.to, b'>') || self.is_element(&found) {
            return self.element(&found);
        }
        // What closes the name: a quote, escaped or not, or a bracket.
        let closed = found.to
            + run(&text[found.to..], |byte| matches!(byte, b'\\' | b'"' | b'\'' | b'`' | b']'));
        let is_quoted = text[found.to..closed].contains(['"', '\'', '`']);
        let at = closed + run(&text[closed..], |byte| matches!(byte, b' ' | b'\t'));
        let space = at - closed;
        let sign = match bytes.get(at) {
            Some(b':') if is_at(at + 1, b':') || text[at..].starts_with("://") => return,
            Some(b':' | b'=') => 1,
            Some(b'%') if text[at..].starts_with("%3D") || text[at..].starts_with("%3d") => 3,
            Some(b',') if is_quoted && found.is_flag => return self.next_item(at, found.secrecy),
            _ if is_quoted => return self.value_of_pair(&found, closed),
            _ if found.is_flag && space > 0 => return self.flag(at, &name),
            _ if space > 0 => return self.beside(at, &found),
            _ => return,
        };
        let is_colon = bytes[at] == b':';
        let at = at + sign + run(&text[at + sign..], |byte| matches!(byte, b'=' | b'>'));
        let at = at
            + run(&text[at..], |byte| matches!(byte, b' ' | b'\t') || (is_quoted && byte == b'\n'));
        // `b'…'` and the like are quotes, too.
        let is_prefixed = matches!(bytes.get(at), Some(b'b' | b'f' | b'r' | b'u'))
            && matches!(bytes.get(at + 1), Some(b'"' | b'\''));
        if let Some(quote) = QuotedText::at(text, at + usize::from(is_prefixed)) {
            return self.quoted_value(&quote, found.secrecy, &name);
        }
        match bytes.get(at) {
            Some(b'{' | b'[') if is_quoted || self.is_json(at) => {
                self.nested(at, found.secrecy);
            }
            // Code, whose own names say what is secret.
            Some(b'{' | b'[') if whole_word_at(text, at).len() == 1 => {}
            Some(_) if is_quoted => self.bare(at, found.secrecy),
            Some(_) if is_header(&name) && is_colon => self.header(at, &name),
            Some(_) => self.word(at, &found, &name, is_colon),
            None => {}
        }
    }

    /// Hides a word without quotes.
    fn word(&mut self, at: usize, found: &AssignedName, name: &str, is_colon: bool) {
        let word = word_at(self.text, at);
        let is_count = word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let is_short_count = is_count && word.len() < 4;
        let is_path = name.to_ascii_lowercase().ends_with("pwd") && word.starts_with(['/', '~']);
        let is_elsewhere = is_placeholder(whole_word_at(self.text, at))
            || is_placeholder(word)
            || word.starts_with("$(");
        if word.is_empty()
            || is_elsewhere
            || is_code(word, name)
            || is_path
            || self.is_arn(found.from)
        {
            return;
        }
        let is_data = word.len() + 4 > LONGEST_WORD;
        let is_secret = is_data
            || match (found.secrecy, is_colon) {
                (Secrecy::IfRandom, _) => is_random(word, 16),
                (Secrecy::Countable, _) if is_count => false,
                (Secrecy::Common, _) if is_short_count => false,
                (Secrecy::Strong, _) => !is_prose(word),
                // Before a colon, such names begin sentences as often.
                (Secrecy::Common, true) => is_random(word, 6) || (is_count && word.len() >= 6),
                (Secrecy::Countable, true) => is_random(word, 6) && !word.contains(['/', '%', ',']),
                (_, false) => !is_prose(word) && !is_scheme(word),
            };
        if is_secret {
            let phrase = name.to_ascii_lowercase().ends_with("phrase");
            let end = match phrase || is_data {
                true if is_data => at + run(&self.text[at..], |byte| !byte.is_ascii_whitespace()),
                true => line_end(self.text, at),
                false => at + word.len(),
            };
            self.spans.hide(at..end);
        }
    }

    /// Returns whether the name is part of an AWS resource name: `arn:aws:secretsmanager:…:secret:…`.
    fn is_arn(&self, from: usize) -> bool {
        const NEAR: usize = 100;
        let before = self.text.as_bytes()[from.saturating_sub(NEAR)..from]
            .rsplit(u8::is_ascii_whitespace)
            .next();
        before.is_some_and(|before| {
            before.ends_with(b":") && before.windows(4).any(|part| part == b"arn:")
        })
    }

    /// Hides a JSON number or word, unless it is `null`, `true` or `false`.
    fn bare(&mut self, at: usize, secrecy: Secrecy) {
        let length =
            run(&self.text[at..], |byte| byte.is_ascii_alphanumeric() || b".+-_".contains(&byte));
        let word = &self.text[at..at + length];
        let is_number =
            word.bytes().next().is_some_and(|byte| byte.is_ascii_digit() || byte == b'-');
        if is_number && matches!(secrecy, Secrecy::Strong | Secrecy::Common) {
            self.spans.hide_bare(at..at + length);
        }
    }

    /// Returns whether a bracket begins JSON. Fails only a few times per text: each try reads as far as it goes.
    fn is_json(&mut self, at: usize) -> bool {
        const MOST_TRIES: u8 = 8;
        let mut values =
            serde_json::Deserializer::from_str(&self.text[at..]).into_iter::<IgnoredAny>();
        let is_json = self.tries < MOST_TRIES && matches!(values.next(), Some(Ok(_)));
        self.tries += u8::from(!is_json && self.tries < MOST_TRIES);
        is_json
    }

    /// Hides a JSON object or list.
    fn nested(&mut self, at: usize, secrecy: Secrecy) {
        if is_placeholder(word_at(self.text, at)) || secrecy == Secrecy::IfRandom {
            return;
        }
        let (mut depth, mut quoted, mut end) = (0_usize, false, self.text.len());
        for (index, byte) in self.text.bytes().enumerate().skip(at) {
            match byte {
                b'"' => quoted = !quoted,
                b'{' | b'[' if !quoted => depth += 1,
                b'}' | b']' if !quoted => {
                    depth -= 1;
                    if depth == 0 {
                        end = index + 1;
                        break;
                    }
                }
                _ => {}
            }
        }
        let is_counts = !self.text[at..end].contains(|c: char| c.is_ascii_alphabetic());
        if end > at + 2 && !(is_counts && secrecy == Secrecy::Countable) {
            self.spans.hide_bare(at..end);
        }
    }

    /// Hides a quoted value; of `Authorization` the scheme stays.
    fn quoted_value(&mut self, quote: &QuotedText, secrecy: Secrecy, name: &str) {
        match is_header(name) && self.text[quote.inner.clone()].contains([' ', '=']) {
            true => _ = self.header_within(quote.inner.clone(), name),
            false => self.quoted(quote, secrecy),
        }
    }

    /// Hides the value of a header, up to the end of its line or of the quotes around it.
    fn header(&mut self, at: usize, name: &str) {
        let ends = |text: &str, end: usize| text[..end].find(['"', '\'', '`', '\\']).unwrap_or(end);
        const NEAR: usize = 256;
        let near = clip(&self.text[at..], NEAR);
        let range = at..at + ends(near, line_end(near, 0));
        // Only what is hidden may be long.
        if self.header_within(range.clone(), name) && range.len() == near.len() {
            let rest = &self.text[range.end..];
            self.spans.hide(range.end..range.end + ends(rest, line_end(rest, 0)));
        }
    }

    /// Hides the value of a header in this range. Returns whether there was one.
    fn header_within(&mut self, range: Range<usize>, name: &str) -> bool {
        let value = &self.text[range.clone()];
        let first = value.split([' ', '\t']).next().unwrap_or_default();
        let is_cookie = name.to_ascii_lowercase().ends_with("cookie");
        let rest = value[first.len()..].trim_start();
        let secret = match (is_cookie, rest.is_empty() || !first.bytes().all(is_scheme_letter)) {
            (true, _) if !first.contains('=') => return false,
            (true, _) | (false, true) => value,
            (false, false) => rest,
        };
        let word = secret
            .split([' ', ',', ';'])
            .next()
            .unwrap_or_default()
            .trim_end_matches(['.', ',', ':']);
        let is_sentence = is_prose(word) || (is_prose(first) && !is_scheme(first));
        if is_sentence || is_placeholder(word) || word.is_empty() || is_code(word, name) {
            return false;
        }
        let from = range.end - secret.len();
        self.spans.hide(from..from + secret.trim_end().len());
        true
    }

    fn flag(&mut self, at: usize, name: &str) {
        match QuotedText::at(self.text, at) {
            Some(quote) => self.quoted(&quote, Secrecy::Strong),
            None => self.flag_value(at, name),
        }
    }

    /// Hides what follows a name after a space only: `PASSWORD '…'`, `token 9944b0…`, `sshpass -p …`.
    fn beside(&mut self, at: usize, found: &AssignedName) {
        let name = self.text[found.from..found.to].to_ascii_lowercase();
        if name == "sshpass" && self.text[at..].starts_with("-p") {
            let at = at + 2 + run(&self.text[at + 2..], |byte| byte == b' ');
            return self.flag(at, &name);
        }
        let is_password =
            name.ends_with("password") || name.ends_with("passphrase") || name.ends_with("passwd");
        match QuotedText::at(self.text, at) {
            Some(quote) if is_password && begins_with_word(&self.text[quote.inner.clone()]) => {
                self.quoted(&quote, found.secrecy);
            }
            Some(_) => {}
            None => self.loose(at),
        }
    }

    /// Hides the list item that follows a flag: `['--password', '…']`.
    fn next_item(&mut self, comma: usize, secrecy: Secrecy) {
        let at = comma + 1 + run(&self.text[comma + 1..], |byte| byte == b' ');
        if let Some(quote) = QuotedText::at(self.text, at)
            && !self.text[quote.inner.clone()].starts_with('-')
        {
            self.quoted(&quote, secrecy);
        }
    }

    /// Hides the value of a name that is itself a value: `name="password" value="…"`.
    fn value_of_pair(&mut self, found: &AssignedName, closed: usize) {
        let before =
            self.text[..found.from].trim_end_matches(['"', '\'', '\\', '`']).trim_end_matches(' ');
        if before.ends_with(['=', ':']) {
            self.pair(closed, found.secrecy);
        }
    }

    /// Returns whether the name is an XML element with attributes.
    fn is_element(&self, found: &AssignedName) -> bool {
        const NEAR: usize = 64;
        let before = self.text.as_bytes()[..found.from].iter().rev().take(NEAR);
        let is_opened = before.copied().find(|byte| !byte.is_ascii_alphanumeric() && *byte != b':')
            == Some(b'<');
        is_opened && self.text[found.to..].starts_with([' ', '>'])
    }

    /// Hides the text of an XML element: `<password>…</password>`.
    fn element(&mut self, found: &AssignedName) {
        const MOST_ATTRIBUTES: usize = 300;
        const MOST_CONTENT: usize = 8192;
        let Some(opened) = clip(&self.text[found.to..], MOST_ATTRIBUTES).find(['<', '>']) else {
            return;
        };
        let at = found.to + opened + 1;
        let starts = self.text[..found.from].ends_with(['<', ':']);
        let Some(length) = clip(&self.text[at..], MOST_CONTENT).find('<') else { return };
        let content = &self.text[at..at + length];
        let is_closed = self.text[at + length..].starts_with("</");
        if self.text.as_bytes()[at - 1] == b'>' && starts && is_closed && !is_placeholder(content) {
            self.spans.hide(at..at + length);
        }
    }
}

/// Returns whether a quoted text begins with a line of one word. A private key in it does not count, since its own label has
/// spaces, and what is left of the text once the key is hidden must be judged alike.
fn begins_with_word(quoted: &str) -> bool {
    let line = quoted.split('\n').next().unwrap_or_default();
    let word = line.split("----").next().unwrap_or_default();
    !word.is_empty() && !word.contains(' ')
}

/// Returns whether the name is a header, whose value extends to the end of the line.
fn is_header(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    lower.ends_with("authorization") || lower.ends_with("cookie")
}

fn is_scheme_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}
