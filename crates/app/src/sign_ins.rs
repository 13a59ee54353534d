//! Where sign-ins to servers and APIs are kept (SPEC AU-2): in the vault, or, in a cluster with a key, sealed in NATS.

use std::sync::{Arc, Weak};

use switchboard_apis::Apis;
use switchboard_mcp_client::{OauthDeps, Servers};
use switchboard_oauth::{
    CredentialStore, Error, HttpClient, SecretObserver, SignInTarget, TargetFinder,
    VaultCredentials,
};
use switchboard_runtime::redact;
use switchboard_toolcall::Principal;

use crate::{cluster::ClusterConnection, connections::Needs, settings::LoadedConfig, vault};

/// Returns the store of sign-ins.
///
/// # Errors
/// There is no folder for the vault, or a setting of the cluster cannot be used.
pub(crate) async fn store(
    loaded: &LoadedConfig,
    connection: &ClusterConnection,
) -> anyhow::Result<Arc<dyn CredentialStore>> {
    let store: Arc<dyn CredentialStore> = match connection.credentials(loaded).await? {
        Some(shared) => shared,
        None => VaultCredentials::new(vault::open()?),
    };
    Ok(store)
}

/// Returns what signing in to the needed servers needs; `None` if there is no folder for the vault, or HTTPS cannot be used here.
///
/// # Errors
/// A setting of the cluster cannot be used.
pub(crate) async fn for_servers(
    loaded: &LoadedConfig,
    connection: &ClusterConnection,
    needs: Needs<'_>,
) -> anyhow::Result<Option<OauthDeps>> {
    let mut remote = loaded.enabled_servers().filter(|(_, config)| config.url.is_some());
    let mut apis = loaded.settings.apis.keys();
    let is_used =
        remote.any(|(name, _)| needs.includes(name)) || apis.any(|name| needs.includes(name));
    let shared = if is_used { connection.credentials(loaded).await? } else { None };
    let store: Arc<dyn CredentialStore> = match (shared, vault::open()) {
        (Some(shared), _) => shared,
        (None, Ok(vault)) => VaultCredentials::new(vault),
        (None, Err(_)) => return Ok(None),
    };
    Ok(deps(loaded, store))
}

/// Returns what signing in needs; `None` if HTTPS cannot be used here.
pub(crate) fn deps(loaded: &LoadedConfig, store: Arc<dyn CredentialStore>) -> Option<OauthDeps> {
    let http = http_client().inspect_err(|error| {
        // A clean system may have no certificates, and without remote servers needs none.
        let has_server = loaded.enabled_servers().any(|(_, config)| config.url.is_some());
        if has_server || !loaded.settings.apis.is_empty() {
            tracing::warn!(%error, "no server can be signed in to");
        }
    });
    Some(OauthDeps::new(http.ok()?, store, redacting()))
}

/// Returns the client of a command that signs in or out; what it sends is redacted from then on.
///
/// # Errors
/// HTTPS cannot be used here.
pub(crate) fn http_client() -> Result<HttpClient, Error> {
    Ok(HttpClient::new()?.observed_by(redacting()))
}

fn redacting() -> SecretObserver {
    Arc::new(|secret| Box::new(redact::remember_while_used(secret.expose())))
}

/// Serves the pages on which callers sign in together with the other gateways of the cluster, if there are any.
///
/// # Errors
/// A setting of the cluster cannot be used.
pub(crate) async fn share_pages(
    oauth: &OauthDeps,
    loaded: &LoadedConfig,
    connection: &ClusterConnection,
    (servers, apis): (&Arc<Servers>, &Arc<Apis>),
) -> anyhow::Result<()> {
    if let Some(shared) = connection.credentials(loaded).await? {
        oauth.pages.share(shared.pages(), finder(servers, apis));
    }
    Ok(())
}

/// Finds what a caller signs in to, in the config as it is then.
fn finder(servers: &Arc<Servers>, apis: &Arc<Apis>) -> TargetFinder {
    let (servers, apis): (Weak<Servers>, Weak<Apis>) =
        (Arc::downgrade(servers), Arc::downgrade(apis));
    Arc::new(move |name: &str, caller: &Principal| -> Option<Arc<dyn SignInTarget>> {
        match servers.upgrade()?.get(name) {
            Some(server) => server.sign_in_target(caller),
            None => apis.upgrade()?.get(name)?.sign_in_target(caller),
        }
    })
}
