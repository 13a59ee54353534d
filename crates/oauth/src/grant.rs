//! Tokens without a person: for a client itself (RFC 6749, 4.4), for a workload (RFC 7523), and for a caller whose token
//! is exchanged (RFC 8693), where an identity provider decides by a grant of its own (ID-JAG).

use serde::Deserialize;
use switchboard_vault::Secret;
use tokio::task::spawn_blocking;

use super::{
    client,
    config::{GrantKind, IdpConfig, SubjectTokenType},
    credential::StoredSignIn,
    error::Error,
    http::trusted,
    metadata,
    sign_in::{OFFLINE, SignIn},
    token,
};

const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

/// What an identity provider gives: a grant, if it is of our type.
#[derive(Default, Deserialize)]
#[serde(default)]
struct IdpAnswer {
    issued_token_type: String,
    access_token: Option<Secret>,
}

impl SignIn {
    /// Gets a token without a person, and stores it.
    ///
    /// # Errors
    /// The settings lack something, or the authorization server refuses.
    pub async fn by_grant(&self, grant: GrantKind) -> Result<StoredSignIn, Error> {
        self.keep(self.without_person(grant, None).await?).await
    }

    /// Gets a token without a person; `subject` is the caller's own token. Stores nothing.
    ///
    /// # Errors
    /// The settings lack something, or the authorization server refuses.
    pub(super) async fn without_person(
        &self,
        grant: GrantKind,
        subject: Option<&Secret>,
    ) -> Result<StoredSignIn, Error> {
        let checked = self.config.check(grant);
        checked.map_err(|problem| Error::Settings(format!("`oauth` {problem}")))?;
        match grant {
            GrantKind::Person => Err(Error::Settings("a person has to sign in".to_owned())),
            GrantKind::Client => {
                let config = self.config.clone();
                let read = spawn_blocking(move || config.read_assertion()).await;
                let failed =
                    |error| Error::Settings(format!("`assertion` cannot be read: {error}"));
                match read.map_err(failed)?? {
                    Some(assertion) => self.by_assertion(&assertion).await,
                    None => self.request_token(&[("grant_type", "client_credentials")]).await,
                }
            }
            GrantKind::Exchange => {
                let idp = self.config.idp.as_ref();
                let fixed = idp.and_then(|idp| idp.id_token.as_ref());
                let subject = fixed.or(subject).ok_or(Error::NoSubject)?;
                match idp {
                    Some(idp) => {
                        let assertion = self.identity_assertion(idp, subject).await?;
                        self.by_assertion(&assertion).await
                    }
                    None => self.by_exchange(subject).await,
                }
            }
        }
    }

    async fn by_assertion(&self, assertion: &Secret) -> Result<StoredSignIn, Error> {
        self.request_token(&[("grant_type", JWT_BEARER), ("assertion", assertion.expose())]).await
    }

    async fn by_exchange(&self, subject: &Secret) -> Result<StoredSignIn, Error> {
        let subject_type = self.config.subject_token_type.unwrap_or_default();
        let grant = [
            ("grant_type", EXCHANGE),
            ("subject_token", subject.expose()),
            ("subject_token_type", subject_type.urn()),
            ("requested_token_type", SubjectTokenType::AccessToken.urn()),
        ];
        self.request_token(&grant).await
    }

    async fn request_token(&self, grant: &[(&str, &str)]) -> Result<StoredSignIn, Error> {
        let scopes = self.scopes_without_person();
        let mut grant = grant.to_vec();
        grant.push(("resource", &self.resource));
        grant.extend((!scopes.is_empty()).then_some(("scope", scopes.as_str())));
        let client = client::configured(&self.config, &self.issuer);
        self.request(client, &grant).await
    }

    /// Nobody is offline who was never there.
    fn scopes_without_person(&self) -> String {
        let scopes = self.scopes.iter().map(String::as_str).filter(|scope| *scope != OFFLINE);
        scopes.collect::<Vec<_>>().join(" ")
    }

    /// Asks the identity provider for a grant that is good at the server's authorization server alone.
    async fn identity_assertion(&self, idp: &IdpConfig, subject: &Secret) -> Result<Secret, Error> {
        // The settings name it, not the server.
        let http = self.http.allow_private();
        let (endpoint, methods) = match &idp.token_endpoint {
            Some(endpoint) => (trusted(endpoint, &self.key.url)?, None),
            None => {
                let found = metadata::authorization_server(&http, &idp.issuer, &self.key.url);
                let found = found.await?;
                let endpoint = found.token_endpoint.as_ref();
                let endpoint = found.endpoint("token endpoint", endpoint, &self.key.url)?;
                (endpoint, found.token_endpoint_auth_methods_supported)
            }
        };
        let scopes = self.scopes_without_person();
        let mut form = vec![
            ("grant_type", EXCHANGE),
            ("requested_token_type", ID_JAG),
            ("subject_token", subject.expose()),
            ("subject_token_type", SubjectTokenType::IdToken.urn()),
            ("audience", &self.issuer.issuer),
            ("resource", &self.resource),
        ];
        form.extend((!scopes.is_empty()).then_some(("scope", scopes.as_str())));
        let proof = client::at_provider(idp, methods.as_deref()).proof(&idp.issuer)?;
        let answer = http.form(&endpoint, &form, &proof, "exchange the ID token").await?;
        if !answer.status.is_success() {
            return Err(token::refusal(&answer));
        }
        let given: IdpAnswer = answer.read().unwrap_or_default();
        match given.access_token {
            Some(grant) if given.issued_token_type == ID_JAG && !grant.expose().is_empty() => {
                Ok(grant)
            }
            _ => Err(Error::Metadata(format!("`{}` gave no grant (ID-JAG)", idp.issuer))),
        }
    }
}
