//! Clients: known by their metadata document, or by having registered themselves.

use reqwest::Url;
use serde::{Deserialize, Serialize};

use super::{OAuthError, redirect};
use crate::Access;

/// How many addresses a client may name, and how long each may be.
const MOST_ADDRESSES: usize = 20;
const LONGEST_ADDRESS: usize = 2000;
/// How much of a name is shown.
const LONGEST_NAME: usize = 80;

/// A client, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Client {
    /// Its id; for one with a metadata document, the URL of that.
    pub id: String,
    /// The name that it gives itself.
    pub name: String,
    /// The addresses to which browsers may be sent back.
    pub redirect_uris: Vec<String>,
}

/// What a client says of itself: RFC 7591, and the client id metadata document.
#[derive(Deserialize)]
pub(super) struct ClientMetadata {
    pub(super) client_id: Option<String>,
    client_name: Option<String>,
    #[serde(default)]
    redirect_uris: Vec<String>,
    pub(super) token_endpoint_auth_method: Option<String>,
}

impl ClientMetadata {
    /// Reads what a client says of itself.
    pub(super) fn read(text: &[u8]) -> Result<Self, OAuthError> {
        let wrong = |error| {
            OAuthError::new("invalid_client_metadata", format!("it cannot be read: {error}"))
        };
        serde_json::from_slice(text).map_err(wrong)
    }

    /// Checks it, and returns the client with this id.
    pub(super) fn into_client(self, id: String) -> Result<Client, OAuthError> {
        let wrong = |text: String| OAuthError::new("invalid_redirect_uri", text);
        if self.redirect_uris.is_empty() || self.redirect_uris.len() > MOST_ADDRESSES {
            let text = format!("`redirect_uris` must have 1 to {MOST_ADDRESSES} addresses");
            return Err(wrong(text));
        }
        for address in &self.redirect_uris {
            if address.len() > LONGEST_ADDRESS {
                return Err(wrong("an address of `redirect_uris` is too long".to_owned()));
            }
            redirect::check(address).map_err(wrong)?;
        }
        let name = safe_name(self.client_name.as_deref().unwrap_or_default());
        let name = if name.is_empty() { "a client without a name".to_owned() } else { name };
        Ok(Client { id, name, redirect_uris: self.redirect_uris })
    }
}

impl Client {
    /// Returns the domain that vouches for the client; `None` if it registered itself, since then nobody does.
    pub fn domain(&self) -> Option<String> {
        let url: Url = self.id.parse().ok()?;
        url.host_str().filter(|_| is_document(&self.id)).map(str::to_owned)
    }

    pub(super) fn redirects_to(&self, address: &str) -> bool {
        redirect::is_registered(address, &self.redirect_uris)
    }

    /// Returns a short name that fits into the name of a token.
    pub(super) fn slug(&self) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let text: String = self.name.chars().map(plain).take(40).collect();
        let words: Vec<_> = text.split('-').filter(|word| !word.is_empty()).collect();
        match words.is_empty() {
            true => "client".to_owned(),
            false => words.join("-"),
        }
    }
}

/// Returns whether the id is the URL of a metadata document.
pub(super) fn is_document(id: &str) -> bool {
    id.starts_with("https://") || id.starts_with("http://")
}

/// Returns a name without anything that could deceive who reads it.
fn safe_name(name: &str) -> String {
    let is_hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let visible: String = name.chars().filter(|c| !is_hidden(*c)).take(LONGEST_NAME).collect();
    visible.trim().to_owned()
}

impl Access {
    /// Returns the client with this id.
    ///
    /// # Errors
    /// It is unknown, or its metadata document cannot be fetched or is invalid.
    pub(super) async fn client(&self, id: &str) -> Result<Client, OAuthError> {
        let server = self.server()?;
        match is_document(id) {
            true => server.documents.client(id).await,
            false => server.registrations.find(id, self.peers()).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Client, OAuthError> {
        ClientMetadata::read(text.as_bytes())?.into_client("id".to_owned())
    }

    // AU-4
    #[test]
    fn metadata_is_checked_and_names_cannot_deceive() {
        let client = read(
            r#"{"client_name": "  Cl\u0000a\u202eude\n ", "redirect_uris": ["https://a.example/"]}"#,
        );
        let client = client.unwrap();
        assert_eq!((client.name.as_str(), client.slug().as_str()), ("Claude", "claude"));
        assert_eq!(client.domain(), None);
        for (wrong, code) in [
            ("{}", "invalid_redirect_uri"),
            (r#"{"redirect_uris": []}"#, "invalid_redirect_uri"),
            (r#"{"redirect_uris": ["http://evil.example/"]}"#, "invalid_redirect_uri"),
            (
                r#"{"redirect_uris": ["https://a.example/", "javascript:x"]}"#,
                "invalid_redirect_uri",
            ),
            (r#"{"redirect_uris": "https://a.example/"}"#, "invalid_client_metadata"),
            ("[]", "invalid_client_metadata"),
            ("", "invalid_client_metadata"),
        ] {
            assert_eq!(read(wrong).unwrap_err().code, code, "{wrong}");
        }
        let many = vec!["https://a.example/"; 21];
        assert!(read(&serde_json::json!({"redirect_uris": many}).to_string()).is_err());
    }
}
