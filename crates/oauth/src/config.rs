//! The settings of `[servers.x.oauth]` and `[apis.x.oauth]`.

use std::path::Path;

use serde::Deserialize;
use switchboard_vault::Secret;
use url::Url;

use super::{error::Error, jwt::SigningAlgorithm};

/// How to sign in to a server; all of it is optional.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OauthConfig {
    /// The id of a client that was registered by hand.
    pub client_id: Option<String>,
    /// Its secret, if it has one; best as `${secret:NAME}`.
    #[schemars(with = "Option<String>")]
    pub client_secret: Option<Secret>,
    /// The address of a client id metadata document, used where the authorization server supports such.
    pub client_metadata_url: Option<String>,
    /// The scopes to ask for; by default those that the server names.
    pub scopes: Option<Vec<String>>,
    /// The only issuer that is signed in at.
    pub issuer: Option<String>,
    /// The client's private key in PEM, with which it proves who it is (`private_key_jwt`); best as `${secret:NAME}`.
    #[schemars(with = "Option<String>")]
    pub private_key: Option<Secret>,
    /// How to sign with it; by default as the key allows.
    pub signing_algorithm: Option<SigningAlgorithm>,
    /// For `auth = "client"`: the JWT of this workload, or the absolute path of a file that holds it, read for each token.
    #[schemars(with = "Option<String>")]
    pub assertion: Option<Secret>,
    /// For `auth = "exchange"` without `idp`: what callers' tokens are said to be; by default access tokens.
    pub subject_token_type: Option<SubjectTokenType>,
    /// For `auth = "exchange"`: the identity provider whose grants the authorization server takes (ID-JAG).
    pub idp: Option<IdpConfig>,
}

/// An identity provider that decides who may use which server.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct IdpConfig {
    /// Who it is.
    pub issuer: String,
    /// Where it exchanges tokens; by default as its metadata say.
    pub token_endpoint: Option<String>,
    /// Our client id there.
    pub client_id: Option<String>,
    /// Its secret, if it has one; best as `${secret:NAME}`.
    #[schemars(with = "Option<String>")]
    pub client_secret: Option<Secret>,
    /// One ID token for all callers; by default each caller's own JWT is exchanged.
    #[schemars(with = "Option<String>")]
    pub id_token: Option<Secret>,
}

/// What a token that is exchanged is said to be (RFC 8693, section 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SubjectTokenType {
    /// An access token.
    #[default]
    AccessToken,
    /// An ID token of OpenID Connect.
    IdToken,
    /// Any JWT.
    Jwt,
}

/// How tokens are come by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GrantKind {
    /// A person signs in.
    #[default]
    Person,
    /// The client itself has access (`auth = "client"`).
    Client,
    /// A token of the caller is exchanged (`auth = "exchange"`).
    Exchange,
}

impl OauthConfig {
    /// Checks that the settings have what this kind of grant needs, and nothing that it does not use.
    ///
    /// # Errors
    /// Says which setting is missing or has no use.
    pub fn check(&self, grant: GrantKind) -> Result<(), String> {
        let has_proof = self.client_secret.is_some() || self.private_key.is_some();
        let problem = match grant {
            _ if self.client_secret.is_some() && self.private_key.is_some() => {
                "has both `client_secret` and `private_key`; leave one"
            }
            _ if has_proof && self.client_id.is_none() => {
                "has a `client_secret` or `private_key` and no `client_id`"
            }
            _ if self.signing_algorithm.is_some() && self.private_key.is_none() => {
                "has a `signing_algorithm` and no `private_key`"
            }
            GrantKind::Client if self.assertion.is_none() && !has_proof => {
                "needs `client_id` with `client_secret` or `private_key`, or an `assertion`"
            }
            GrantKind::Exchange if self.client_id.is_none() => "needs a `client_id`",
            // Else the server could name an authorization server of its own, and get every caller's token.
            GrantKind::Exchange if self.idp.is_none() && self.issuer.is_none() => {
                "needs the `issuer` that callers' tokens may be sent to, or an `idp`"
            }
            GrantKind::Exchange
                if self.idp.as_ref().is_some_and(|idp| Url::parse(&idp.issuer).is_err()) =>
            {
                "needs the address of the identity provider in `idp.issuer`"
            }
            GrantKind::Exchange if self.idp.as_ref().is_some_and(IdpConfig::lacks_id) => {
                "has an `idp.client_secret` and no `idp.client_id`"
            }
            _ if self.subject_token_type.is_some()
                && (grant != GrantKind::Exchange || self.idp.is_some()) =>
            {
                "has a `subject_token_type`, which only `auth = \"exchange\"` without `idp` uses"
            }
            GrantKind::Person | GrantKind::Exchange if self.assertion.is_some() => {
                "has an `assertion`, which only `auth = \"client\"` uses"
            }
            GrantKind::Person | GrantKind::Client if self.idp.is_some() => {
                "has an `idp`, which only `auth = \"exchange\"` uses"
            }
            _ => return Ok(()),
        };
        Err(problem.to_owned())
    }

    /// Whether all callers have the same token to exchange.
    pub fn has_fixed_subject(&self) -> bool {
        self.idp.as_ref().is_some_and(|idp| idp.id_token.is_some())
    }

    /// Returns the workload's JWT; blocks if that is in a file.
    pub(super) fn read_assertion(&self) -> Result<Option<Secret>, Error> {
        let Some(assertion) = &self.assertion else { return Ok(None) };
        let path = Path::new(assertion.expose());
        // No JWT begins with a slash.
        if !path.is_absolute() {
            return Ok(Some(assertion.clone()));
        }
        let text = std::fs::read_to_string(path).map_err(|error| {
            Error::Settings(format!("`assertion` cannot be read from {}: {error}", path.display()))
        })?;
        let text = Secret::from(text);
        Ok(Some(Secret::from(text.expose().trim())))
    }
}

impl IdpConfig {
    fn lacks_id(&self) -> bool {
        self.client_secret.is_some() && self.client_id.is_none()
    }
}

impl SubjectTokenType {
    /// Returns its name in a request.
    pub(super) fn urn(self) -> &'static str {
        match self {
            Self::AccessToken => "urn:ietf:params:oauth:token-type:access_token",
            Self::IdToken => "urn:ietf:params:oauth:token-type:id_token",
            Self::Jwt => "urn:ietf:params:oauth:token-type:jwt",
        }
    }
}
