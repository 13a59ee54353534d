//! `WWW-Authenticate`: what a server says that it wants.

use std::collections::BTreeMap;

use super::dpop::USE_NONCE;

/// What a `Bearer` or `DPoP` challenge asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Challenge {
    /// Where the server's metadata is.
    pub resource_metadata: Option<String>,
    /// The scopes that are needed.
    pub scopes: Option<Vec<String>>,
    /// The error code, such as `insufficient_scope`.
    pub error: Option<String>,
    /// Whether tokens are wanted that are bound to a key.
    pub dpop: DpopDemand,
}

/// Whether a server wants tokens that are bound to a key (RFC 9449).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DpopDemand {
    /// It does not say.
    #[default]
    None,
    /// It takes them.
    Offered,
    /// It takes no others.
    Required,
}

impl Challenge {
    /// Reads the challenges among the values of `WWW-Authenticate`; returns `None` if none is `Bearer` or `DPoP`.
    pub fn parse<'a>(values: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let all: Vec<_> = values.into_iter().flat_map(challenges).collect();
        let of = |scheme: &str| all.iter().find(|(name, _)| name == scheme).map(|(_, found)| found);
        let (bearer, dpop) = (of("bearer"), of("dpop"));
        let demand = match (bearer, dpop) {
            (None, None) => return None,
            (Some(_), None) => DpopDemand::None,
            (Some(_), Some(_)) => DpopDemand::Offered,
            (None, Some(_)) => DpopDemand::Required,
        };
        let text = |name: &str| {
            [bearer, dpop].into_iter().flatten().find_map(|found| found.get(name)).cloned()
        };
        let scopes = |text: String| text.split_ascii_whitespace().map(str::to_owned).collect();
        Some(Self {
            resource_metadata: text("resource_metadata"),
            scopes: text("scope").map(scopes),
            error: text("error"),
            dpop: demand,
        })
    }

    /// Reads what a response asks for, from its status and the values of `WWW-Authenticate`; returns `None` if it does not
    /// refuse the token, or asks for something other than a token.
    pub fn of_response<'a>(status: u16, values: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let mut values = values.into_iter().peekable();
        match status {
            401 if values.peek().is_none() => Some(Self::default()),
            401 => Self::parse(values),
            403 => Self::parse(values).filter(Self::wants_more_scopes),
            _ => None,
        }
    }

    /// Whether the token is good and its scopes are not.
    pub fn wants_more_scopes(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }

    /// Whether the token is good and its proof lacks the nonce that came with the challenge.
    pub(super) fn wants_nonce(&self) -> bool {
        self.error.as_deref() == Some(USE_NONCE)
    }
}

/// The challenges in a header: the scheme in lower case, and its parameters by lowercase name.
fn challenges(value: &str) -> Vec<(String, BTreeMap<String, String>)> {
    let mut rest = value.trim_start();
    let mut found: Vec<(String, BTreeMap<String, String>)> = Vec::new();
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        if rest.is_empty() {
            return found;
        }
        let end = rest.find([' ', '\t', ',', '=']).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let Some(value) = after.trim_start().strip_prefix('=') else {
            // A scheme begins the next challenge.
            found.push((word.to_ascii_lowercase(), BTreeMap::new()));
            rest = after;
            continue;
        };
        let (value, after) = parameter(value.trim_start());
        if let Some((_, parameters)) = found.last_mut() {
            parameters.entry(word.to_ascii_lowercase()).or_insert(value);
        }
        rest = after;
    }
}

/// A value, quoted or not, and what follows it.
fn parameter(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([' ', '\t', ',']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            other => value.push(other),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(values: &[&str]) -> Option<(Option<String>, Option<String>, Option<String>)> {
        let challenge = Challenge::parse(values.iter().copied())?;
        let scopes = challenge.scopes.map(|scopes| scopes.join("+"));
        Some((challenge.resource_metadata, scopes, challenge.error))
    }

    // AU-3
    #[test]
    fn a_server_may_take_or_want_bound_tokens() {
        let demand = |values: &[&str]| Challenge::parse(values.iter().copied()).unwrap().dpop;
        assert_eq!(demand(&["Bearer"]), DpopDemand::None);
        assert_eq!(demand(&["Bearer", "DPoP algs=\"ES256\""]), DpopDemand::Offered);
        assert_eq!(demand(&["DPoP error=\"use_dpop_nonce\", Basic x=1"]), DpopDemand::Required);
        let both = ["Bearer, DPoP error=\"use_dpop_nonce\""];
        assert!(Challenge::parse(both).unwrap().wants_nonce());
    }

    // AU-1
    #[test]
    fn challenges_are_read_as_servers_write_them() {
        let text = |text: &str| Some(text.to_owned());
        let metadata = "https://a.example/.well-known/oauth-protected-resource";
        let full = format!("Bearer resource_metadata=\"{metadata}\", scope=\"a b\"");
        assert_eq!(read(&[&full]), Some((text(metadata), text("a+b"), None)));
        let basic_first = "Basic realm=\"x, Bearer y=z\", bearer error=invalid_token,SCOPE=one";
        assert_eq!(read(&[basic_first]), Some((None, text("one"), text("invalid_token"))));
        assert_eq!(read(&["Basic realm=x", "Bearer"]), Some((None, None, None)));
        assert_eq!(
            read(&["Bearer error=\"a\\\"b\", Basic scope=\"no\""]),
            Some((None, None, text("a\"b")))
        );
        assert_eq!(read(&["Bearer scope=\"cut off"]), Some((None, text("cut+off"), None)));
        assert_eq!(read(&["Bearer scope=\"\""]), Some((None, text(""), None)));
        for none in [&["Basic realm=\"Bearer\""][..], &[""], &[], &["Negotiate abc=="], &["=,= ,"]]
        {
            assert_eq!(read(none), None, "{none:?}");
        }
    }
}
