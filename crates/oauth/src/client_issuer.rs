//! Which issuer a client of the settings belongs to: the first that it was used at, for all callers and also after a sign-out.
//! What proves who the client is goes to no other one.

use serde_json::json;
use switchboard_vault::Secret;
use url::Url;

use super::{config::OauthConfig, credential_store::CredentialStore, error::Error};

/// Checks that the client of the settings belongs to this issuer, or to none yet.
///
/// # Errors
/// It belongs to another one, or the store cannot be used.
pub(super) async fn check(
    store: &dyn CredentialStore,
    server: &Url,
    config: &OauthConfig,
    issuer: &str,
) -> Result<(), Error> {
    if let Some(wanted) = &config.issuer {
        return same(wanted, issuer);
    }
    let Some(name) = name(server, config) else { return Ok(()) };
    match store.get(&name).await? {
        Some(first) => same(first.expose(), issuer),
        None => Ok(()),
    }
}

/// As [`check`], and notes the issuer if the client belongs to none yet. To be called before anything is sent that proves who
/// the client is.
///
/// # Errors
/// As [`check`].
pub(super) async fn bind(
    store: &dyn CredentialStore,
    server: &Url,
    config: &OauthConfig,
    issuer: &str,
) -> Result<(), Error> {
    check(store, server, config, issuer).await?;
    let Some(name) = name(server, config).filter(|_| config.issuer.is_none()) else {
        return Ok(());
    };
    if store.get(&name).await?.is_some() {
        return Ok(());
    }
    let lock = store.lock(&name).await?;
    // Another caller may have been first.
    let bound = match lock.get().await {
        Ok(Some(first)) => same(first.expose(), issuer),
        Ok(None) => lock.set(Secret::from(issuer)).await,
        Err(error) => Err(error),
    };
    lock.release().await;
    bound
}

/// Whether two texts name the same issuer: a slash at the end makes no difference.
pub(super) fn is_same_issuer(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
}

fn same(first: &str, issuer: &str) -> Result<(), Error> {
    if is_same_issuer(first, issuer) {
        return Ok(());
    }
    Err(Error::Metadata(format!(
        "the server has moved from `{first}` to `{issuer}`, and the client of the settings belongs to the first; \
         set the new client and `issuer`"
    )))
}

/// The name in the store; `None` if the settings have nothing that belongs to an issuer. It is no list, so that it is not
/// taken for the name of a sign-in.
fn name(server: &Url, config: &OauthConfig) -> Option<String> {
    if config.client_id.is_none() && config.assertion.is_none() {
        return None;
    }
    let client = config.client_id.as_deref().unwrap_or_default();
    Some(json!({"issuer_of_client": [server.as_str(), client]}).to_string())
}
