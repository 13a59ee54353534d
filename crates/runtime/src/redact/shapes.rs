//! Secrets that are recognised by their shape: tokens of well-known services, JWTs, private keys, passwords in URLs.

use std::ops::Range;

use super::value_kinds::is_placeholder;

/// The shape of a token.
pub(super) struct TokenShape {
    /// Its prefix.
    pub(super) prefix: &'static str,
    /// The characters that follow.
    letters: TokenCharacters,
    /// How many characters follow at least.
    least: usize,
}

#[derive(Clone, Copy)]
enum TokenCharacters {
    /// TokenCharacters and digits.
    Plain,
    /// The URL-safe alphabet of Base64.
    Url,
    /// That alphabet, dots, slashes and equal signs.
    Parts,
    /// Hexadecimal digits.
    Hex,
    /// Sixteen capitals and digits, and no more.
    Aws,
}

use TokenCharacters::{Aws, Hex, Parts, Plain, Url};

macro_rules! shapes {
    ($($prefix:literal $letters:ident $least:literal),* $(,)?) => {
        &[$(TokenShape { prefix: $prefix, letters: $letters, least: $least }),*]
    };
}

/// Tokens of well-known services, and our own.
pub(super) const SHAPES: &[TokenShape] = shapes![
    "sb_" Url 20, "sk-" Url 16, "pk-" Url 16, "rk-" Url 16, "sk_live_" Plain 10, "sk_test_" Plain 10, "pk_live_" Plain 10,
    "pk_test_" Plain 10, "rk_live_" Plain 10, "rk_test_" Plain 10, "whsec_" Url 16, "ghp_" Plain 20, "gho_" Plain 20,
    "ghu_" Plain 20, "ghs_" Plain 20, "ghr_" Plain 20, "github_pat_" Url 20, "glpat-" Url 16, "gldt-" Url 16,
    "glrt-" Url 16, "glcbt-" Url 16, "glptt-" Url 16, "glft-" Url 16, "glsoat-" Url 16, "xoxa-" Url 10, "xoxb-" Url 10,
    "xoxc-" Url 10, "xoxd-" Url 10, "xoxe-" Url 10, "xoxo-" Url 10, "xoxp-" Url 10, "xoxr-" Url 10, "xoxs-" Url 10,
    "xapp-" Url 10, "AKIA" Aws 16, "ASIA" Aws 16, "AIza" Url 30, "hf_" Plain 20, "npm_" Plain 30, "pypi-" Url 32,
    "ya29." Parts 16, "1//0" Url 30, "GOCSPX-" Url 20, "dop_v1_" Hex 32, "doo_v1_" Hex 32, "dor_v1_" Hex 32, "SG." Parts 32,
    "shpat_" Hex 24, "shpca_" Hex 24, "shppa_" Hex 24, "shpss_" Hex 24, "sq0atp-" Url 16, "sq0csp-" Url 16,
    "key-" Hex 32, "lin_api_" Plain 20, "ntn_" Plain 30, "secret_" Plain 40, "figd_" Url 20, "dckr_pat_" Url 20,
    "hvs." Url 20, "hvb." Url 20, "hvr." Url 20, "tskey-" Url 16, "sntrys_" Parts 20, "sntryu_" Hex 30, "NRAK-" Plain 20,
    "dapi" Hex 32, "ATATT3" Parts 20, "ATCTT3" Parts 20, "pul-" Hex 40, "pscale_tkn_" Url 20, "pscale_pw_" Url 20,
    "sbp_" Hex 32, "gsk_" Plain 20, "xai-" Plain 20, "r8_" Plain 30, "pplx-" Plain 20, "tvly-" Url 16, "fo1_" Url 30,
    "rubygems_" Hex 32, "AGE-SECRET-KEY-1" Plain 40, "dp.pt." Plain 30, "CFPAT-" Url 30, "PMAK-" Url 30, "glc_" Parts 30,
    "glsa_" Url 30, "nvapi-" Url 30, "hooks.slack.com/services/" Parts 20, "discord.com/api/webhooks/" Parts 40,
    "discordapp.com/api/webhooks/" Parts 40,
];

impl TokenCharacters {
    fn have(self, byte: u8) -> bool {
        match self {
            Plain => byte.is_ascii_alphanumeric(),
            Url => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Parts => {
                byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/' | b'=')
            }
            Hex => byte.is_ascii_hexdigit(),
            Aws => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
        }
    }
}

impl TokenShape {
    /// Returns the token that begins at `start`, if there is one.
    pub(super) fn find(&self, text: &str, start: usize) -> Option<Range<usize>> {
        // The automaton ignores case.
        let rest = text[start..].strip_prefix(self.prefix)?;
        let near = clip(rest, MOST_TOKEN);
        let body = &near[..run(near, |byte| self.letters.have(byte))];
        let length = body.len();
        let is_long = match self.letters {
            Aws => {
                length == self.least
                    && !rest[length..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
            }
            _ => length >= self.least,
        };
        let has = |is: fn(&u8) -> bool| body.as_bytes().iter().any(is);
        // Names of files, styles and packages have neither digits nor capitals.
        let is_mixed =
            has(u8::is_ascii_digit) || (has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase));
        (is_long && is_mixed && begins_word(text, start)).then(|| {
            let length = run(rest, |byte| self.letters.have(byte));
            start..trimmed(text, start, start + self.prefix.len() + length)
        })
    }
}

/// Returns the JWT that begins at `start`, if there is one: three parts, or five if it is encrypted.
pub(super) fn web_token(text: &str, start: usize) -> Option<Range<usize>> {
    let rest = &text[start..];
    let is_part = |byte: u8| Url.have(byte) || byte == b'.';
    // A JWT has a dot: checked before all of it is read.
    if !rest.starts_with("eyJ") || !clip(rest, MOST_HEADER).contains('.') {
        return None;
    }
    let length = run(rest, is_part);
    let token = &rest[..length];
    let mut parts = token.split('.');
    let is_token = parts.next().is_some_and(|header| header.len() >= 11)
        && parts.next().is_some_and(|claims| claims.len() >= 8 || claims.is_empty())
        && parts.next().is_some();
    (is_token && begins_word(text, start)).then(|| start..trimmed(text, start, start + length))
}

/// Returns the bot token whose colon is at `colon`: a number, and 35 characters that begin with AA.
pub(super) fn bot_token(text: &str, colon: usize) -> Option<Range<usize>> {
    let digits = text.as_bytes()[..colon]
        .iter()
        .rev()
        .take(12)
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let length = run(&text[colon + 1..], |byte| Url.have(byte));
    let is_token =
        (8..=10).contains(&digits) && text[colon + 1..].starts_with("AA") && length >= 30;
    is_token.then(|| colon + 1..colon + 1 + length)
}

/// Returns the private key that begins at `start`, up to its END line, or to the end of the text.
pub(super) fn private_key(text: &str, start: usize) -> Option<Range<usize>> {
    const LONGEST: usize = 80;
    let rest = &text[start..];
    if rest.starts_with(['P', 'p']) {
        return Some(start..rest.find("Private-MAC").map_or(text.len(), |end| start + end));
    }
    let label = rest.trim_start_matches('-');
    let (label, body) = label.split_once("----").filter(|(label, _)| label.len() < LONGEST)?;
    let is_private = label.contains("PRIVATE KEY") && !label.contains('\n');
    if !is_private {
        return None;
    }
    let from = text.len() - body.len();
    let end = ["-----END ", "---- END "].iter().filter_map(|end| body.find(end)).min();
    let Some(end) = end.map(|end| from + end) else { return Some(start..text.len()) };
    // The label of the end, and the dashes behind it.
    let label = text[end..].trim_start_matches('-').find("----");
    let dashes = text[end..].len() - text[end..].trim_start_matches('-').len();
    let Some(label) = label.filter(|label| *label < LONGEST) else {
        return Some(start..text.len());
    };
    let after = end + dashes + label;
    Some(start..after + run(&text[after..], |byte| byte == b'-'))
}

/// Returns the password in the URL whose `://` is at `at`, if it has one.
pub(super) fn address_password(text: &str, at: usize) -> Option<Range<usize>> {
    let from = at + 3;
    let is_end = |byte: u8| {
        byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'<' | b'>' | b'`' | b'\\')
    };
    let near = clip(&text[from..], MOST_ADDRESS);
    let whole = &near[..run(near, |byte| !is_end(byte))];
    let authority = &whole[..whole.find(['/', '?', '#']).unwrap_or(whole.len())];
    let colon = authority.find(':')?;
    let end = match authority.rfind('@') {
        Some(end) => Some(end),
        // A password may have slashes, but a port has digits, and a template braces.
        None => {
            let after = &authority[colon + 1..];
            let is_port = after.bytes().all(|byte| byte.is_ascii_digit())
                || after.starts_with(['$', '{', '<', ':', '*']);
            whole.rfind('@').filter(|_| !is_port && !authority.contains('['))
        }
    };
    let end = end.filter(|end| *end > colon + 1)?;
    let password = &whole[colon + 1..end];
    (!is_placeholder(password)).then(|| from + colon + 1..from + end)
}

/// The longest URL that is checked; longer ones are data.
const MOST_ADDRESS: usize = 512;

/// How much of a token is checked before it is recognised.
const MOST_TOKEN: usize = 64;
/// The longest first part of a JWT.
const MOST_HEADER: usize = 2048;

/// Returns the beginning of the text, cut at a character boundary. Bounds what is checked repeatedly.
pub(super) fn clip(text: &str, most: usize) -> &str {
    let end = (0..=text.len().min(most)).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

/// Returns how many bytes at the beginning of the text satisfy `is`.
pub(super) fn run(text: &str, is: impl Fn(u8) -> bool) -> usize {
    text.bytes().position(|byte| !is(byte)).unwrap_or(text.len())
}

/// Returns whether `start` is not within a word of ASCII letters.
pub(super) fn begins_word(text: &str, start: usize) -> bool {
    let before = start.checked_sub(1).map(|before| text.as_bytes()[before]);
    !before.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Returns the end without trailing full stops.
fn trimmed(text: &str, start: usize, end: usize) -> usize {
    start + text[start..end].trim_end_matches(['.', '/']).len()
}
