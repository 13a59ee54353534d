//! The secrets that seal MCP sessions if the cluster has no key, and their rotation.

use std::time::Duration;

use base64::{DecodeError, Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use switchboard_toolcall::BoxError;
use switchboard_workers::wire;
use tokio::time::sleep;

use crate::{
    Error,
    mirror::{Mirror, ValueChange},
};

/// The key of the secrets.
pub(super) const SECRETS: &str = "mcp.secrets";
/// How long older secrets open sessions after a rotation: as long as a session lives, and a little longer.
const LIFE: Duration = Duration::from_secs(25 * 60 * 60);
/// How long gateways have to learn a secret before another one seals with it.
const SETTLE: Duration = Duration::from_secs(3);
/// How many secrets there may be.
const MOST: usize = 16;

/// The secrets that seal sessions.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct SessionSecrets {
    /// In base64; the first one seals, all of them open.
    secrets: Vec<String>,
    /// When the first one was put there by a rotation; the others expire some time later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rotated: Option<Timestamp>,
}

impl SessionSecrets {
    /// Makes a first secret.
    ///
    /// # Errors
    /// The system has no randomness.
    pub(super) fn generate() -> Result<Self, BoxError> {
        Ok(Self { secrets: vec![secret()?], rotated: None })
    }

    /// Returns the secrets that open sessions now.
    ///
    /// # Errors
    /// They are not base64.
    pub(super) fn usable(&self, now: Timestamp) -> Result<Vec<Vec<u8>>, BoxError> {
        let secrets: Result<Vec<_>, DecodeError> =
            self.known(now).iter().map(|secret| URL_SAFE_NO_PAD.decode(secret)).collect();
        Ok(secrets?)
    }

    fn known(&self, now: Timestamp) -> &[String] {
        let is_old =
            |rotated: Timestamp| now.duration_since(rotated).unsigned_abs() > LIFE && now > rotated;
        match self.rotated.is_some_and(is_old) {
            true => self.secrets.get(..1).unwrap_or_default(),
            false => &self.secrets,
        }
    }

    /// Replaces the secret that seals. Sessions of the one before stay valid for a day, unless `forget` is set. All gateways
    /// can open with the new one before any of them seals with it. Returns `false` if there is no secret yet.
    ///
    /// # Errors
    /// NATS cannot be reached, or there were too many rotations lately.
    pub(crate) async fn rotate(mirror: &Mirror, forget: bool) -> Result<bool, Error> {
        if mirror.fetch(SECRETS).await?.is_none() {
            return Ok(false);
        }
        let new = secret().map_err(|_| Error::Random)?;
        if !forget {
            let added = |known: &[String]| [known, std::slice::from_ref(&new)].concat();
            change(mirror, added).await?;
            sleep(SETTLE).await;
        }
        let first = |known: &[String]| {
            let older = known.iter().filter(|_| !forget).filter(|known| **known != new);
            std::iter::once(&new).chain(older).cloned().collect()
        };
        change(mirror, first).await?;
        Ok(true)
    }
}

async fn change(
    mirror: &Mirror,
    change: impl Fn(&[String]) -> Vec<String> + Send + Sync,
) -> Result<(), Error> {
    let decide = |stored: &bytes::Bytes| {
        let stored: SessionSecrets = wire::read("a secret for sessions", stored)?;
        let now = Timestamp::now();
        let secrets = change(stored.known(now));
        match secrets.len() > MOST {
            true => Err(Error::RotatedTooOften),
            false => Ok(ValueChange::Put(SessionSecrets { secrets, rotated: Some(now) })),
        }
    };
    mirror.change(SECRETS, decide).await
}

fn secret() -> Result<String, BoxError> {
    let mut secret = [0_u8; 32];
    getrandom::fill(&mut secret)?;
    Ok(URL_SAFE_NO_PAD.encode(secret))
}
