//! Names that mark their value as secret.

use std::ops::Range;

use super::{secret_patterns, value_kinds::is_one_of};

/// How strongly a name marks its value as secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Secrecy {
    /// Always: `password`, `client_secret`, `api_key`.
    Strong,
    /// As a key; in prose the value must look like a secret, because the word is common: `token`, `auth`, `cookie`.
    Common,
    /// Like [`Common`](Self::Common), but a number is a count: `tokens`, `pass`, `cookies`.
    Countable,
    /// Only if the value looks random: `session`, `signature`.
    IfRandom,
}

use Secrecy::{Common, Countable, IfRandom, Strong};

/// Longer names are sentences or data.
const LONGEST: usize = 64;

/// Words that make a name secret anywhere in it, unless it ends with one of [`ABOUT`].
#[rustfmt::skip]
const STRONG: &[&str] = &[
    "password", "passwd", "passphrase", "passcode", "pwd", "secret", "credential", "credentials",
    "creds", "psk", "apikey", "secretkey", "privatekey", "accesskey", "accountkey", "signingkey",
    "encryptionkey", "masterkey",
];
/// Endings that have the same effect within a single word: `dbpassword`, `clientsecret`.
#[rustfmt::skip]
const STRONG_ENDS: &[&str] = &[
    "password", "passwd", "passphrase", "secret", "apikey", "secretkey", "privatekey", "accesskey",
];
/// Words before `key` that make it a secret.
#[rustfmt::skip]
const KEYS: &[&str] = &[
    "api", "private", "access", "secret", "signing", "encryption", "decryption", "master",
    "shared", "preshared", "account", "auth", "service", "subscription", "functions", "license",
    "session", "deploy", "admin", "hmac", "aes", "rsa", "ssh", "write", "ingest", "ingestion",
    "security", "storage", "app", "root", "vault", "crypto", "cipher",
];
/// Last words of names that describe a secret without holding it: `password_policy_url`, `secret_name`, `api_key_id`.
#[rustfmt::skip]
const ABOUT: &[&str] = &[
    "policy", "policies", "url", "uri", "urls", "link", "href", "length", "len", "count", "size",
    "limit", "type", "kind", "name", "names", "id", "ids", "field", "fields", "hint", "label",
    "strength", "required", "enabled", "disabled", "expires", "expired", "expiry", "expiration",
    "at", "on", "age", "ttl", "endpoint", "path", "file", "filename", "dir", "folder", "format",
    "version", "rule", "rules", "help", "min", "max", "manager", "changed", "updated", "created",
    "rotated", "rotation", "method", "mode", "scope", "scopes", "usage", "used", "status", "state",
    "valid", "present", "provider", "store", "location", "ref", "refs", "reference", "arn",
    "algorithm", "alg", "prompt", "placeholder", "description", "title", "regex", "pattern",
    "attempts", "days", "date", "time", "timestamp", "input", "selector", "protected", "reset",
    "generator", "complexity", "source", "sources", "engine", "index", "visible", "position",
    "agent", "santa", "sharing", "management", "schema", "error", "errors",
];
/// First words of names that say whether there is a secret: `has_password`, `forgot_password`.
const WHETHER: &[&str] = &[
    "has", "is", "use", "uses", "show", "hide", "forgot", "forget", "requires", "require", "needs",
    "need", "allow", "enable", "disable", "no", "without", "missing", "invalid", "wrong", "can",
    "should", "supports", "num", "count",
];
/// Last words that do not change what a name is: `password_hash`, `token_2`, `API_KEY_PROD`.
#[rustfmt::skip]
const BESIDES: &[&str] = &[
    "value", "values", "string", "str", "binary", "text", "plain", "plaintext", "raw", "data",
    "content", "pem", "der", "base", "b64", "base64", "hex", "hash", "hashed", "confirmation",
    "confirm", "again", "repeat", "old", "new", "current", "header", "headers", "env", "param",
    "prod", "production", "dev", "development", "staging", "stage", "test", "qa", "ci", "live",
    "sandbox", "local", "main", "primary", "secondary", "backup", "default", "github", "gitlab",
    "slack", "openai", "anthropic", "aws", "gcp", "azure",
];
/// Words before `pass` and `pw` that make them passwords.
#[rustfmt::skip]
const PASSES: &[&str] = &[
    "db", "database", "user", "login", "root", "admin", "smtp", "imap", "mail", "email", "ftp",
    "sftp", "ssh", "http", "https", "proxy", "redis", "mysql", "pg", "postgres", "sql", "mongo",
    "rabbitmq", "mqtt", "wifi", "wlan", "app", "auth", "basic", "key", "keystore", "truststore",
    "cert", "vault", "sudo", "master", "my", "old", "new", "account", "service", "server",
    "client", "ldap", "bind", "jdbc", "socks",
];
#[rustfmt::skip]
const JOINED_PASSES: &[&str] = &[
    "dbpass", "userpass", "rootpass", "adminpass", "sshpass", "ftppass", "smtppass", "mailpass",
    "mypass", "httppass",
];
/// Words before `token` and `tokens` that make them positions, pieces of text or counts.
#[rustfmt::skip]
const TOKENS: &[&str] = &[
    "next", "page", "pagination", "continuation", "sync", "cursor", "stop", "special", "bos",
    "eos", "pad", "unk", "cls", "sep", "mask", "first", "last", "per", "prev", "previous",
    "progress", "cancellation", "cancel", "css", "syntax", "lexer", "parser", "word", "sub",
    "byte", "max", "min", "maximum", "minimum", "num", "number", "total", "input", "output",
    "prompt", "completion", "reasoning", "cached", "cache", "used", "remaining", "context", "n",
    "count", "limit", "budget", "read", "write", "creation", "generated", "candidates", "thoughts",
    "audio", "image", "prediction", "accepted", "rejected", "billed", "avg", "average", "extra",
    "sampled", "thinking", "of", "text",
];
/// Words before `cookie` that make it an HTTP cookie.
const COOKIES: &[&str] = &[
    "set", "session", "auth", "http", "x", "csrf", "xsrf", "login", "request", "response", "raw",
    "sso",
];

/// Returns how strongly a name marks its value as secret. `None` if it does not.
pub(super) fn secrecy(name: &str) -> Option<Secrecy> {
    if name.len() > LONGEST || !secret_patterns::has_name(name) {
        return None;
    }
    let lower = name.to_ascii_lowercase();
    let ranges = split(name);
    let words: Vec<&str> = ranges.iter().map(|range| &lower[range.clone()]).collect();
    // A question, not a name.
    if name.split(' ').count() > 4 {
        return None;
    }
    let end = words.iter().position(|word| *word == "for").filter(|at| *at > 0);
    classify(&words[..end.unwrap_or(words.len())])
}

fn classify(words: &[&str]) -> Option<Secrecy> {
    let is_besides =
        |word: &&str| is_one_of(word, BESIDES) || word.bytes().all(|b| b.is_ascii_digit());
    let besides = words.iter().rev().take_while(|word| is_besides(word)).count();
    let words = &words[..words.len() - besides];
    let (last, before) = words.split_last()?;
    let before = before.last().copied();
    let owned_by = |owners: &[&str]| before.is_none_or(|before| is_one_of(before, owners));
    if is_one_of(words[0], WHETHER) && words.len() > 1 {
        return None;
    }
    let found = match *last {
        "passwords" | "secrets" => Some(Countable),
        "pass" | "pw" => owned_by(PASSES).then_some(Countable),
        "token" => (before.is_none() || !owned_by(TOKENS)).then_some(Common),
        "tokens" => (before.is_none() || !owned_by(TOKENS)).then_some(Countable),
        // `OAuth` is a protocol.
        "auth" => (before != Some("o")).then_some(Common),
        "authorization" | "authorisation" | "jwt" | "bearer" | "otp" | "totp" | "cvv" | "cvc"
        | "sessid" | "phpsessid" | "jsessionid" => Some(Common),
        "cookie" => owned_by(COOKIES).then_some(Common),
        "cookies" => owned_by(COOKIES).then_some(Countable),
        "session" | "sessionid" | "sid" | "signature" | "sig" => Some(IfRandom),
        "id" if before == Some("session") => Some(IfRandom),
        "code" | "codes" if before.is_some_and(|b| is_one_of(b, CODES)) => Some(Common),
        "phrase"
            if before.is_some_and(|b| is_one_of(b, &["pass", "seed", "recovery", "secret"])) =>
        {
            Some(Strong)
        }
        joined if is_one_of(joined, JOINED_PASSES) => Some(Countable),
        joined if is_joined_token(joined) => Some(Common),
        _ => None,
    };
    found.or_else(|| (is_strong(words) && !is_one_of(last, ABOUT)).then_some(Strong))
}

/// Words before `code` that make it a secret.
const CODES: &[&str] =
    &["authorization", "auth", "recovery", "backup", "otp", "mfa", "totp", "2fa"];

/// Returns whether one of these words makes every name secret.
fn is_strong(words: &[&str]) -> bool {
    let is_key = |pair: &[&str]| matches!(pair[1], "key" | "keys") && is_one_of(pair[0], KEYS);
    let is_strong =
        |word: &&str| is_one_of(word, STRONG) || STRONG_ENDS.iter().any(|end| word.ends_with(end));
    words.iter().any(is_strong) || words.windows(2).any(is_key)
}

/// Returns whether the word is like `accesstoken`, and not like `pagetoken`.
fn is_joined_token(word: &str) -> bool {
    word.strip_suffix("token").is_some_and(|before| {
        !before.is_empty()
            && !TOKENS.iter().any(|harmless| harmless.len() > 2 && before.ends_with(harmless))
    })
}

/// Splits a name into its words: at characters that are neither letters nor digits, where a capital follows a small
/// letter, before the last of several capitals, and around digits.
pub(super) fn split(name: &str) -> Vec<Range<usize>> {
    let (bytes, mut words, mut start) = (name.as_bytes(), Vec::new(), 0);
    for at in 0..=bytes.len() {
        let is_end = at == bytes.len() || !is_letter(bytes[at]);
        if is_end || (at > start && is_boundary(bytes, at)) {
            if at > start {
                words.push(start..at);
            }
            start = if is_end { at + 1 } else { at };
        }
    }
    words
}

/// Bytes of non-ASCII letters belong to words, so that no character is split.
fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

fn is_boundary(bytes: &[u8], at: usize) -> bool {
    let (before, here) = (bytes[at - 1], bytes[at]);
    let ends_capitals = || bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase);
    (here.is_ascii_uppercase() && (before.is_ascii_lowercase() || before.is_ascii_digit()))
        || (here.is_ascii_uppercase() && before.is_ascii_uppercase() && ends_capitals())
        || (here.is_ascii_digit()
            && before.is_ascii_lowercase()
            && bytes[at..].iter().all(u8::is_ascii_digit))
}

/// Returns whether the key's value is a name: `{"name": "DB_PASSWORD", "value": …}`.
pub(super) fn is_name(key: &str, secrecy: Secrecy) -> bool {
    #[rustfmt::skip]
    const NAMES: &[&str] = &[
        "name", "key", "header", "field", "variable", "var", "param", "parameter", "property",
        "attribute", "env", "k", "id",
    ];
    let last = last_word(key);
    is_one_of(&last, NAMES) || (last == "type" && secrecy == Strong)
}

/// Returns whether the key holds the value that another key of its object names.
pub(super) fn is_value(key: &str) -> bool {
    const VALUES: &[&str] = &[
        "value", "values", "val", "v", "content", "default", "const", "enum", "example", "examples",
    ];
    is_one_of(&last_word(key), VALUES)
}

fn last_word(key: &str) -> String {
    let last = split(key).pop().unwrap_or_default();
    key[last].to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    // RC-3
    #[test]
    fn names_are_split_into_words() {
        let words = |name: &'static str| {
            split(name).into_iter().map(|word| &name[word]).collect::<Vec<_>>()
        };
        assert_eq!(words("snake_case-and.dots"), ["snake", "case", "and", "dots"]);
        assert_eq!(words("camelCaseAPIKey2"), ["camel", "Case", "API", "Key", "2"]);
        assert_eq!(words("password12"), ["password", "12"]);
        assert_eq!(words("__x--"), ["x"]);
        assert_eq!(words("clé_secrète"), ["clé", "secrète"]);
    }

    // RC-3
    #[test]
    fn a_name_says_how_far_its_value_is_secret() {
        for (name, expected) in [
            ("DB_PASSWORD", Some(Strong)),
            ("passwordHash", Some(Strong)),
            ("x-api-key", Some(Strong)),
            ("API_KEY_PROD", Some(Strong)),
            ("clientsecret", Some(Strong)),
            ("password_for_ci", Some(Strong)),
            ("csrfToken", Some(Common)),
            ("accesstoken", Some(Common)),
            ("pass", Some(Countable)),
            ("session_id", Some(IfRandom)),
            ("max_tokens", None),
            ("nextPageToken", None),
            ("password_policy_url", None),
            ("has_password", None),
            ("boarding_pass", None),
            ("author", None),
            ("OAuth", None),
            ("secretary", None),
            ("monkey", None),
            ("public_key", None),
            ("How do I change my password", None),
        ] {
            assert_eq!(secrecy(name), expected, "{name}");
        }
    }
}
