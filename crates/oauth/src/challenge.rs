//! `WWW-Authenticate`: what a server says that it wants.

use std::collections::BTreeMap;

/// What a `Bearer` challenge asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Challenge {
    /// Where the server's metadata is.
    pub resource_metadata: Option<String>,
    /// The scopes that are needed.
    pub scopes: Option<Vec<String>>,
    /// The error code, such as `insufficient_scope`.
    pub error: Option<String>,
}

impl Challenge {
    /// Reads the `Bearer` challenge among the values of `WWW-Authenticate`; returns `None` if there is none.
    pub fn parse<'a>(values: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let mut parameters = values.into_iter().find_map(bearer)?;
        let scopes = |text: String| text.split_ascii_whitespace().map(str::to_owned).collect();
        Some(Self {
            resource_metadata: parameters.remove("resource_metadata"),
            scopes: parameters.remove("scope").map(scopes),
            error: parameters.remove("error"),
        })
    }

    /// Whether the token is good and its scopes are not.
    pub fn wants_more_scopes(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }
}

/// The parameters of the `Bearer` challenge in a header, by lowercase name.
fn bearer(value: &str) -> Option<BTreeMap<String, String>> {
    let mut rest = value.trim_start();
    let mut found: Option<BTreeMap<String, String>> = None;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        if rest.is_empty() {
            return found;
        }
        let end = rest.find([' ', '\t', ',', '=']).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let Some(value) = after.trim_start().strip_prefix('=') else {
            // A scheme begins the next challenge.
            if found.is_some() {
                return found;
            }
            found = word.eq_ignore_ascii_case("bearer").then(BTreeMap::new);
            rest = after;
            continue;
        };
        let (value, after) = parameter(value.trim_start());
        if let Some(parameters) = &mut found {
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
