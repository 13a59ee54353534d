//! Who we are to an authorization server: a client by configuration, by metadata document, or registered on the spot.

mod proof;

use serde::{Deserialize, Serialize};
use serde_json::json;
use switchboard_vault::Secret;
use url::Url;

pub(super) use proof::ClientProof;

use super::{
    config::{IdpConfig, OauthConfig},
    error::Error,
    http::{HttpClient, is_loopback},
    jwt::SigningAlgorithm,
    metadata::ServerMetadata,
    token,
};

/// A client of one authorization server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ClientRegistration {
    pub(super) id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    secret: Option<Secret>,
    /// In PEM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    private_key: Option<Secret>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signing_algorithm: Option<SigningAlgorithm>,
    method: AuthMethod,
}

/// How a client proves who it is at the token endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum AuthMethod {
    #[serde(rename = "none")]
    None,
    #[serde(rename = "client_secret_basic")]
    Basic,
    #[serde(rename = "client_secret_post")]
    Post,
    #[serde(rename = "private_key_jwt")]
    PrivateKeyJwt,
}

impl AuthMethod {
    fn parse(name: &str) -> Option<Self> {
        match name {
            "none" => Some(Self::None),
            "client_secret_basic" => Some(Self::Basic),
            "client_secret_post" => Some(Self::Post),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Basic => "client_secret_basic",
            Self::Post => "client_secret_post",
            Self::PrivateKeyJwt => "private_key_jwt",
        }
    }
}

/// How a client's id is come by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientKind {
    /// Registered by hand.
    Configured,
    /// The address of a metadata document.
    MetadataDocument,
    /// Registered for this sign-in.
    Dynamic,
}

/// Says how the client's id is come by at this authorization server.
///
/// # Errors
/// There is no way.
pub(super) fn kind(config: &OauthConfig, issuer: &ServerMetadata) -> Result<ClientKind, Error> {
    if config.client_id.is_some() {
        Ok(ClientKind::Configured)
    } else if issuer.client_id_metadata_document_supported && config.client_metadata_url.is_some() {
        Ok(ClientKind::MetadataDocument)
    } else if issuer.registration_endpoint.is_some() {
        Ok(ClientKind::Dynamic)
    } else {
        Err(Error::NoClient { issuer: issuer.issuer.clone() })
    }
}

/// Returns the client, registered if that is how it is come by.
///
/// # Errors
/// The authorization server refuses to register it.
pub(super) async fn obtain(
    http: &HttpClient,
    server: &Url,
    config: &OauthConfig,
    issuer: &ServerMetadata,
    redirect: Option<&str>,
) -> Result<ClientRegistration, Error> {
    match kind(config, issuer)? {
        ClientKind::Configured => Ok(configured(config, issuer)),
        ClientKind::MetadataDocument => {
            Ok(ClientRegistration::new(config.client_metadata_url.clone().unwrap_or_default()))
        }
        ClientKind::Dynamic => register(http, server, issuer, redirect).await,
    }
}

/// The client of the settings; one without an id if they have none, as a workload may be known by its assertion alone.
pub(super) fn configured(config: &OauthConfig, issuer: &ServerMetadata) -> ClientRegistration {
    let (secret, private_key) = (config.client_secret.clone(), config.private_key.clone());
    let method = match private_key {
        Some(_) => AuthMethod::PrivateKeyJwt,
        None => method(issuer.auth_methods(), secret.is_some()),
    };
    let id = config.client_id.clone().unwrap_or_default();
    ClientRegistration {
        id,
        secret,
        private_key,
        signing_algorithm: config.signing_algorithm,
        method,
    }
}

/// The client of the settings at an identity provider, which names these methods if its metadata were read.
pub(super) fn at_provider(idp: &IdpConfig, methods: Option<&[String]>) -> ClientRegistration {
    let secret = idp.client_secret.clone();
    let method = method(methods.unwrap_or_default(), secret.is_some());
    let id = idp.client_id.clone().unwrap_or_default();
    ClientRegistration { secret, method, ..ClientRegistration::new(id) }
}

/// What an authorization server registered.
#[derive(Default, Deserialize)]
struct RegistrationAnswer {
    client_id: Option<String>,
    client_secret: Option<Secret>,
    token_endpoint_auth_method: Option<String>,
}

/// Registers a client (RFC 7591).
async fn register(
    http: &HttpClient,
    server: &Url,
    issuer: &ServerMetadata,
    redirect: Option<&str>,
) -> Result<ClientRegistration, Error> {
    let endpoint =
        issuer.endpoint("registration endpoint", issuer.registration_endpoint.as_ref(), server)?;
    let wanted = registered_method(issuer);
    let mut grants = vec!["authorization_code", "refresh_token"];
    if redirect.is_none() {
        grants[0] = "urn:ietf:params:oauth:grant-type:device_code";
    }
    let body = json!({
        "client_name": "Switchboard",
        "application_type": if redirect.is_none_or(is_native) { "native" } else { "web" },
        "redirect_uris": redirect.into_iter().collect::<Vec<_>>(),
        "grant_types": grants,
        // Left out, it would mean `code`, which a client of the device flow alone does not get.
        "response_types": redirect.iter().map(|_| "code").collect::<Vec<_>>(),
        "token_endpoint_auth_method": wanted.name(),
    });
    let answer = http.json(&endpoint, &body, "register").await?;
    if !answer.status.is_success() {
        return Err(token::refusal(&answer));
    }
    let registered: RegistrationAnswer = answer.read().unwrap_or_default();
    let id = registered.client_id.ok_or_else(|| {
        Error::Metadata(format!("`{}` registered a client without an id", issuer.issuer))
    })?;
    let secret = registered.client_secret;
    let named = registered.token_endpoint_auth_method.as_deref().and_then(AuthMethod::parse);
    let method = named.unwrap_or_else(|| method(issuer.auth_methods(), secret.is_some()));
    Ok(ClientRegistration { secret, method, ..ClientRegistration::new(id) })
}

/// Whether the browser comes back to this machine.
fn is_native(redirect: &str) -> bool {
    Url::parse(redirect).is_ok_and(|url| url.scheme() == "http" && is_loopback(&url))
}

/// What to register with: as a program on a person's machine nothing can be kept from its user, so no secret if that is
/// allowed.
fn registered_method(issuer: &ServerMetadata) -> AuthMethod {
    let Some(supported) = &issuer.token_endpoint_auth_methods_supported else {
        return AuthMethod::None;
    };
    let supports = |method: &AuthMethod| supported.iter().any(|name| name == method.name());
    let known = [AuthMethod::None, AuthMethod::Basic, AuthMethod::Post];
    known.into_iter().find(supports).unwrap_or(AuthMethod::None)
}

/// What a client that has a secret, or none, uses.
fn method(supported: &[String], has_secret: bool) -> AuthMethod {
    match has_secret {
        false => AuthMethod::None,
        true if supported.iter().any(|name| name == "client_secret_basic") => AuthMethod::Basic,
        true if supported.iter().any(|name| name == "client_secret_post") => AuthMethod::Post,
        // What an authorization server supports that names nothing (RFC 8414).
        true => AuthMethod::Basic,
    }
}

impl ClientRegistration {
    /// A client that proves nothing.
    fn new(id: String) -> Self {
        let method = AuthMethod::None;
        Self { id, secret: None, private_key: None, signing_algorithm: None, method }
    }

    /// Every secret of the client.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &Secret> {
        self.secret.iter().chain(&self.private_key)
    }

    /// Whether the settings are about this client.
    pub(super) fn is_of(&self, config: &OauthConfig) -> bool {
        config.client_id.as_ref() == Some(&self.id)
    }

    /// Takes what proves who it is from the settings, if they are about this client: it may have been replaced since.
    pub(super) fn follow(&mut self, config: &OauthConfig) {
        if self.is_of(config) {
            self.secret = config.client_secret.clone();
            self.private_key = config.private_key.clone();
            self.signing_algorithm = config.signing_algorithm;
        }
    }
}
