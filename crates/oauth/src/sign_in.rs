//! One sign-in: prepared here, consented to by a person elsewhere, finished here.

use std::{collections::BTreeSet, sync::Arc};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::Value;
use switchboard_vault::Secret;
use url::Url;

use super::{
    challenge::{Challenge, DpopDemand},
    client::{self, ClientKind, ClientRegistration},
    client_issuer::{self, is_same_issuer},
    config::OauthConfig,
    credential::{CredentialKey, StoredSignIn},
    credential_store::{CredentialLock, CredentialStore},
    dpop::DpopKey,
    error::Error,
    http::{HttpClient, trusted},
    loopback::LoopbackListener,
    metadata::{self, ServerMetadata},
    pending::{OutgoingAuthorizationRequest, PendingSignIn},
    random,
    token::TokenEndpoint,
};

/// The scope that asks for a refresh token, where it is offered.
pub(super) const OFFLINE: &str = "offline_access";
/// The path of the redirect for clients that were registered beforehand.
const FIXED_PATH: &str = "callback";

/// A sign-in to one server, up to the point where a person is needed.
#[derive(Clone, Debug)]
pub struct SignIn {
    pub(super) http: HttpClient,
    pub(super) store: Arc<dyn CredentialStore>,
    pub(super) key: CredentialKey,
    pub(super) config: Arc<OauthConfig>,
    pub(super) issuer: ServerMetadata,
    pub(super) resource: String,
    pub(super) scopes: Vec<String>,
    /// The key that tokens are to be bound to.
    pub(super) dpop: Option<DpopKey>,
    /// Whether tokens that are not bound must not be used.
    pub(super) must_bind: bool,
}

impl SignIn {
    /// Finds out where and with which scopes to sign in. `challenge` is what the server last answered; without one it is asked.
    ///
    /// # Errors
    /// The server says nothing of it that can be used, or names another issuer than the settings.
    pub async fn prepare(
        http: &HttpClient,
        store: &Arc<dyn CredentialStore>,
        key: CredentialKey,
        config: &OauthConfig,
        challenge: Option<Challenge>,
    ) -> Result<Self, Error> {
        let challenge = match challenge {
            Some(challenge) => challenge,
            None => {
                let values = http.challenges(&key.url).await?;
                Challenge::parse(values.iter().map(String::as_str)).unwrap_or_default()
            }
        };
        let restricted = http.for_metadata(&key.url, &challenge).await?;
        // An issuer of the settings may be anywhere.
        let http = if config.issuer.is_some() { http } else { &restricted };
        let found = metadata::protected_resource(&restricted, &key.url, &challenge).await?;
        let resource = found.clone().unwrap_or_default();
        let issuer = chosen_issuer(&resource.authorization_servers, config, &key.url)?;
        let issuer = metadata::authorization_server(http, &issuer, &key.url).await;
        let issuer = issuer.map_err(|error| match error {
            Error::NoMetadata { .. } if found.is_none() => {
                Error::NoMetadata { url: key.url.to_string() }
            }
            other => other,
        })?;
        let before = StoredSignIn::load(&**store, &key).await?;
        check_moved(config, before.as_ref(), &issuer)?;
        client_issuer::check(&**store, &key.url, config, &issuer.issuer).await?;
        let before = before.filter(|before| before.issuer == issuer.issuer);
        let demand = match resource.dpop_bound_access_tokens_required {
            true => DpopDemand::Required,
            false => challenge.dpop,
        };
        let dpop = issuer.binds_tokens(demand).then(DpopKey::new).transpose()?;
        let must_bind = resource.dpop_bound_access_tokens_required;
        let named = config.scopes.clone().or(challenge.scopes).or(resource.scopes_supported);
        let scopes = scopes(named, before.as_ref(), &issuer);
        let resource = resource.resource.unwrap_or_else(|| canonical(&key.url));
        let (http, store, config) = (http.clone(), store.clone(), Arc::new(config.clone()));
        Ok(Self { http, store, key, config, issuer, resource, scopes, dpop, must_bind })
    }

    /// Who is signed in at.
    pub fn issuer(&self) -> &str {
        &self.issuer.issuer
    }

    /// Begins the authorization code flow: listens for the browser, gets a client id, and says where the browser is to go.
    ///
    /// # Errors
    /// There is no way to do that.
    pub async fn begin(&self) -> Result<PendingSignIn, Error> {
        let path = match client::kind(&self.config, &self.issuer)? {
            ClientKind::Dynamic => random::text()?,
            ClientKind::Configured | ClientKind::MetadataDocument => FIXED_PATH.to_owned(),
        };
        let listener = LoopbackListener::new(&path).await?;
        let request = self.begin_at(listener.redirect().clone()).await?;
        Ok(PendingSignIn { request, listener })
    }

    /// As [`begin`](Self::begin), but the browser comes back to `redirect`, where the caller listens.
    ///
    /// # Errors
    /// There is no way to do that.
    pub async fn begin_at(&self, redirect: Url) -> Result<OutgoingAuthorizationRequest, Error> {
        self.issuer.check_pkce()?;
        let endpoint = self.issuer.authorization_endpoint.as_ref();
        let mut url = self.issuer.endpoint("authorization endpoint", endpoint, &self.key.url)?;
        let client = self.client(Some(redirect.as_str())).await?;
        let (state, verifier) = (Secret::from(random::text()?), Secret::from(random::text()?));
        {
            let mut query = url.query_pairs_mut();
            query.append_pair("response_type", "code").append_pair("client_id", &client.id);
            query
                .append_pair("redirect_uri", redirect.as_str())
                .append_pair("state", state.expose());
            query.append_pair("code_challenge", &random::challenge(verifier.expose()));
            query.append_pair("code_challenge_method", "S256");
            query.append_pair("resource", &self.resource);
            if let Some(key) = &self.dpop {
                query.append_pair("dpop_jkt", &key.thumbprint()?);
            }
            if !self.scopes.is_empty() {
                query.append_pair("scope", &self.scopes.join(" "));
            }
            if self.scopes.iter().any(|scope| scope == OFFLINE) {
                // OpenID Connect gives a refresh token only with consent.
                query.append_pair("prompt", "consent");
            }
        }
        let sign_in = self.clone();
        Ok(OutgoingAuthorizationRequest { sign_in, client, url, redirect, state, verifier })
    }

    pub(super) async fn client(&self, redirect: Option<&str>) -> Result<ClientRegistration, Error> {
        client::obtain(&self.http, &self.key.url, &self.config, &self.issuer, redirect).await
    }

    /// Asks for tokens and stores them as the new sign-in.
    pub(super) async fn exchange(
        &self,
        client: ClientRegistration,
        grant: &[(&str, &str)],
    ) -> Result<StoredSignIn, Error> {
        self.keep(self.request(client, grant).await?).await
    }

    /// Stores a new sign-in.
    pub(super) async fn keep(&self, credential: StoredSignIn) -> Result<StoredSignIn, Error> {
        // A refresh of the old sign-in that is under way must not overwrite the new one.
        let lock = self.store.lock(&self.key.name()).await?;
        let stored = credential.store(&*lock).await;
        lock.release().await;
        stored.map(|()| credential)
    }

    /// Asks for tokens; stores nothing.
    pub(super) async fn request(
        &self,
        client: ClientRegistration,
        grant: &[(&str, &str)],
    ) -> Result<StoredSignIn, Error> {
        let endpoint = self.issuer.endpoint(
            "token endpoint",
            self.issuer.token_endpoint.as_ref(),
            &self.key.url,
        )?;
        let (issuer, dpop) = (self.issuer.issuer.as_str(), self.dpop.as_ref());
        client_issuer::bind(&*self.store, &self.key.url, &self.config, issuer).await?;
        let at = TokenEndpoint { url: &endpoint, issuer, client: &client, dpop };
        let tokens = at.request(&self.http, grant).await?;
        if self.must_bind && !tokens.is_bound {
            let problem = format!("`{issuer}` gives no tokens that are bound to a key (DPoP)");
            return Err(Error::Metadata(problem));
        }
        Ok(StoredSignIn {
            issuer: self.issuer.issuer.clone(),
            scopes: tokens.scopes.unwrap_or_else(|| self.scopes.clone()),
            account: tokens.id_token.as_ref().and_then(|token| account(token, issuer, &client.id)),
            wanted_scopes: Vec::new(),
            obtained_at: Some(tokens.obtained_at),
            expires_at: tokens.expires_at,
            access_token: tokens.access,
            refresh_token: tokens.refresh,
            client,
            token_endpoint: endpoint.into(),
            revocation_endpoint: self.issuer.revocation_endpoint.clone(),
            is_public_only: Some(self.http.is_public_only()),
            resource: self.resource.clone(),
            dpop: self.dpop.clone().filter(|_| tokens.is_bound),
        })
    }
}

/// Who signed in, as the ID token says: the first of e-mail address, user name and subject. The token came from the issuer over TLS, so its
/// signature need not be checked (OpenID Connect Core, 3.1.3.7); it decides nothing.
fn account(token: &Secret, issuer: &str, client: &str) -> Option<String> {
    let claims = token.expose().split('.').nth(1)?;
    let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()?;
    let is_for_us = claims["aud"] == client
        || claims["aud"].as_array().is_some_and(|all| all.iter().any(|aud| aud == client));
    let names = ["email", "preferred_username", "name", "sub"];
    let found = names.iter().find_map(|name| claims[*name].as_str());
    let found = found.filter(|_| is_for_us && claims["iss"] == issuer)?;
    Some(found.chars().filter(|c| !c.is_control()).take(100).collect())
}

/// Revokes a sign-in at its issuer, if that takes revocations, and forgets it. Returns it, and whether it was revoked there;
/// `None` if nobody was signed in.
///
/// # Errors
/// The store cannot be used. A revocation that fails is no error: the sign-in is forgotten anyway.
pub async fn revoke(
    http: &HttpClient,
    store: &dyn CredentialStore,
    key: &CredentialKey,
) -> Result<Option<(StoredSignIn, bool)>, Error> {
    if store.get(&key.name()).await?.is_none() {
        return Ok(None);
    }
    // A refresh that is under way ends first, so that its tokens are revoked too and not stored again.
    let lock = store.lock(&key.name()).await?;
    let revoked = revoke_locked(http, &*lock, key).await;
    lock.release().await;
    revoked
}

async fn revoke_locked(
    http: &HttpClient,
    lock: &dyn CredentialLock,
    key: &CredentialKey,
) -> Result<Option<(StoredSignIn, bool)>, Error> {
    let Some(credential) = StoredSignIn::load_locked(lock, key).await? else { return Ok(None) };
    let is_revoked = match &credential.revocation_endpoint {
        Some(to) => revoke_at(http, to, &credential, &key.url).await.unwrap_or(false),
        None => false,
    };
    lock.remove().await?;
    Ok(Some((credential, is_revoked)))
}

async fn revoke_at(
    http: &HttpClient,
    endpoint: &str,
    credential: &StoredSignIn,
    server: &Url,
) -> Result<bool, Error> {
    let endpoint = &trusted(endpoint, server)?;
    let http = credential.http(http, server).await?;
    let mut is_revoked = true;
    let tokens = credential.refresh_token.iter().map(|token| (token, "refresh_token"));
    for (token, hint) in tokens.chain([(&credential.access_token, "access_token")]) {
        let form = [("token", token.expose()), ("token_type_hint", hint)];
        let proof = credential.client.proof(&credential.issuer)?;
        let answer = http.form(endpoint, &form, &proof, "revoke the sign-in").await;
        is_revoked &= answer.is_ok_and(|answer| answer.status.is_success());
    }
    Ok(is_revoked)
}

/// The issuer to sign in at: the first one that the server names, or the one of the settings, which it must name too.
fn chosen_issuer(named: &[String], config: &OauthConfig, server: &Url) -> Result<String, Error> {
    let Some(wanted) = &config.issuer else {
        // A server of 2025-03-26 names none: it is its own.
        return Ok(named.first().cloned().unwrap_or_else(|| server.origin().ascii_serialization()));
    };
    if named.is_empty() || named.iter().any(|named| is_same_issuer(named, wanted)) {
        return Ok(wanted.clone());
    }
    Err(Error::Metadata(format!(
        "the server requires a sign-in at {}, and `issuer` in its settings is `{wanted}`",
        named.join(" or ")
    )))
}

/// A client that was registered by hand belongs to the issuer that it was first used at.
fn check_moved(
    config: &OauthConfig,
    before: Option<&StoredSignIn>,
    issuer: &ServerMetadata,
) -> Result<(), Error> {
    match before {
        Some(before)
            if (config.client_id.is_some() || config.assertion.is_some())
                && config.issuer.is_none()
                && before.issuer != issuer.issuer =>
        {
            Err(Error::Metadata(format!(
                "the server has moved from `{}` to `{}`, and `client_id` belongs to the first; set the new one and `issuer`",
                before.issuer, issuer.issuer
            )))
        }
        _ => Ok(()),
    }
}

/// What to ask for: what is named, what was granted and asked for before, and to stay signed in where that is offered.
fn scopes(
    named: Option<Vec<String>>,
    before: Option<&StoredSignIn>,
    issuer: &ServerMetadata,
) -> Vec<String> {
    let earlier =
        before.into_iter().flat_map(|before| before.scopes.iter().chain(&before.wanted_scopes));
    let all = named.into_iter().flatten().chain(earlier.cloned());
    let offline = issuer.offers(OFFLINE).then(|| OFFLINE.to_owned());
    let mut seen = BTreeSet::new();
    all.chain(offline).filter(|scope| seen.insert(scope.clone())).collect()
}

/// The server's address as a resource: without a fragment, and without a slash for its root.
fn canonical(url: &Url) -> String {
    let mut url = url.clone();
    url.set_fragment(None);
    match url.path() {
        "/" if url.query().is_none() => url.as_str().trim_end_matches('/').to_owned(),
        _ => url.into(),
    }
}
