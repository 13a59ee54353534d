//! Takes keys out of what is kept, before it is kept.
//!
//! A mask is as long as what it hides, so that pieces of a body stay the pieces that they were.

/// What is masked beyond what is known to be, or looks like, a key.
#[derive(Clone, Debug, Default)]
pub struct Scrub(Vec<String>);

/// Names of headers that hold secrets, whatever their values look like.
const SECRET_HEADERS: &[&str] =
    &["authorization", "cookie", "api-key", "apikey", "token", "secret"];

/// Names of parameters in an address that hold secrets.
const SECRET_PARAMETERS: &[&str] =
    &["key", "api_key", "api-key", "apikey", "token", "access_token"];

/// How well-known keys begin.
const KEY_BEGINNINGS: &[&str] = &["sk-", "sk_", "gsk_", "hf_", "xai-", "AIza", "ghp_"];

/// Shorter ones are words.
const SHORTEST_KEY: usize = 16;

impl Scrub {
    /// Masks these strings too, wherever they stand.
    pub fn hiding(strings: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self(strings.into_iter().map(Into::into).filter(|text: &String| !text.is_empty()).collect())
    }

    /// The same, and what the headers and the address of one request show to be secret.
    pub(super) fn with_request(&self, headers: &[(String, String)], path: &str) -> Self {
        let mut secrets = self.0.clone();
        for (name, value) in headers {
            if is_secret_header(name) {
                let word = value.rsplit(' ').next().unwrap_or(value);
                secrets.extend([value.clone(), word.to_owned()]);
            } else if looks_like_key(value) {
                secrets.push(value.clone());
            }
        }
        secrets.extend(
            parameters(path)
                .filter(|(name, _)| is_secret_parameter(name))
                .map(|(_, value)| value.to_owned()),
        );
        // The longest first: one may hold another. Single letters are no secrets.
        secrets.retain(|secret| secret.len() > 3);
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.dedup();
        Self(secrets)
    }

    /// Masks what is secret in bytes of any kind; as many come out as went in.
    pub(super) fn bytes(&self, bytes: &mut [u8]) {
        for secret in &self.0 {
            mask(bytes, secret.as_bytes());
            let quoted = serde_json::Value::String(secret.clone()).to_string();
            let escaped = &quoted.as_bytes()[1..quoted.len() - 1];
            if escaped != secret.as_bytes() {
                mask(bytes, escaped);
            }
        }
        mask_keys(bytes);
    }

    /// Masks what is secret in text.
    pub(super) fn text(&self, text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        self.bytes(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// A header's value as it is kept.
    pub(super) fn header(&self, name: &str, value: &str) -> String {
        if is_secret_header(name) || looks_like_key(value) {
            return "***".to_owned();
        }
        self.text(value)
    }

    /// An address as it is kept. Here a mask has one length, so that a replay with another key still matches.
    pub(super) fn path(&self, path: &str) -> String {
        let Some((place, _)) = path.split_once('?') else { return self.text(path) };
        let kept: Vec<String> = parameters(path)
            .map(|(name, value)| {
                let value =
                    if is_secret_parameter(name) { "***".to_owned() } else { self.text(value) };
                format!("{name}={value}")
            })
            .collect();
        format!("{}?{}", self.text(place), kept.join("&"))
    }
}

fn is_secret_header(name: &str) -> bool {
    let name = name.to_lowercase();
    // `x-ratelimit-limit-tokens` counts something else.
    !name.ends_with("tokens")
        && !name.contains("ratelimit")
        && SECRET_HEADERS.iter().any(|word| name.contains(word))
}

fn is_secret_parameter(name: &str) -> bool {
    SECRET_PARAMETERS.contains(&name.to_lowercase().as_str())
}

fn parameters(path: &str) -> impl Iterator<Item = (&str, &str)> {
    let query = path.split_once('?').map_or("", |(_, query)| query);
    query
        .split('&')
        .filter(|one| !one.is_empty())
        .map(|one| one.split_once('=').unwrap_or((one, "")))
}

/// Whether a value is one long word of letters and digits, or begins as keys do.
fn looks_like_key(value: &str) -> bool {
    let word = value.rsplit(' ').next().unwrap_or(value);
    let plain = word.bytes().all(is_key_byte);
    let mixed = word.bytes().any(|byte| byte.is_ascii_digit())
        && word.bytes().any(|byte| byte.is_ascii_alphabetic());
    let begins = KEY_BEGINNINGS.iter().any(|start| word.starts_with(start));
    plain && (word.len() >= 32 && mixed || begins && word.len() >= SHORTEST_KEY)
}

fn is_key_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

fn mask(bytes: &mut [u8], secret: &[u8]) {
    let mut start = 0;
    while let Some(found) = find(&bytes[start..], secret) {
        bytes[start + found..start + found + secret.len()].fill(b'*');
        start += found + secret.len();
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// Masks words that begin as well-known keys do; errors quote them.
fn mask_keys(bytes: &mut [u8]) {
    let mut start = 0;
    while start < bytes.len() {
        let end = start + bytes[start..].iter().take_while(|byte| is_key_byte(**byte)).count();
        let word = &bytes[start..end];
        if word.len() >= SHORTEST_KEY
            && KEY_BEGINNINGS.iter().any(|begin| word.starts_with(begin.as_bytes()))
        {
            bytes[start..end].fill(b'*');
        }
        start = end + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn what_a_request_shows_is_masked_in_its_length() {
        let sent = headers(&[
            ("authorization", "Bearer short-key"),
            ("x-api-key", "pässword"),
            ("x-custom", "a1b2c3d4e5f6a7b8c9d0a1b2c3d4e5f6"),
            ("user-agent", "switchboard/0.1"),
        ]);
        let scrub =
            Scrub::hiding(["ACME \"Corp\""]).with_request(&sent, "/v1/x?key=query-key&page=2");
        for (text, kept) in [
            ("no short-key here", "no ********* here"),
            ("pässword", "*********"),
            (r#"{"who":"ACME \"Corp\""}"#, r#"{"who":"*************"}"#),
            ("query-key", "*********"),
            ("a1b2c3d4e5f6a7b8c9d0a1b2c3d4e5f6", "********************************"),
            ("sk-ant-1234567890abcdef is wrong", "*********************** is wrong"),
            ("switchboard/0.1 and sk-1", "switchboard/0.1 and sk-1"),
        ] {
            assert_eq!(scrub.text(text), kept);
        }
    }

    #[test]
    fn addresses_and_headers() {
        let scrub = Scrub::default();
        assert_eq!(scrub.path("/v1/x?api_key=abc&page=2"), "/v1/x?api_key=***&page=2");
        assert_eq!(scrub.path("/v1/x"), "/v1/x");
        for (name, value, kept) in [
            ("content-type", "application/json", "application/json"),
            ("set-cookie", "a=b", "***"),
            ("x-ratelimit-remaining-tokens", "100", "100"),
            ("x-goog-token", "100", "***"),
            ("x-organization", "org_0123456789abcdef0123456789abcdef", "***"),
            ("request-id", "req_1", "req_1"),
        ] {
            assert_eq!(scrub.header(name, value), kept, "{name}");
        }
    }
}
