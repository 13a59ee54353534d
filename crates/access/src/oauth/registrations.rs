//! Clients that registered themselves (RFC 7591): few, limited in rate, and forgotten unless a person lets them in.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Client, OAuthError, client::ClientMetadata, secret};
use crate::{Access, Peers, Rejection, locked_file};

/// How long a client is remembered that nobody has let in yet.
const NEW: Duration = Duration::from_secs(24 * 60 * 60);
/// How long one is remembered after somebody has let it in.
const USED: Duration = Duration::from_secs(180 * 24 * 60 * 60);
/// How many there may be; of those that nobody let in, the oldest is forgotten.
const MOST: usize = 1000;

/// The registered clients, in a file; in a cluster, shared with the other gateways.
pub(super) struct Registrations {
    file: PathBuf,
    now: Clock,
}

/// Says what time it is.
type Clock = Box<dyn Fn() -> Timestamp + Send + Sync>;

/// A registered client.
#[derive(Clone, Serialize, Deserialize)]
struct Registration {
    client: Client,
    until: Timestamp,
    /// Whether a person has let it in.
    is_used: bool,
}

impl Registrations {
    /// Creates the registrations in the folder of the tokens.
    pub(super) fn beside(tokens: &Path) -> Self {
        let folder = tokens.parent().map(|folder| folder.join("oauth-clients.json"));
        // Without a folder, nothing can be written.
        Self { file: folder.unwrap_or_default(), now: Box::new(Timestamp::now) }
    }

    /// Returns the client with this id.
    pub(super) async fn find(
        &self,
        id: &str,
        peers: Option<&dyn Peers>,
    ) -> Result<Client, OAuthError> {
        let found = match peers {
            Some(peers) => peers
                .find_session(&key(id))
                .await
                .and_then(|kept| serde_json::from_value(kept).ok()),
            None => self.read()?.into_iter().find(|one| one.client.id == id),
        };
        let unknown = || {
            OAuthError::new(
                "invalid_client",
                "the client is not known here, or not any more; it has to register again",
            )
        };
        let found: Registration =
            found.filter(|one: &Registration| one.until > (self.now)()).ok_or_else(unknown)?;
        Ok(found.client)
    }

    /// Remembers a client, longer if a person has let it in.
    pub(super) async fn keep(
        &self,
        client: Client,
        is_used: bool,
        peers: Option<&dyn Peers>,
    ) -> Result<(), OAuthError> {
        let life = if is_used { USED } else { NEW };
        let until = (self.now)().saturating_add(life).unwrap_or(Timestamp::MAX);
        let new = Registration { client, until, is_used };
        let Some(peers) = peers else { return self.write(new) };
        let value = serde_json::to_value(&new).unwrap_or_default();
        let kept = peers.keep_session(&key(&new.client.id), value, life).await;
        kept.map_err(|error| {
            OAuthError::unavailable(format!("the client cannot be stored: {error}"))
        })
    }

    fn write(&self, new: Registration) -> Result<(), OAuthError> {
        let failed = |error: io::Error| self.failed(&error);
        let _lock = locked_file::lock(&self.file).map_err(failed)?;
        let mut all = self.read()?;
        let now = (self.now)();
        all.retain(|one| one.until > now && one.client.id != new.client.id);
        while all.len() >= MOST {
            let first = all.iter().enumerate().min_by_key(|(_, one)| (one.is_used, one.until));
            let Some((first, _)) = first else { break };
            all.remove(first);
        }
        all.push(new);
        let text = serde_json::to_vec_pretty(&all).unwrap_or_default();
        locked_file::replace(&self.file, &text).map_err(failed)
    }

    fn read(&self) -> Result<Vec<Registration>, OAuthError> {
        let text = match fs::read(&self.file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            read => read,
        };
        text.and_then(|text| parse(&text)).map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &io::Error) -> OAuthError {
        tracing::warn!(%error, "the registered clients in `{}` cannot be used", self.file.display());
        OAuthError::unavailable("registered clients cannot be looked up now")
    }
}

fn parse(text: &[u8]) -> io::Result<Vec<Registration>> {
    match text.is_empty() {
        true => Ok(Vec::new()),
        false => Ok(serde_json::from_slice(text)?),
    }
}

/// Returns where gateways share a client: apart from the keys of sessions, which are hashes.
fn key(id: &str) -> String {
    format!("client-{}", URL_SAFE_NO_PAD.encode(crate::tokens::hash(id)))
}

impl Access {
    /// Registers a client. Returns the response.
    ///
    /// # Errors
    /// Registration is off or too frequent, or the metadata is invalid.
    pub async fn register_client(&self, body: &[u8]) -> Result<Value, OAuthError> {
        let server = self.server()?;
        if !server.config.registration {
            return Err(OAuthError::new(
                "access_denied",
                "clients cannot register themselves here; use a client id metadata document",
            ));
        }
        let metadata = ClientMetadata::read(body)?;
        let taken = server.registering.take_in(self.peers(), "oauth:register").await;
        taken.map_err(|rejection| match rejection {
            Rejection::TooManyRequests { .. } => OAuthError::new(
                "slow_down",
                "too many clients register themselves; try again later",
            ),
            other => OAuthError::unavailable(other.to_string()),
        })?;
        let id = format!("client-{}", URL_SAFE_NO_PAD.encode(secret::random::<16>()?));
        let client = metadata.into_client(id)?;
        let response = json!({
            "client_id": client.id,
            "client_id_issued_at": Timestamp::now().as_second(),
            "client_name": client.name,
            "redirect_uris": client.redirect_uris,
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
            "scope": super::SCOPE,
        });
        server.registrations.keep(client, false, self.peers()).await?;
        Ok(response)
    }
}

#[cfg(test)]
mod tests;
