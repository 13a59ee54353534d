//! Scans texts: finds what may begin a secret, and where it ends.

use std::borrow::Cow;

use super::{
    REDACTED,
    assignments::{AssignedName, QuotedText},
    names::{Secrecy, is_value, secrecy},
    secret_patterns::{self, SecretPattern},
    shapes::{self, SHAPES, begins_word, clip, run},
    spans::RedactedSpans,
    value_kinds::{is_basic, is_code, is_one_of, is_placeholder, is_prose, is_random},
};

/// Returns the text with its secrets replaced.
pub(super) fn text(text: &str) -> Cow<'_, str> {
    let mut scan = TextScan { text, spans: RedactedSpans::default(), named: 0, tries: 0 };
    for (start, pattern) in secret_patterns::all(text) {
        // Skipping what is hidden already keeps the time linear.
        if start >= scan.spans.end() {
            scan.look(start, pattern);
        }
    }
    scan.spans.apply(text)
}

pub(super) struct TextScan<'a> {
    pub(super) text: &'a str,
    pub(super) spans: RedactedSpans,
    /// Where the last name ends that was checked.
    named: usize,
    /// How often a bracket turned out not to begin JSON.
    pub(super) tries: u8,
}

/// The longest name that is recognised.
const LONGEST_NAME: usize = 64;
/// The longest word that is checked; longer ones are data, and treated as secret.
pub(super) const LONGEST_WORD: usize = 1024;
/// The shortest word that is a secret if it follows a name without any pattern between them.
const LONG_TOKEN: usize = 20;

impl TextScan<'_> {
    fn look(&mut self, start: usize, pattern: SecretPattern) {
        let found = match pattern {
            SecretPattern::Name => return self.name(start),
            SecretPattern::Scheme => return self.scheme(start),
            SecretPattern::User => return self.user(start),
            SecretPattern::Identified => return self.identified(start),
            SecretPattern::Shape(shape) => {
                SHAPES.get(shape).and_then(|shape| shape.find(self.text, start))
            }
            SecretPattern::WebToken => shapes::web_token(self.text, start),
            SecretPattern::BotToken => shapes::bot_token(self.text, start),
            SecretPattern::Pem => shapes::private_key(self.text, start),
            SecretPattern::Address => shapes::address_password(self.text, start),
        };
        found.into_iter().for_each(|found| self.spans.hide(found));
    }

    /// Checks the name around `at`, and what follows it.
    fn name(&mut self, at: usize) {
        let bytes = self.text.as_bytes();
        let is_name =
            |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        let before = bytes[..at]
            .iter()
            .rev()
            .take(LONGEST_NAME + 1)
            .take_while(|byte| is_name(byte))
            .count();
        let after =
            bytes[at..].iter().take(LONGEST_NAME + 1).take_while(|byte| is_name(byte)).count();
        let (mut from, to) = (at - before, at + after);
        // A percent-encoded character of a query does not belong to the name.
        if self.text[..from].ends_with('%') && at >= from + 2 {
            from += 2;
        }
        if from < self.named || to - from > LONGEST_NAME {
            return;
        }
        self.named = to;
        let run = &self.text[from..to];
        let name = run.trim_matches(['-', '.', '_']);
        let is_flag = run.starts_with('-')
            && !self.text[..from].ends_with(|c: char| c.is_ascii_alphanumeric());
        if !self.has_value(from, to, is_flag) {
            return;
        }
        // A hidden word cannot qualify the name.
        let before = &self.text[self.spans.end().min(from)..from];
        let Some(secrecy) = secrecy(&with_word_before(before, name)) else { return };
        self.assigned(AssignedName { from, to, secrecy, is_flag });
    }

    /// Returns whether a value may follow the name: most words of prose have none.
    fn has_value(&self, from: usize, to: usize, is_flag: bool) -> bool {
        let bytes = self.text.as_bytes();
        let is_closing = |byte: &&u8| matches!(byte, b'\\' | b'"' | b'\'' | b'`' | b']');
        let closed = to + bytes[to..].iter().take_while(is_closing).count();
        let space = bytes[closed..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let Some(next) = bytes.get(closed + space) else { return false };
        let begins = |word: &str| self.text[closed + space..].starts_with(word);
        let word = || bytes[closed + space..].iter().take_while(|byte| !byte.is_ascii_whitespace());
        let is_beside = || {
            word().take(LONG_TOKEN).any(u8::is_ascii_digit)
                || ["is ", "was ", "to ", "-p"].iter().any(|word| begins(word))
        };
        let is_element = || from > 0 && matches!(bytes[from - 1], b'<' | b':');
        matches!(next, b':' | b'=' | b'%' | b'>' | b'"' | b'\'' | b'`')
            || closed > to
            || (space > 0 && (is_flag || is_element() || is_beside()))
    }

    /// Checks what follows a scheme of `Authorization`: a word that is not a credential stays.
    fn scheme(&mut self, start: usize) {
        let rest = &self.text[start..];
        let length = run(rest, |byte| byte.is_ascii_alphabetic());
        let space = run(&rest[length..], |byte| matches!(byte, b' ' | b'\t'));
        if space == 0 || !begins_word(self.text, start) {
            return;
        }
        let at = start + length + space;
        let is_credential = |byte: u8| byte.is_ascii_alphanumeric() || b"._~+/=-".contains(&byte);
        let word = &self.text[at..at + run(&self.text[at..], is_credential)];
        let scheme = rest[..length].to_ascii_lowercase();
        let is_secret = match &*scheme {
            "bearer" => is_random(word, 8) || self.is_last_word(at, word),
            "basic" => {
                is_basic(word)
                    || (is_random(word, 16) && word.bytes().any(|byte| byte.is_ascii_uppercase()))
            }
            "negotiate" | "ntlm" => is_random(word, 16),
            "digest" => {
                word.ends_with('=') && self.text[at + word.len()..].starts_with(['"', '\\'])
            }
            _ => false,
        };
        if is_secret {
            // The parameters of Digest are quoted, and all of them are hidden.
            let end = if scheme == "digest" { line_end(self.text, at) } else { at + word.len() };
            self.spans.hide(at..end);
        }
    }

    /// Returns whether nothing follows a long word that is not an ordinary one, as with a credential.
    fn is_last_word(&self, at: usize, word: &str) -> bool {
        const BEARERS: &[&str] = &[
            "certificate",
            "certificates",
            "instrument",
            "instruments",
            "security",
            "securities",
            "document",
        ];
        let after = self.text[at + word.len()..].chars().next();
        let is_last = after.is_none_or(|after| "\n\r\"'`\\,;)]}".contains(after));
        word.len() >= 8
            && is_last
            && !is_prose(word)
            && !is_one_of(&word.to_ascii_lowercase(), BEARERS)
    }

    /// Checks the value of `curl -u`.
    fn user(&mut self, start: usize) {
        const NEAR: usize = 300;
        let from = (start.saturating_sub(NEAR)..=start).find(|at| self.text.is_char_boundary(*at));
        let before = &self.text[from.unwrap_or(start)..start];
        let rest = &self.text[start..];
        let flag = if rest.starts_with("--user") { "--user".len() } else { "-u".len() };
        let at = start
            + flag
            + run(&self.text[start + flag..], |byte| matches!(byte, b' ' | b'=' | b'"' | b'\''));
        if !before.ends_with([' ', '\n', '-']) || !before.contains("curl") || at == start + flag {
            return;
        }
        let word = &self.text[at..at
            + run(&self.text[at..], |b| !b.is_ascii_whitespace() && !b"\"'\\".contains(&b))];
        if let Some((user, password)) = word.split_once(':')
            && !is_placeholder(password)
        {
            let from = at + user.len() + 1;
            self.spans.hide(from..from + password.len());
        }
    }

    /// Checks the value of SQL's `IDENTIFIED BY`.
    fn identified(&mut self, start: usize) {
        let at = start + "identified by".len();
        let at = at + run(&self.text[at..], |byte| byte == b' ');
        if let Some(quote) = QuotedText::at(self.text, at) {
            self.quoted(&quote, Secrecy::Strong);
        }
    }

    /// Hides a quoted value, unless it is a placeholder.
    pub(super) fn quoted(&mut self, quote: &QuotedText, secrecy: Secrecy) {
        let inner = &self.text[quote.inner.clone()];
        let is_count = inner.bytes().all(|byte| byte.is_ascii_digit());
        let is_secret = match secrecy {
            Secrecy::Strong | Secrecy::Common => true,
            Secrecy::Countable => !is_count,
            Secrecy::IfRandom => is_random(inner, 16),
        };
        let is_word = super::value_kinds::is_remark(inner)
            || (secrecy != Secrecy::Strong && super::value_kinds::is_scheme(inner));
        if is_secret && !is_word && !is_placeholder(inner) {
            self.spans.hide(quote.inner.clone());
        }
    }

    /// Hides a word that follows a name after a space only, if it cannot be an ordinary word.
    pub(super) fn loose(&mut self, at: usize) {
        let word = word_at(self.text, at);
        let (word, from) = match is_one_of(word, &["is", "was", "to"]) {
            true => {
                let next =
                    at + word.len() + run(&self.text[at + word.len()..], |byte| byte == b' ');
                (word_at(self.text, next), next)
            }
            false => (word, at),
        };
        let least = if from == at { LONG_TOKEN } else { 8 };
        let digits = word.bytes().any(|byte| byte.is_ascii_digit());
        if digits && is_random(word, least) && !is_placeholder(word) {
            self.spans.hide(from..from + word.len());
        }
    }

    /// Hides the value of a flag.
    pub(super) fn flag_value(&mut self, at: usize, name: &str) {
        let word = word_at(self.text, at);
        let is_usage =
            word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_' || byte == b'-');
        let is_kept =
            word.starts_with(['-', '<', '[', '|', '(']) || is_prose(word) || is_code(word, name);
        if !word.is_empty() && !is_usage && !is_kept && !is_placeholder(word) {
            self.spans.hide(at..at + word.len());
        }
    }

    /// Finds the key that holds the value of a name that is itself a value: `name="password" value="…"`.
    pub(super) fn pair(&mut self, at: usize, secrecy: Secrecy) {
        let at = at
            + run(&self.text[at..], |byte| {
                matches!(byte, b' ' | b',' | b'\n' | b'\t' | b'"' | b'\'' | b'\\')
            });
        let length = run(&self.text[at..], |byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if length > 0 && length < LONGEST_NAME && is_value(&self.text[at..at + length]) {
            self.assigned(AssignedName { from: at, to: at + length, secrecy, is_flag: false });
        }
    }
}

/// Returns the name with the word before it, if people write them apart: `API key`, `max tokens`.
fn with_word_before<'a>(before: &'a str, name: &'a str) -> Cow<'a, str> {
    let before = before.strip_suffix(' ').unwrap_or_default();
    let length = before
        .bytes()
        .rev()
        .take(LONGEST_NAME)
        .take_while(|byte| byte.is_ascii_alphanumeric())
        .count();
    match length {
        0 => Cow::Borrowed(name),
        _ => Cow::Owned([&before[before.len() - length..], " ", name].concat()),
    }
}

/// Returns the word at `at`, up to a delimiter of texts, commands and queries.
pub(super) fn word_at(text: &str, at: usize) -> &str {
    if text[at..].starts_with(REDACTED) {
        return REDACTED;
    }
    let whole = whole_word_at(text, at);
    // A trailing ellipsis or bracket belongs to the sentence, except the bracket of `[redacted]`.
    let word = whole.trim_end_matches(['.', ',', ':', '!', '?', ')', ']', '}', '…']);
    let redacted = whole.rfind(REDACTED).map_or(0, |start| start + REDACTED.len());
    &whole[..word.len().max(redacted)]
}

/// Returns the word at `at` with trailing punctuation.
pub(super) fn whole_word_at(text: &str, at: usize) -> &str {
    let rest = clip(&text[at..], LONGEST_WORD);
    let bytes = rest.as_bytes();
    // An escaped line end, and a comma before the next name, end a word too.
    let ends = |at: usize| match bytes[at] {
        b'\\' => bytes.get(at + 1).is_none_or(|next| b"nrt\"'".contains(next)),
        b',' => {
            bytes.get(at + 1).is_none_or(|next| !next.is_ascii_alphanumeric())
                || has_name(&rest[at + 1..])
        }
        b'%' => rest[at..].starts_with("%26"),
        byte => byte.is_ascii_whitespace() || b"\"'`&;<>".contains(&byte),
    };
    let end = (0..bytes.len()).find(|at| ends(*at)).unwrap_or(bytes.len());
    &rest[..end]
}

/// Returns whether the text begins with a name and an assignment pattern.
fn has_name(text: &str) -> bool {
    let length = run(text, |byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    length > 0 && text[length..].starts_with(['=', ':'])
}

/// Returns where the line ends, at a raw or an escaped line end.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    let end = rest.find(['\n', '\r']).unwrap_or(rest.len());
    let escaped = rest[..end].find("\\n").or_else(|| rest[..end].find("\\r"));
    at + escaped.unwrap_or(end)
}
