//! The whole client against an authorization server and a resource that keep to the letter: codes are good once, PKCE, state,
//! redirect address and resource are checked, refresh tokens rotate and their reuse ends the sign-in.

#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

mod authorization_server;
mod attacks;
mod client_issuer;
mod dpop;
mod fleet;
mod renewing;
mod secrets;
mod signing_in;
mod without_person;

use std::sync::Arc;

use authorization_server::AuthorizationServer;
use switchboard_oauth::{
    Authorizer, CredentialKey, CredentialStore, Error, GrantKind, HttpClient, OauthConfig,
    PendingSignIn, SecretObserver, SignIn, StoredSignIn, Vault, VaultCredentials,
};
use switchboard_vault::SystemKeyring;
use tempfile::TempDir;

/// An authorization server, a store, and a client of both.
struct SignInSetup {
    server: AuthorizationServer,
    store: Arc<dyn CredentialStore>,
    http: HttpClient,
    key: CredentialKey,
    config: OauthConfig,
    observe: SecretObserver,
    folder: TempDir,
}

impl SignInSetup {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let keyring = Arc::new(SystemKeyring::new(None, folder.path()));
        let store = VaultCredentials::new(Vault::new(folder.path().join("vault"), keyring));
        let server = AuthorizationServer::start().await;
        let key = CredentialKey::shared("docs", &server.resource()).unwrap();
        Self {
            server,
            store,
            http: HttpClient::new().unwrap(),
            key,
            config: OauthConfig::default(),
            observe: Arc::new(|_| Box::new(())),
            folder,
        }
    }

    async fn prepare(&self) -> Result<SignIn, Error> {
        SignIn::prepare(&self.http, &self.store, self.key.clone(), &self.config, None).await
    }

    async fn begin(&self) -> PendingSignIn {
        self.prepare().await.unwrap().begin().await.unwrap()
    }

    async fn sign_in(&self) -> Result<StoredSignIn, Error> {
        let pending = self.prepare().await?.begin().await?;
        let browser = tokio::spawn(browse(pending.url().to_string()));
        let signed_in = pending.finish().await;
        browser.abort();
        signed_in
    }

    /// The sign-in that is stored.
    async fn stored(&self) -> Option<StoredSignIn> {
        StoredSignIn::load(&*self.store, &self.key).await.unwrap()
    }

    /// Changes the sign-in that is stored.
    async fn change_stored(&self, change: impl FnOnce(&mut serde_json::Value)) {
        let lock = self.store.lock(&self.key.name()).await.unwrap();
        let stored = lock.get().await.unwrap().unwrap();
        let mut stored = serde_json::from_str(stored.expose()).unwrap();
        change(&mut stored);
        lock.set(stored.to_string().into()).await.unwrap();
    }

    fn authorizer(&self) -> Authorizer {
        self.granted_by(GrantKind::Person)
    }

    fn granted_by(&self, grant: GrantKind) -> Authorizer {
        let (http, store, key) = (self.http.clone(), self.store.clone(), self.key.clone());
        Authorizer::granted_by(grant, self.config.clone(), http, store, key, self.observe.clone())
    }
}

/// A browser: follows redirects, and returns the page that it ends on.
async fn browse(url: String) -> String {
    reqwest::get(url).await.unwrap().text().await.unwrap()
}

/// Where the authorization server sends the browser, without going there.
async fn redirect_of(url: &str) -> String {
    let client =
        reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let answer = client.get(url).send().await.unwrap();
    answer.headers()["location"].to_str().unwrap().to_owned()
}
