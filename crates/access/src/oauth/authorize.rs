//! Authorization requests: checked as a whole before a person sees them.

use reqwest::Url;

use super::{Client, OAuthError, Parameters};
use crate::Access;

/// The longest `state` that is returned.
const LONGEST_STATE: usize = 4096;

/// A valid request of a client to be let in.
#[derive(Debug)]
pub struct AuthorizationRequest {
    /// The client.
    pub client: Client,
    /// Where the browser is sent back to.
    pub redirect_uri: String,
    /// The address that the tokens are for.
    pub resource: String,
    /// The scopes that are granted.
    pub scope: String,
    pub(super) challenge: String,
    answer: RedirectTarget,
}

/// How the client is answered.
#[derive(Clone, Debug)]
struct RedirectTarget {
    redirect_uri: String,
    state: Option<String>,
    issuer: String,
}

/// Why a request cannot be shown to a person.
#[derive(Debug)]
pub enum AuthorizationError {
    /// The client or the address to return to is not known, so the browser must not be sent there.
    Page(OAuthError),
    /// The client is told of the error.
    Redirect {
        /// Where the browser goes for that.
        to: String,
        /// The error.
        error: OAuthError,
    },
}

impl RedirectTarget {
    /// Returns the address of the client with these parameters.
    fn with(&self, parameters: &[(&str, &str)]) -> String {
        let Ok(mut url) = self.redirect_uri.parse::<Url>() else { return String::new() };
        let mut pairs = url.query_pairs_mut();
        pairs.extend_pairs(parameters);
        if let Some(state) = &self.state {
            pairs.append_pair("state", state);
        }
        // So that a client of several servers cannot be made to send this code to another (RFC 9207).
        pairs.append_pair("iss", &self.issuer);
        drop(pairs);
        url.into()
    }

    fn error(&self, error: &OAuthError) -> String {
        let description: String = error.description.chars().filter(char::is_ascii).collect();
        self.with(&[("error", error.code), ("error_description", &description)])
    }
}

impl AuthorizationRequest {
    /// Returns the profile that the tokens are for; `None` if they are for more than one.
    pub fn profile(&self) -> Option<&str> {
        self.resource.strip_prefix(&self.answer.issuer)?.strip_prefix("/mcp/")
    }

    /// Returns where the browser goes with this code.
    pub(super) fn granted(&self, code: &str) -> String {
        self.answer.with(&[("code", code)])
    }

    /// Returns where the browser goes if the person refuses.
    pub fn denied(&self) -> String {
        self.answer.error(&OAuthError::new("access_denied", "the person refused"))
    }

    /// Returns whether the browser goes back to a program on its own machine, which can claim any name.
    pub fn is_local(&self) -> bool {
        self.redirect_uri.parse::<Url>().is_ok_and(|url| super::redirect::is_loopback(&url))
    }

    /// Returns scheme and host of where the browser goes back to, as a source of a Content-Security-Policy.
    pub fn redirect_source(&self) -> String {
        let Ok(url) = self.redirect_uri.parse::<Url>() else { return String::new() };
        match url.origin() {
            url::Origin::Tuple(..) => url.origin().ascii_serialization(),
            url::Origin::Opaque(_) => format!("{}:", url.scheme()),
        }
    }
}

impl Access {
    /// Checks a request of a client to be let in, at the authorization server with this issuer.
    ///
    /// # Errors
    /// The client is unknown, or the request is invalid.
    pub async fn authorization(
        &self,
        issuer: &str,
        sent: &Parameters,
    ) -> Result<AuthorizationRequest, AuthorizationError> {
        let page = AuthorizationError::Page;
        let client = self.client(sent.required("client_id").map_err(page)?).await.map_err(page)?;
        let redirect_uri =
            match (sent.one("redirect_uri").map_err(page)?, &client.redirect_uris[..]) {
                (Some(wanted), _) if client.redirects_to(wanted) => wanted.to_owned(),
                (None, [only]) => only.clone(),
                (wanted, _) => {
                    let text = format!(
                        "`{}` is not an address that the client named",
                        wanted.unwrap_or_default()
                    );
                    return Err(page(OAuthError::invalid_request(text)));
                }
            };
        let state = sent.one("state").map_err(page)?.map(str::to_owned);
        if state.as_ref().is_some_and(|state| state.len() > LONGEST_STATE) {
            return Err(page(OAuthError::invalid_request("`state` is too long")));
        }
        let answer =
            RedirectTarget { redirect_uri: redirect_uri.clone(), state, issuer: issuer.to_owned() };
        let (challenge, resource, scope) = details(issuer, sent)
            .map_err(|error| AuthorizationError::Redirect { to: answer.error(&error), error })?;
        Ok(AuthorizationRequest { client, redirect_uri, resource, scope, challenge, answer })
    }
}

/// Returns challenge, resource and scopes of a request.
fn details(issuer: &str, sent: &Parameters) -> Result<(String, String, String), OAuthError> {
    match sent.required("response_type")? {
        "code" => {}
        _ => {
            return Err(OAuthError::new(
                "unsupported_response_type",
                "`response_type` must be `code`",
            ));
        }
    }
    if sent.one("response_mode")?.is_some_and(|mode| mode != "query") {
        return Err(OAuthError::invalid_request("`response_mode` must be `query`"));
    }
    if sent.one("prompt")? == Some("none") {
        return Err(OAuthError::new("consent_required", "a person has to consent"));
    }
    if sent.one("code_challenge_method")? != Some("S256") {
        return Err(OAuthError::invalid_request("`code_challenge_method` must be `S256`"));
    }
    let challenge = sent.required("code_challenge")?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if challenge.len() != 43 || !challenge.chars().all(is_plain) {
        return Err(OAuthError::invalid_request(
            "`code_challenge` is not a SHA-256 hash in Base64",
        ));
    }
    let resource = resource(issuer, sent.one("resource")?)?;
    let wanted = sent.one("scope")?.unwrap_or_default();
    let is_offline = wanted.split(' ').any(|scope| scope == super::OFFLINE);
    let scope = match is_offline {
        true => format!("{} {}", super::SCOPE, super::OFFLINE),
        false => super::SCOPE.to_owned(),
    };
    Ok((challenge.to_owned(), resource, scope))
}

/// Returns the address that tokens are for: ours as a whole, or the part for MCP, which is the default.
pub(super) fn resource(issuer: &str, wanted: Option<&str>) -> Result<String, OAuthError> {
    let Some(wanted) = wanted else { return Ok(format!("{issuer}/mcp")) };
    let other =
        || OAuthError::new("invalid_target", format!("`{wanted}` is not an address of `{issuer}`"));
    let url: Url = wanted.parse().map_err(|_| other())?;
    let own: Url = issuer.parse().map_err(|_| other())?;
    let is_own =
        url.origin() == own.origin() && url.fragment().is_none() && url.username().is_empty();
    let path = url.path().trim_end_matches('/');
    let is_mcp =
        path == "/mcp" || path.strip_prefix("/mcp/").is_some_and(|name| !name.contains('/'));
    match is_own && (path.is_empty() || is_mcp) {
        true => Ok(format!("{issuer}{path}")),
        false => Err(other()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // AU-4
    #[test]
    fn only_our_own_addresses_are_resources() {
        let own = "https://tools.example";
        let check = |wanted: &str| resource(own, Some(wanted)).ok();
        assert_eq!(resource(own, None).unwrap(), "https://tools.example/mcp");
        for (wanted, canonical) in [
            ("https://tools.example", own),
            ("https://tools.example/", own),
            ("https://TOOLS.example/mcp", "https://tools.example/mcp"),
            ("https://tools.example:443/mcp/", "https://tools.example/mcp"),
            ("https://tools.example/mcp?tools=search", "https://tools.example/mcp"),
            ("https://tools.example/mcp/home", "https://tools.example/mcp/home"),
        ] {
            assert_eq!(check(wanted).as_deref(), Some(canonical), "{wanted}");
        }
        for wrong in [
            "https://other.example/mcp",
            "http://tools.example/mcp",
            "https://tools.example:8443/mcp",
            "https://tools.example/api",
            "https://tools.example/mcp/a/b",
            "https://tools.example/mcp#x",
            "https://tools.example@other.example/mcp",
            "tools.example/mcp",
            "/mcp",
        ] {
            assert_eq!(check(wrong), None, "{wrong}");
        }
    }
}
