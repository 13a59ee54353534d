//! A sign-in that waits for the browser.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use switchboard_vault::Secret;
use url::Url;

use super::{
    authorizer::Authorizer, client::ClientRegistration, credential::StoredSignIn, dpop::DpopKey,
    error::Error, loopback::LoopbackListener, metadata::ServerMetadata, sign_in::SignIn,
};

/// A sign-in that waits for the browser, which comes back to this machine.
#[derive(Debug)]
pub struct PendingSignIn {
    pub(super) request: OutgoingAuthorizationRequest,
    pub(super) listener: LoopbackListener,
}

/// A sign-in that waits for the browser, which comes back to an address of the caller's.
#[derive(Debug)]
pub struct OutgoingAuthorizationRequest {
    pub(super) sign_in: SignIn,
    pub(super) client: ClientRegistration,
    pub(super) url: Url,
    pub(super) redirect: Url,
    pub(super) state: Secret,
    pub(super) verifier: Secret,
}

/// An [`OutgoingAuthorizationRequest`] as one gateway stores it, so that another can finish it.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredRequest {
    issuer: ServerMetadata,
    resource: String,
    scopes: Vec<String>,
    #[serde(default)]
    dpop: Option<DpopKey>,
    must_bind: bool,
    #[serde(default)]
    is_public_only: bool,
    client: ClientRegistration,
    url: String,
    redirect: String,
    state: Secret,
    verifier: Secret,
}

impl StoredRequest {
    pub(super) fn of(request: &OutgoingAuthorizationRequest) -> Self {
        let SignIn { issuer, resource, scopes, dpop, must_bind, .. } = request.sign_in.clone();
        Self {
            issuer,
            resource,
            scopes,
            dpop,
            must_bind,
            is_public_only: request.sign_in.http.is_public_only(),
            client: request.client.clone(),
            url: request.url.to_string(),
            redirect: request.redirect.to_string(),
            state: request.state.clone(),
            verifier: request.verifier.clone(),
        }
    }

    /// Returns the request, to be finished with this authorizer's settings; `None` if it is damaged.
    pub(super) async fn restore(
        self,
        authorizer: &Authorizer,
    ) -> Option<OutgoingAuthorizationRequest> {
        let Self { issuer, resource, scopes, dpop, must_bind, .. } = self;
        let (key, config) = (authorizer.key().clone(), authorizer.config());
        let http = match config.issuer {
            Some(_) => authorizer.http().clone(),
            None if self.is_public_only => authorizer.http().public_only(),
            None => authorizer.http().for_server(&key.url).await.ok()?,
        };
        let (store, config) = (authorizer.store().clone(), Arc::new(config.clone()));
        let (url, redirect) = (Url::parse(&self.url).ok()?, Url::parse(&self.redirect).ok()?);
        let mut client = self.client;
        client.follow(&config);
        let sign_in =
            SignIn { http, store, key, config, issuer, resource, scopes, dpop, must_bind };
        let (state, verifier) = (self.state, self.verifier);
        Some(OutgoingAuthorizationRequest { sign_in, client, url, redirect, state, verifier })
    }
}

impl PendingSignIn {
    /// Where the browser is to go.
    pub fn url(&self) -> &Url {
        self.request.url()
    }

    /// Waits until the browser comes back, and gets the tokens.
    ///
    /// # Errors
    /// The person or the authorization server refused, or somebody else sent the response.
    pub async fn finish(self) -> Result<StoredSignIn, Error> {
        let Self { request, listener } = self;
        let (code, browser) = listener.receive(|url| request.code(url).transpose()).await?;
        let redeemed = request.redeem(&code).await;
        browser.respond(redeemed.as_ref().map(drop)).await;
        redeemed
    }

    /// As [`finish`](Self::finish), with the whole address that the browser ended on.
    ///
    /// # Errors
    /// As [`finish`](Self::finish), or it is not such an address.
    pub async fn finish_with(self, address: &str) -> Result<StoredSignIn, Error> {
        self.request.finish_with(address).await
    }
}

impl OutgoingAuthorizationRequest {
    /// Where the browser is to go.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The text that the response must repeat; nobody can guess it.
    pub fn state(&self) -> &str {
        self.state.expose()
    }

    /// Gets the tokens, with the whole address that the browser came back to.
    ///
    /// # Errors
    /// The person or the authorization server refused, somebody else sent the response, or it is no such address.
    pub async fn finish_with(self, address: &str) -> Result<StoredSignIn, Error> {
        let wrong =
            || Error::Response("it is not the address that the browser ended on".to_owned());
        let url = Url::parse(address.trim()).map_err(|_| wrong())?;
        if (url.origin(), url.path()) != (self.redirect.origin(), self.redirect.path()) {
            return Err(wrong());
        }
        let code = self.code(&url)?.ok_or_else(wrong)?;
        self.redeem(&code).await
    }

    /// Reads the code from the redirect; `None` if it is another request.
    fn code(&self, url: &Url) -> Result<Option<Secret>, Error> {
        let parameter = |name: &str| {
            let mut found = url
                .query_pairs()
                .filter(|(key, _)| key == name)
                .map(|(_, value)| value.into_owned());
            found.next().filter(|_| found.next().is_none())
        };
        let Some(state) = parameter("state") else { return Ok(None) };
        if ring_equal(&state, self.state.expose()) {
            self.check_issuer(parameter("iss").as_deref())?;
        } else {
            return Err(Error::Response("its state belongs to another sign-in".to_owned()));
        }
        if let Some(code) = parameter("error") {
            return Err(Error::Refused { code, description: parameter("error_description") });
        }
        let code = parameter("code").ok_or_else(|| Error::Response("it has no code".to_owned()))?;
        Ok(Some(code.into()))
    }

    /// The response must come from the issuer that was asked (RFC 9207): compared as texts, and required if it says so.
    fn check_issuer(&self, named: Option<&str>) -> Result<(), Error> {
        let issuer = &self.sign_in.issuer;
        match named {
            Some(named) if named == issuer.issuer => Ok(()),
            Some(named) => Err(Error::Response(format!(
                "it comes from `{named}`, not from `{}`",
                issuer.issuer
            ))),
            None if issuer.authorization_response_iss_parameter_supported => {
                Err(Error::Response("it does not say which issuer it comes from".to_owned()))
            }
            None => Ok(()),
        }
    }

    async fn redeem(self, code: &Secret) -> Result<StoredSignIn, Error> {
        let grant = [
            ("grant_type", "authorization_code"),
            ("code", code.expose()),
            ("redirect_uri", self.redirect.as_str()),
            ("code_verifier", self.verifier.expose()),
            ("resource", &self.sign_in.resource),
        ];
        self.sign_in.exchange(self.client, &grant).await
    }
}

/// Compares in a time that says nothing of where two texts differ.
fn ring_equal(one: &str, other: &str) -> bool {
    let digest = |text: &str| ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    digest(one).as_ref() == digest(other).as_ref()
}
