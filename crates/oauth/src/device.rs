//! The device flow (RFC 8628), for machines without a browser.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use switchboard_vault::Secret;
use tokio::time::sleep;

use super::{
    client_issuer, credential::StoredSignIn, error::Error, http::trusted, sign_in::SignIn, token,
};

/// How often to ask if the authorization server does not say, in seconds.
const INTERVAL: u64 = 5;

/// How long a person has if the authorization server does not say, in seconds.
const LIFETIME: u64 = 600;

/// What an authorization server gives.
#[derive(Default, Deserialize)]
#[serde(default)]
struct DeviceResponse {
    device_code: Option<Secret>,
    user_code: Option<String>,
    verification_uri: Option<String>,
    verification_uri_complete: Option<String>,
    // What is no number is as if it were not there.
    expires_in: Value,
    interval: Value,
}

/// What a person is to do on another device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceCode {
    /// Where to go.
    pub verification_uri: String,
    /// What to type there.
    pub user_code: String,
    /// Where to go without typing, if there is such an address.
    pub verification_uri_complete: Option<String>,
}

impl SignIn {
    /// Signs in with the device flow: `show` tells a person what to do, then this waits until that is done.
    ///
    /// # Errors
    /// The authorization server does not have this flow, the person refuses, or takes too long.
    pub async fn with_device(&self, show: impl FnOnce(&DeviceCode)) -> Result<StoredSignIn, Error> {
        let endpoint = self.issuer.device_authorization_endpoint.as_ref();
        let endpoint = self.issuer.endpoint("device flow", endpoint, &self.key.url)?;
        let client = self.client(None).await?;
        client_issuer::bind(&*self.store, &self.key.url, &self.config, self.issuer()).await?;
        let scopes = self.scopes.join(" ");
        let mut form = vec![("resource", self.resource.as_str())];
        form.extend((!scopes.is_empty()).then_some(("scope", scopes.as_str())));
        // Also a client that proves who it is in a header names itself here.
        form.push(("client_id", &client.id));
        let proof = client.proof(&self.issuer.issuer)?;
        let answer = self.http.form(&endpoint, &form, &proof, "begin the device flow").await?;
        if !answer.status.is_success() {
            return Err(token::refusal(&answer));
        }
        let given: DeviceResponse = answer.read().unwrap_or_default();
        let missing = |name: &str| Error::Metadata(format!("the device flow has no {name}"));
        let device_code = given.device_code.ok_or_else(|| missing("device_code"))?;
        let address = given.verification_uri.ok_or_else(|| missing("verification_uri"))?;
        let complete = given.verification_uri_complete;
        let complete = complete.map(|address| trusted(&address, &self.key.url)).transpose()?;
        show(&DeviceCode {
            verification_uri: trusted(&address, &self.key.url)?.into(),
            user_code: given.user_code.ok_or_else(|| missing("user_code"))?,
            verification_uri_complete: complete.map(Into::into),
        });
        let lifetime = given.expires_in.as_u64().unwrap_or(LIFETIME);
        let interval = given.interval.as_u64().unwrap_or(INTERVAL).clamp(1, 60);
        let waiting = self.poll(client, &device_code, Duration::from_secs(interval));
        let limit = Duration::from_secs(lifetime);
        tokio::time::timeout(limit, waiting).await.unwrap_or(Err(Error::TimedOut(lifetime)))
    }

    async fn poll(
        &self,
        client: super::client::ClientRegistration,
        device_code: &Secret,
        mut interval: Duration,
    ) -> Result<StoredSignIn, Error> {
        let grant = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
            ("device_code", device_code.expose()),
            ("resource", &self.resource),
        ];
        loop {
            sleep(interval).await;
            match self.exchange(client.clone(), &grant).await {
                Err(Error::Refused { code, .. }) if code == "authorization_pending" => {}
                Err(Error::Refused { code, .. }) if code == "slow_down" => {
                    interval += Duration::from_secs(5);
                }
                // A network or a server that fails for a moment ends nothing.
                Err(Error::Request { .. } | Error::Busy { .. }) => {
                    interval += Duration::from_secs(1)
                }
                done => return done,
            }
        }
    }
}
