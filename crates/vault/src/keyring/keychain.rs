//! The macOS Keychain.

use security_framework::{
    base::Error,
    os::macos::keychain::SecKeychain,
    passwords::{delete_generic_password, get_generic_password, set_generic_password},
};

use super::{Keyring, KeyringError, SystemKeyring};
use crate::secret::Secret;

const SERVICE: &str = "switchboard";

/// `errSecItemNotFound`
const NOT_FOUND: i32 = -25300;
/// `errSecInteractionNotAllowed` and `errSecAuthFailed`: it would have to ask.
const WOULD_ASK: [i32; 2] = [-25308, -25293];

impl Keyring for SystemKeyring {
    fn get(&self) -> Result<Option<Secret>, KeyringError> {
        match quietly(|| get_generic_password(SERVICE, &self.vault))? {
            None => Ok(None),
            Some(bytes) => {
                let text = String::from_utf8(bytes);
                text.map(|text| Some(text.into()))
                    .map_err(|_| KeyringError::Absent("the key in the Keychain is not text".into()))
            }
        }
    }

    fn set(&self, secret: &Secret) -> Result<(), KeyringError> {
        let bytes = secret.expose().as_bytes();
        quietly(|| set_generic_password(SERVICE, &self.vault, bytes)).map(drop)
    }

    fn remove(&self) -> Result<(), KeyringError> {
        quietly(|| delete_generic_password(SERVICE, &self.vault)).map(drop)
    }
}

/// Does something without a dialog; returns `None` if the item is missing.
fn quietly<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<Option<T>, KeyringError> {
    let _no_dialogs = SecKeychain::disable_user_interaction();
    match work() {
        Ok(done) => Ok(Some(done)),
        Err(error) if error.code() == NOT_FOUND => Ok(None),
        Err(error) if WOULD_ASK.contains(&error.code()) => Err(KeyringError::Locked),
        Err(error) => Err(KeyringError::Absent(error.to_string())),
    }
}
