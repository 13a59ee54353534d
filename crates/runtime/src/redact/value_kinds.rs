//! What values look like: secrets, ordinary words, code, or placeholders.

use base64::Engine;

use super::REDACTED;

/// Returns whether the word is in the list.
pub(super) fn is_one_of(word: &str, list: &[&str]) -> bool {
    list.contains(&word)
}

/// Returns whether the value is a placeholder: `${DB_PASSWORD}`, `<token>`, `****`, or `[redacted]`.
pub(super) fn is_placeholder(value: &str) -> bool {
    let value = value.trim();
    let is_between = |open: &str, close: &str| value.starts_with(open) && value.ends_with(close);
    let is_variable = |name: &str| {
        !name.is_empty()
            && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
    };
    value.is_empty()
        || value.contains(REDACTED)
        || value.chars().all(|letter| matches!(letter, '*' | '•' | '.' | '…' | '-' | '_'))
        || is_between("${", "}")
        || is_between("{{", "}}")
        || is_between("{", "}")
            && value[1..].bytes().all(|b| b.is_ascii_lowercase() || matches!(b, b'_' | b'}'))
        || is_between("$(", ")")
        || (is_between("<", ">") && !value.bytes().any(|b| b.is_ascii_digit()))
        || value.strip_prefix('$').is_some_and(is_variable)
        || value.strip_prefix('%').and_then(|rest| rest.strip_suffix('%')).is_some_and(is_variable)
}

/// Returns whether the value describes a secret instead of being one: `none`, `required`, `string`.
pub(super) fn is_remark(value: &str) -> bool {
    #[rustfmt::skip]
    const REMARKS: &[&str] = &[
        "none", "null", "nil", "undefined", "true", "false", "yes", "no", "required", "optional",
        "missing", "invalid", "incorrect", "wrong", "expired", "empty", "unset", "set", "hidden",
        "masked", "redacted", "n/a", "unknown", "enabled", "disabled", "string", "str", "text",
        "bytes", "number", "integer", "boolean", "bool", "object", "array", "any", "never",
    ];
    is_one_of(&value.to_ascii_lowercase(), REMARKS)
}

/// Returns whether the value names an authentication scheme, as `auth` and `token` often do.
pub(super) fn is_scheme(value: &str) -> bool {
    #[rustfmt::skip]
    const SCHEMES: &[&str] = &[
        "basic", "bearer", "digest", "negotiate", "ntlm", "oauth", "oauth2", "oidc", "saml",
        "ldap", "jwt", "token", "apikey", "api_key", "api-key", "key", "password", "cookie",
        "session", "hawk", "anonymous", "default", "auto", "basic auth", "public",
    ];
    is_one_of(&value.to_ascii_lowercase(), SCHEMES)
}

/// Returns whether a sentence may continue with this word: then the name before it was prose.
pub(super) fn is_prose(word: &str) -> bool {
    #[rustfmt::skip]
    const PROSE: &[&str] = &[
        "a", "an", "the", "this", "that", "these", "those", "it", "its", "is", "are", "was",
        "were", "be", "been", "being", "has", "have", "had", "do", "does", "did", "must", "should",
        "shall", "may", "might", "can", "cannot", "could", "will", "would", "not", "no", "and",
        "or", "but", "if", "when", "while", "where", "which", "who", "whose", "how", "what", "why",
        "please", "enter", "use", "using", "used", "your", "my", "our", "their", "his", "her",
        "files", "at", "in", "on", "of", "for", "to", "from", "with", "without", "by", "as",
        "about", "after", "before", "see", "only", "also", "both", "each", "every", "all", "some",
        "any", "one", "two", "three", "there", "here", "then", "than", "too", "very", "minimum",
        "maximum", "least", "most", "more", "less", "same", "like", "such", "so", "because",
        "since", "into", "authentication", "auth", "authorization", "token", "tokens", "password",
        "passwords", "secret", "secrets", "key", "keys", "credentials", "cookie", "cookies",
        "scheme", "schemes", "header", "headers", "flag", "option", "argument", "parameter",
        "field", "value", "realm", "access", "login", "user", "username", "check", "make", "sure",
        "set", "found", "failed", "failure", "error", "ok", "done", "granted", "denied",
        "accepted", "rejected", "changed", "reset", "generated", "created", "updated", "sent",
        "stored", "saved", "choose", "change", "click", "type", "never", "always", "new", "old",
        "you", "we", "they", "i", "he", "she", "me", "us", "them",
    ];
    let lower = word.to_ascii_lowercase();
    is_one_of(&lower, PROSE) || is_remark(word)
}

/// Returns whether the value is code that yields a secret: `get_token()`, `config.password`, `&str`, `tokens[0]`.
pub(super) fn is_code(value: &str, name: &str) -> bool {
    const ROOTS: &[&str] = &[
        "process", "os", "env", "ENV", "environ", "self", "this", "config", "settings", "args",
        "options", "opts", "req", "request", "ctx", "secrets", "vars", "params", "props", "state",
        "std", "crate", "import",
    ];
    #[rustfmt::skip]
    const TYPES: &[&str] = &[
        "str", "String", "Option", "Vec", "Box", "Arc", "Rc", "Secret", "SecretString", "Bytes",
        "Value", "Any", "char", "Cow", "Token", "Result", "Optional", "Union", "List", "Dict",
        "Promise", "Array", "Record", "impl", "dyn", "mut", "usize", "u64", "i64", "u32", "i32",
        "int", "let", "await", "new",
    ];
    let value = value.trim_start_matches(['&', '*', '!']);
    let is_identifier =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':');
    let end = value.bytes().position(|byte| !is_identifier(byte)).unwrap_or(value.len());
    let (identifier, rest) = value.split_at(end);
    let root = identifier.split(['.', ':']).next().unwrap_or_default();
    let has_digits = identifier.bytes().any(|byte| byte.is_ascii_digit());
    let is_path = identifier.contains('.') || identifier.contains("::");
    identifier.is_empty() && value.starts_with('(')
        || (rest.starts_with(['(', '[']) && !identifier.is_empty() && !has_digits)
        || (is_path && is_one_of(root, ROOTS))
        || is_one_of(root, TYPES)
        || identifier.eq_ignore_ascii_case(name)
}

/// Returns whether the value has letters and digits, as random ones do, or is too long for a word.
pub(super) fn is_random(value: &str, least: usize) -> bool {
    let has = |is: fn(&u8) -> bool| value.as_bytes().iter().any(is);
    let is_whole = !value.contains([' ', '\n', '(', ')', '/', '<', '>']);
    value.len() >= least && is_whole && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
        || (value.len() >= 24 && is_whole && value.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// Returns whether the value is a name and a password in Base64, as in `Basic dXNlcjpwYXNz`.
pub(super) fn is_basic(value: &str) -> bool {
    use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
    // Only whole groups are decoded, so that a truncated value is recognised too.
    let groups = value.trim_end_matches('=');
    let groups = groups.get(..groups.len() - groups.len() % 4).unwrap_or_default();
    let decoded = STANDARD_NO_PAD.decode(groups).or_else(|_| URL_SAFE_NO_PAD.decode(groups));
    let text = decoded.ok().and_then(|bytes| String::from_utf8(bytes).ok());
    text.is_some_and(|text| text.contains(':') && !text.contains(char::is_control))
}
