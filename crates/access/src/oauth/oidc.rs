//! Signing in at the issuer of JWTs instead of typing a token (OpenID Connect, authorization code flow with PKCE).
//!
//! Nothing is kept here meanwhile, so that the browser may come back to any gateway of a cluster: a cookie has a random secret and
//! the client's request, and `state`, `nonce` and the PKCE verifier are derived from the secret.

mod provider;

use std::fmt;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderValue, request};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::{Parameters, secret};
use crate::{Access, NewSession, Rejection, sessions, sessions::SessionSubject};
use provider::{OidcEndpoints, OidcProvider};

/// The path below which this is.
const PATH: &str = "/oauth/oidc";
/// Where the issuer sends the browser back to.
pub const OIDC_CALLBACK: &str = "/oauth/oidc/callback";
/// How long a person has, in seconds.
const LIFE: u32 = 600;
/// The longest request of a client that fits into a cookie.
const LONGEST: usize = 2800;

/// The settings of `[serve.oauth] oidc`: people sign in at the issuer of `[serve.jwt]`.
#[derive(Clone, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OidcConfig {
    /// Our client id at the issuer, registered with the redirect address `PUBLIC_URL/oauth/oidc/callback`.
    pub client_id: String,
    /// The client's secret, if it has one; best as `${secret:NAME}`.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub client_secret: Option<Zeroizing<String>>,
    /// The scopes to ask for; `openid` is always among them.
    #[serde(default)]
    pub scopes: Vec<String>,
}

impl fmt::Debug for OidcConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let secret = self.client_secret.as_ref().map(|_| "[redacted]");
        f.debug_struct("OidcConfig")
            .field("client_id", &self.client_id)
            .field("client_secret", &secret)
            .field("scopes", &self.scopes)
            .finish()
    }
}

/// Where people sign in.
pub(super) struct OidcSignIn {
    config: OidcConfig,
    provider: OidcProvider,
}

/// Where to send the browser, and what it must bring back.
pub struct OidcRedirect {
    /// The issuer's page.
    pub url: String,
    /// The cookie that ties the sign-in to this browser.
    pub cookie: HeaderValue,
}

/// Somebody who has signed in at the issuer.
pub struct OidcSession {
    /// The session.
    pub session: NewSession,
    /// The client's request, as a query.
    pub query: String,
    /// Removes the cookie of the sign-in.
    pub cookie: HeaderValue,
}

/// What a browser brings back: the secret of its cookie, and the client's request.
struct OidcStep {
    secret: String,
    query: String,
}

impl OidcSignIn {
    pub(super) fn new(config: OidcConfig, issuer: &str) -> Self {
        Self { provider: OidcProvider::new(issuer), config }
    }
}

impl OidcStep {
    /// Returns a text that only who has the cookie knows.
    fn derived(&self, purpose: &str) -> String {
        let text = format!("switchboard oidc {purpose} {}", self.secret);
        URL_SAFE_NO_PAD.encode(Sha256::digest(text.as_bytes()))
    }
}

impl Access {
    /// Returns the issuer at which people can sign in instead of typing a token.
    pub fn oidc_issuer(&self) -> Option<&str> {
        let oidc = self.oauth.as_ref()?.oidc.as_ref()?;
        Some(oidc.provider.issuer())
    }

    /// Begins a sign-in at the issuer, for a client's request.
    ///
    /// # Errors
    /// None is configured, the issuer cannot be reached, or the request is too long.
    pub async fn begin_oidc(
        &self,
        request: &request::Parts,
        query: &str,
    ) -> Result<OidcRedirect, Rejection> {
        let oidc = self.oidc()?;
        if query.len() > LONGEST {
            let text = "the client's request is too long for a sign-in elsewhere";
            return Err(Rejection::BadRequest(text.to_owned()));
        }
        let random = secret::random::<32>();
        let random = random.map_err(|error| Rejection::Unavailable(error.to_string()))?;
        let step = OidcStep { secret: URL_SAFE_NO_PAD.encode(random), query: query.to_owned() };
        let endpoints = oidc.provider.endpoints().await.map_err(Rejection::Unavailable)?;
        let mut url = endpoints.authorization.clone();
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(step.derived("verifier")));
        let others = oidc.config.scopes.iter().filter(|scope| *scope != "openid");
        let scopes: Vec<&str> =
            std::iter::once("openid").chain(others.map(String::as_str)).collect();
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &oidc.config.client_id)
            .append_pair("redirect_uri", &self.oidc_callback(request)?)
            .append_pair("scope", &scopes.join(" "))
            .append_pair("state", &step.derived("state"))
            .append_pair("nonce", &step.derived("nonce"))
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256");
        let value = format!("{}.{}", step.secret, URL_SAFE_NO_PAD.encode(&step.query));
        Ok(OidcRedirect { url: url.into(), cookie: self.oidc_cookie(request, &value, LIFE)? })
    }

    /// Ends a sign-in at the issuer: `query` is what the browser came back with.
    ///
    /// # Errors
    /// The person or the issuer refused, or the browser began no such sign-in.
    pub async fn finish_oidc(
        &self,
        request: &request::Parts,
        query: &str,
    ) -> Result<OidcSession, Rejection> {
        let oidc = self.oidc()?;
        let parameters = Parameters::parse(query.as_bytes());
        let one = |name: &str| {
            let found = parameters.one(name);
            found.map_err(|error| Rejection::BadRequest(error.to_string()))
        };
        let state = one("state")?.unwrap_or_default();
        let mut steps = self.oidc_steps(&request.headers);
        let step = steps.find(|step| step.derived("state") == state).ok_or_else(|| {
            let text = "this browser has begun no such sign-in; start again in the program";
            Rejection::Forbidden(text.to_owned())
        })?;
        let endpoints = oidc.provider.endpoints().await.map_err(Rejection::Unavailable)?;
        check_issuer(&endpoints, oidc.provider.issuer(), one("iss")?)?;
        if let Some(code) = one("error")? {
            let text = format!("{} refused the sign-in: {code}", oidc.provider.issuer());
            return Err(Rejection::Forbidden(text));
        }
        let code = one("code")?.unwrap_or_default();
        let (verifier, redirect) = (step.derived("verifier"), self.oidc_callback(request)?);
        let redeemed = oidc.provider.redeem(&oidc.config, &endpoints, code, &verifier, &redirect);
        let token = redeemed.await.map_err(Rejection::Forbidden)?;
        let jwt = self.jwt.as_ref().ok_or_else(not_configured)?;
        let nonce = step.derived("nonce");
        let caller = jwt.bearer_of_id_token(&token, &oidc.config.client_id, &nonce).await?;
        drop(jwt.share(&caller, self.peers()).await?);
        let is_secure = self.base_url(request)?.starts_with("https://");
        let session = self.sessions.open(SessionSubject::Jwt(caller), is_secure).await?;
        Ok(OidcSession { session, query: step.query, cookie: self.oidc_cookie(request, "", 0)? })
    }

    fn oidc(&self) -> Result<&OidcSignIn, Rejection> {
        let oauth = self.oauth.as_ref();
        oauth.and_then(|oauth| oauth.oidc.as_ref()).ok_or_else(not_configured)
    }

    fn oidc_callback(&self, request: &request::Parts) -> Result<String, Rejection> {
        Ok(format!("{}{OIDC_CALLBACK}", self.base_url(request)?))
    }

    fn oidc_name(&self) -> String {
        format!("{}_oidc", self.sessions.name())
    }

    fn oidc_cookie(
        &self,
        request: &request::Parts,
        value: &str,
        life: u32,
    ) -> Result<HeaderValue, Rejection> {
        let secure = if self.base_url(request)?.starts_with("https://") { "; Secure" } else { "" };
        let name = self.oidc_name();
        // `Lax`: the issuer sends the browser back, which is a visit from another site.
        let text =
            format!("{name}={value}; Path={PATH}; Max-Age={life}; HttpOnly; SameSite=Lax{secure}");
        HeaderValue::from_str(&text).map_err(|error| Rejection::BadRequest(error.to_string()))
    }

    fn oidc_steps(&self, headers: &HeaderMap) -> impl Iterator<Item = OidcStep> {
        let name = self.oidc_name();
        let found: Vec<_> = sessions::cookies(headers, &name)
            .filter_map(|value| {
                let (secret, query) = value.split_once('.')?;
                let query = String::from_utf8(URL_SAFE_NO_PAD.decode(query).ok()?).ok()?;
                Some(OidcStep { secret: secret.to_owned(), query })
            })
            .filter(|step| step.secret.len() == 43)
            .collect();
        found.into_iter()
    }
}

/// The response must be the issuer's (RFC 9207), and say so if the issuer does.
fn check_issuer(
    endpoints: &OidcEndpoints,
    issuer: &str,
    named: Option<&str>,
) -> Result<(), Rejection> {
    match named {
        Some(named) if named == issuer => Ok(()),
        None if !endpoints.names_itself => Ok(()),
        _ => Err(Rejection::Forbidden(format!("the response is not of the issuer `{issuer}`"))),
    }
}

fn not_configured() -> Rejection {
    Rejection::BadRequest("`[serve.oauth] oidc` is not configured".to_owned())
}
