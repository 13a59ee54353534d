//! Keeps secrets out of logs and records: by the key's name and by the value's look.

mod suspect;

use std::{borrow::Cow, sync::LazyLock};

use regex::Regex;
use serde_json::{Map, Value};
use switchboard_toolcall::json::{self, write_string};

/// What stands where a secret was.
pub const REDACTED: &str = "[redacted]";

/// Keys whose values are secret wherever these words stand in them.
const SECRET_WITHIN: &[&str] = &["password", "passwd", "passphrase", "secret", "credential"];

/// Keys whose values are secret where they end with these words.
const SECRET_AT_END: &[&str] =
    &["token", "apikey", "authorization", "privatekey", "accesskey", "signingkey", "cookie"];

/// Values that look like secrets: bearer and basic credentials, keys of well-known makers, JSON web tokens,
/// private keys, passwords in addresses. What they match, `suspect.rs` must find suspect.
const PATTERNS: [&str; 14] = [
    r"(?:[Bb]earer|BEARER|[Bb]asic|BASIC)\s+[A-Za-z0-9._~+/=-]{8,}",
    r"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}",
    r"\b(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{10,}",
    r"\bgh[pousr]_[A-Za-z0-9]{20,}",
    r"\bgithub_pat_[A-Za-z0-9_]{20,}",
    r"\bglpat-[A-Za-z0-9_-]{16,}",
    r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    r"\bAIza[0-9A-Za-z_-]{30,}",
    r"\bhf_[A-Za-z0-9]{20,}",
    r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY-----)?",
    r"://[^/\s:@]+:[^/\s:@]+@",
    // JSON within a text: the key's name says it.
    r#""[^"\\]*(?i:password|passwd|secret|token|api_?key|authorization)"\s*:\s*"[^"]+""#,
];

/// Where a word begins or ends, as far as ASCII goes: one that knew all letters would be searched for step by step in every text
/// that has others, at two hundred times the price.
const WORD: &str = r"(?-u:\b)";

static SECRET_VALUE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(&PATTERNS.join("|").replace(r"\b", WORD)).ok());

/// The text with what looks like a secret taken out.
pub fn text(text: &str) -> Cow<'_, str> {
    if !suspect::is_suspect(text) {
        return Cow::Borrowed(text);
    }
    match &*SECRET_VALUE {
        Some(pattern) => pattern.replace_all(text, |found: &regex::Captures<'_>| {
            // What introduces the secret stays, so that a reader sees what kind it was.
            let found = &found[0];
            if found.starts_with("://") {
                return format!("://{REDACTED}@");
            }
            if let Some((key, _)) = found.strip_prefix('"').and_then(|found| found.split_once('"'))
            {
                return format!("\"{key}\":\"{REDACTED}\"");
            }
            match found.split_once(char::is_whitespace) {
                Some((scheme, _)) if scheme.len() < 7 => format!("{scheme} {REDACTED}"),
                _ => REDACTED.to_owned(),
            }
        }),
        None => Cow::Borrowed(REDACTED),
    }
}

/// The object as compact JSON with secrets taken out.
pub fn object(object: &Map<String, Value>) -> String {
    let mut out = String::with_capacity(512);
    write_object(&mut out, object);
    out
}

/// The value as compact JSON with secrets taken out.
pub fn value(value: &Value) -> String {
    let mut out = String::with_capacity(512);
    write_value(&mut out, value);
    out
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Object(object) => write_object(out, object),
        Value::Array(items) => json::write_list(out, items, write_value),
        Value::String(string) => write_string(out, &text(string)),
        Value::Null | Value::Bool(_) | Value::Number(_) => json::write_value(out, value),
    }
}

fn write_object(out: &mut String, object: &Map<String, Value>) {
    let mut written = json::Object::begin(out);
    for (key, value) in object {
        let out = written.field(key);
        match value {
            Value::Null | Value::Bool(_) => write_value(out, value),
            value if is_secret(key) && !is_empty(value) => write_string(out, REDACTED),
            value => write_value(out, value),
        }
    }
    written.end();
}

fn is_empty(value: &Value) -> bool {
    value.as_str().is_some_and(str::is_empty)
}

/// Whether the key's name says that its value is secret.
fn is_secret(key: &str) -> bool {
    // Most keys are short and innocent: look before building anything.
    let ends = |word: &str| ends_with(key, word);
    SECRET_AT_END.iter().any(|word| ends(word)) || {
        key.len() >= 6 && {
            let key = key.to_ascii_lowercase();
            SECRET_WITHIN.iter().any(|word| key.contains(word))
        }
    }
}

/// Whether `key` ends with `word`, case, underscores and dashes aside.
fn ends_with(key: &str, word: &str) -> bool {
    let mut letters = key.bytes().rev().filter(|byte| !matches!(byte, b'_' | b'-' | b'.'));
    word.bytes()
        .rev()
        .all(|wanted| letters.next().is_some_and(|byte| byte.eq_ignore_ascii_case(&wanted)))
}

#[cfg(test)]
mod tests {
    use super::*;

    // EX-5
    #[test]
    fn secrets_are_found_among_the_letters_of_any_language() {
        let key = "sk-0123456789abcdef0123";
        for (before, after) in
            [("", ""), ("Schlüssel: ", " … für später"), ("鍵は", "です"), ("é", "é")]
        {
            let written = format!("{before}{key}{after}");
            assert_eq!(text(&written), format!("{before}{REDACTED}{after}"));
        }
        // A word that only ends like one.
        let innocent = format!("task{}", &key[2..]);
        assert_eq!(text(&innocent), innocent);
    }
}
