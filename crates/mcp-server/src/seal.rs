//! Sessions sealed into their ids, so that every gateway with the same secret can adopt them.
//!
//! An id is `NAME.SEALED`: the session's name among gateways, and its claims, encrypted and bound to
//! that name. Nobody without the secret can read, change or make one.

use std::{
    fmt,
    sync::{Arc, PoisonError, RwLock},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    hkdf::{HKDF_SHA256, Salt},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_toolcall::time::unix_seconds;

use super::session::SessionInit;
use switchboard_mcp_wire::eras;

/// Secrets shorter than this could be guessed.
const SHORTEST: usize = 16;

/// The longest id: proxies limit the length of headers.
const LONGEST: usize = 4096;

/// The purpose that the keys are derived for, so that the same secret can serve others.
const PURPOSE: &[u8] = b"switchboard mcp session 1";

/// Seals sessions into their ids, and opens them.
pub struct Seal {
    /// The first one seals; all of them open.
    keys: RwLock<Arc<[LessSafeKey]>>,
}

/// A secret that is too short to seal anything.
#[derive(Debug, thiserror::Error)]
#[error("a secret that seals sessions must have at least {SHORTEST} bytes, and this one has {0}")]
pub struct WeakSecret(usize);

/// The content of a session's id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SessionClaims {
    /// When the session was opened, in seconds since 1970.
    #[serde(rename = "t")]
    made: u64,
    #[serde(rename = "v")]
    version: String,
    /// The caller that the session belongs to.
    #[serde(rename = "c", default, skip_serializing_if = "Option::is_none")]
    caller: Option<String>,
    /// The profile through which the caller sees the tools.
    #[serde(rename = "f", default, skip_serializing_if = "Option::is_none")]
    profile: Option<String>,
    /// The client's name.
    #[serde(rename = "n", default, skip_serializing_if = "Option::is_none")]
    pub(crate) client: Option<String>,
    /// The client's capabilities.
    #[serde(rename = "p")]
    pub(crate) capabilities: Value,
}

impl Seal {
    /// Seals with `secret`; ids sealed with one of the older secrets can still be opened.
    ///
    /// # Errors
    /// A secret is too short.
    pub fn new<'a>(
        secret: &'a [u8],
        older: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Self, WeakSecret> {
        Ok(Self { keys: RwLock::new(keys(secret, older)?) })
    }

    /// Seals with another secret from now on, and opens what was sealed with one of the older ones.
    ///
    /// # Errors
    /// A secret is too short; then nothing changes.
    pub fn replace<'a>(
        &self,
        secret: &'a [u8],
        older: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<(), WeakSecret> {
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = keys(secret, older)?;
        Ok(())
    }

    fn keys(&self) -> Arc<[LessSafeKey]> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns whether an id was sealed with one of the secrets.
    pub fn is_ours(&self, id: &str) -> bool {
        self.open(id).is_some()
    }

    /// Returns the id of the session `name`; `None` if it would be too long, or there is no randomness.
    pub(crate) fn seal(&self, name: &str, claims: &SessionClaims) -> Option<String> {
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).ok()?;
        let mut sealed = serde_json::to_vec(claims).ok()?;
        let tag = self.keys().first()?.seal_in_place_separate_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(name.as_bytes()),
            &mut sealed,
        );
        let whole = [&nonce, &sealed[..], tag.ok()?.as_ref()].concat();
        let id = format!("{name}.{}", URL_SAFE_NO_PAD.encode(whole));
        (id.len() <= LONGEST).then_some(id)
    }

    /// Returns the claims of the session of this id; `None` if it was not sealed with one of the secrets.
    pub(crate) fn open(&self, id: &str) -> Option<SessionClaims> {
        let (name, sealed) = id.split_once('.').filter(|_| id.len() <= LONGEST)?;
        let sealed = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE_LEN>()?;
        let open = |key: &LessSafeKey| {
            let mut sealed = sealed.to_vec();
            let nonce = Nonce::assume_unique_for_key(*nonce);
            let claims = key.open_in_place(nonce, Aad::from(name.as_bytes()), &mut sealed).ok()?;
            serde_json::from_slice(claims).ok()
        };
        self.keys().iter().find_map(open)
    }
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seal").field("keys", &self.keys().len()).finish()
    }
}

fn keys<'a>(
    secret: &'a [u8],
    older: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Arc<[LessSafeKey]>, WeakSecret> {
    std::iter::once(secret).chain(older).map(key).collect()
}

fn key(secret: &[u8]) -> Result<LessSafeKey, WeakSecret> {
    let weak = || WeakSecret(secret.len());
    if secret.len() < SHORTEST {
        return Err(weak());
    }
    let derived = Salt::new(HKDF_SHA256, b"").extract(secret);
    let key = derived.expand(&[PURPOSE], &CHACHA20_POLY1305).map(UnboundKey::from);
    key.map(LessSafeKey::new).map_err(|_| weak())
}

impl SessionClaims {
    /// Creates the claims of a new session.
    pub(crate) fn new(init: &SessionInit, caller: Option<&str>, profile: Option<&str>) -> Self {
        let made = unix_seconds();
        Self {
            made,
            version: init.version.to_owned(),
            caller: caller.map(str::to_owned),
            profile: profile.map(str::to_owned),
            client: init.client.as_deref().map(str::to_owned),
            capabilities: init.capabilities.clone(),
        }
    }

    /// Returns whether the session belongs to the caller, with this profile.
    pub(crate) fn is_of(&self, caller: Option<&str>, profile: Option<&str>) -> bool {
        self.caller.as_deref() == caller && self.profile.as_deref() == profile
    }

    /// Returns how long ago the session was opened.
    pub(crate) fn age(&self) -> Duration {
        let made = UNIX_EPOCH + Duration::from_secs(self.made);
        // The clock of the gateway that opened it may be ahead.
        SystemTime::now().duration_since(made).unwrap_or_default()
    }

    /// Returns the negotiated protocol version, if it is still supported.
    pub(crate) fn version(&self) -> Option<&'static str> {
        eras::LEGACY.iter().find(|version| **version == self.version).copied()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const ONE: &[u8] = b"one secret of 16";
    const TWO: &[u8] = b"the other secret";

    fn seal(secret: &'static [u8], older: &[&'static [u8]]) -> Seal {
        Seal::new(secret, older.iter().copied()).unwrap()
    }

    fn agreed(capabilities: Value, caller: Option<&str>) -> SessionClaims {
        let client = Some("a client".into());
        let init = SessionInit { version: "2025-11-25", capabilities, client };
        SessionClaims::new(&init, caller, None)
    }

    fn claims() -> SessionClaims {
        agreed(json!({"elicitation": {}, "n": 1.0}), Some("ada"))
    }

    #[test]
    fn what_was_sealed_can_be_opened() {
        let id = seal(ONE, &[]).seal("abc", &claims()).unwrap();
        assert!(id.starts_with("abc.") && id.bytes().all(|byte| byte.is_ascii_graphic()), "{id}");
        assert!(!id.contains("ada"));
        assert_eq!(seal(ONE, &[]).open(&id).unwrap(), claims());
        // A gateway with the new secret still knows the old one, but not the reverse.
        assert_eq!(seal(TWO, &[ONE]).open(&id).unwrap(), claims());
        assert_eq!(seal(TWO, &[]).open(&id), None);
        // An id does not open under another name.
        assert_eq!(seal(ONE, &[]).open(&id.replace("abc.", "abd.")), None);
        assert_ne!(seal(ONE, &[]).seal("abc", &claims()).unwrap(), id, "no two are alike");
    }

    #[test]
    fn what_cannot_be_a_secret_is_refused() {
        let error = Seal::new(b"short", []).unwrap_err().to_string();
        assert!(error.ends_with("at least 16 bytes, and this one has 5"), "{error}");
        assert!(Seal::new(ONE, [&b"short"[..]]).is_err());
    }

    #[test]
    fn an_id_fits_into_a_header() {
        let much = agreed(json!({"experimental": "x".repeat(4000)}), None);
        assert_eq!(seal(ONE, &[]).seal("abc", &much), None);
    }

    proptest! {
        #[test]
        fn nobody_else_can_make_one(id in ".{0,200}") {
            prop_assert_eq!(seal(ONE, &[]).open(&id), None);
        }

        #[test]
        fn nothing_of_it_can_be_changed(at in 0_usize..120, to in "[A-Za-z0-9_-]") {
            let id = seal(ONE, &[]).seal("abc", &claims()).unwrap();
            let at = at % id.len();
            let changed = format!("{}{to}{}", &id[..at], &id[at + 1..]);
            prop_assume!(changed != id);
            prop_assert_eq!(seal(ONE, &[]).open(&changed), None);
        }
    }
}
