//! One vault: read, changed and sealed again under a lock.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use ring::digest;
use zeroize::Zeroizing;

use super::{
    contents::Contents,
    files::{self, VaultLock},
    key::{Key, KeyPlace, Keys},
    keyring::{Keyring, KeyringError},
    sealed::{OpenError, SealedFile},
    secret::Secret,
};

/// The vault of one user.
#[derive(Clone, Debug)]
pub struct Vault {
    folder: PathBuf,
    keyring: Arc<dyn Keyring>,
}

/// Why a vault cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file of it cannot be read or written.
    #[error("failed to use the vault's file `{}`", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        #[source]
        cause: io::Error,
    },
    /// The file does not open.
    #[error("the vault `{}` cannot be opened: {problem}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The key is in a keyring that does not hand it out.
    #[error(
        "the vault's key is in the system's keyring, and {0}; unlock it in the desktop session, or there run \
         `switchboard secret rotate --key file` to keep the key in a file"
    )]
    Keyring(#[source] KeyringError),
    /// The key is gone.
    #[error(
        "the key of the vault `{}` is not in {place}; without it nothing in the vault can be read. Move the vault away to \
         start a new one", path.display()
    )]
    NoKey {
        /// The vault's file.
        path: PathBuf,
        /// Where the key should be.
        place: String,
    },
    /// The system has no randomness.
    #[error("the system has no random numbers")]
    Random,
}

impl Vault {
    /// The vault in this folder. Nothing is read or created yet.
    pub fn new(folder: PathBuf, keyring: Arc<dyn Keyring>) -> Self {
        Self { folder, keyring }
    }

    /// Returns a secret; `None` if there is none of this kind and name.
    ///
    /// # Errors
    /// The vault cannot be opened.
    pub fn get(&self, kind: &str, name: &str) -> Result<Option<Secret>, Error> {
        Ok(self.open()?.and_then(|open| open.contents.get(kind, name).cloned()))
    }

    /// Returns the names of all secrets of a kind, in order.
    ///
    /// # Errors
    /// The vault cannot be opened.
    pub fn names(&self, kind: &str) -> Result<Vec<String>, Error> {
        Ok(self.open()?.map(|open| open.contents.names(kind)).unwrap_or_default())
    }

    /// Stores a secret, in place of one that is there. The first one creates the vault.
    ///
    /// # Errors
    /// The vault cannot be opened or written.
    pub fn set(&self, kind: &str, name: &str, secret: Secret) -> Result<(), Error> {
        self.change(|contents| contents.set(kind, name, secret)).map(drop)
    }

    /// Removes a secret and returns whether it was there.
    ///
    /// # Errors
    /// The vault cannot be opened or written.
    pub fn remove(&self, kind: &str, name: &str) -> Result<bool, Error> {
        if !self.file().exists() {
            return Ok(false);
        }
        self.change(|contents| contents.remove(kind, name))
    }

    /// Returns where the key is; `None` if there is no vault yet.
    ///
    /// # Errors
    /// The vault's file cannot be read.
    pub fn key_place(&self) -> Result<Option<KeyPlace>, Error> {
        Ok(self.read()?.map(|sealed| sealed.key))
    }

    /// Seals the vault with a new key, which is kept in `place`, by default where the old one was. Killed at any point,
    /// the vault still opens.
    ///
    /// # Errors
    /// The vault cannot be opened or written, or there is no such place.
    pub fn rotate(&self, place: Option<KeyPlace>) -> Result<KeyPlace, Error> {
        let _lock = self.lock_file()?;
        let old = self.open()?;
        let new = Key::new().map_err(|_| Error::Random)?;
        let place = place.or(old.as_ref().map(|old| old.place));
        let Some(old) = old else {
            return self.create(&Contents::default(), &new, place);
        };
        let place = place.unwrap_or(old.place);
        let both = match place == old.place {
            true => Keys(vec![new.clone(), old.key]),
            false => Keys(vec![new.clone()]),
        };
        self.store_keys(place, &both)?;
        self.write(&old.contents, &new, place)?;
        self.store_keys(place, &Keys(vec![new]))?;
        if place != old.place {
            self.remove_keys(old.place)?;
        }
        Ok(place)
    }

    /// Waits until no other process holds the lock of this name, and holds it until it is dropped. For work on one secret
    /// that must not be done twice, such as using up a refresh token.
    ///
    /// # Errors
    /// The lock's file cannot be created.
    pub fn lock(&self, name: &str) -> Result<VaultLock, Error> {
        let digest = digest::digest(&digest::SHA256, name.as_bytes());
        let short: String = digest.as_ref()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        self.lock_at(self.folder.join(format!("{short}.lock")))
    }

    fn change(&self, change: impl FnOnce(&mut Contents) -> bool) -> Result<bool, Error> {
        let _lock = self.lock_file()?;
        let mut open = self.open()?;
        let mut contents =
            open.as_mut().map(|open| std::mem::take(&mut open.contents)).unwrap_or_default();
        let is_changed = change(&mut contents);
        match open {
            Some(_) if !is_changed => {}
            Some(open) => self.write(&contents, &open.key, open.place)?,
            None => {
                let key = Key::new().map_err(|_| Error::Random)?;
                self.create(&contents, &key, None)?;
            }
        }
        Ok(is_changed)
    }

    /// Creates the vault. Unless a place is named, the key is in the keyring if that answers, else in a file.
    fn create(
        &self,
        contents: &Contents,
        key: &Key,
        place: Option<KeyPlace>,
    ) -> Result<KeyPlace, Error> {
        let keys = Keys(vec![key.clone()]);
        let place = match place {
            Some(place) => {
                self.store_keys(place, &keys)?;
                place
            }
            None => match self.store_keys(KeyPlace::Keyring, &keys) {
                Ok(()) => KeyPlace::Keyring,
                Err(reason) => {
                    let reason = match reason {
                        Error::Keyring(reason) => reason.to_string(),
                        other => other.to_string(),
                    };
                    tracing::info!("the vault's key is kept in a file: {reason}");
                    self.store_keys(KeyPlace::File, &keys)?;
                    KeyPlace::File
                }
            },
        };
        self.write(contents, key, place)?;
        Ok(place)
    }

    fn write(&self, contents: &Contents, key: &Key, place: KeyPlace) -> Result<(), Error> {
        let path = self.file();
        let damaged = |problem: String| Error::Damaged { path: path.clone(), problem };
        let bytes = contents.to_bytes().map_err(|error| damaged(error.to_string()))?;
        let sealed = SealedFile::seal(&bytes, key, place).map_err(|_| Error::Random)?;
        let text = serde_json::to_vec(&sealed).map_err(|error| damaged(error.to_string()))?;
        files::replace(&path, &text).map_err(at(&path))
    }

    fn read(&self) -> Result<Option<SealedFile>, Error> {
        let path = self.file();
        let Some(text) = files::read(&path).map_err(at(&path))? else { return Ok(None) };
        let read = SealedFile::parse(&text);
        read.map(Some).map_err(|problem| Error::Damaged { path, problem: problem.to_string() })
    }

    fn open(&self) -> Result<Option<OpenVault>, Error> {
        let mut problem = OpenError::Key;
        // A rotation meanwhile replaces the key first, then the vault, then the key again: read again what does not fit.
        for _ in 0..3 {
            let Some(sealed) = self.read()? else { return Ok(None) };
            let keys = self.load_keys(sealed.key)?;
            let Some(key) = keys.get(&sealed.key_id) else { continue };
            match sealed.open(key) {
                Ok(bytes) => {
                    let contents = Contents::from_bytes(&bytes);
                    let (path, place) = (self.file(), sealed.key);
                    let contents = contents
                        .map_err(|error| Error::Damaged { path, problem: error.to_string() })?;
                    return Ok(Some(OpenVault { contents, key: key.clone(), place }));
                }
                Err(other) => problem = other,
            }
        }
        Err(Error::Damaged { path: self.file(), problem: problem.to_string() })
    }

    fn load_keys(&self, place: KeyPlace) -> Result<Keys, Error> {
        let missing = |place: String| Error::NoKey { path: self.file(), place };
        match place {
            KeyPlace::Keyring => {
                let text = self.keyring.get().map_err(Error::Keyring)?;
                text.and_then(|text| Keys::from_text(text.expose()))
                    .ok_or_else(|| missing("the system's keyring".to_owned()))
            }
            KeyPlace::File => {
                let path = self.key_file();
                let bytes = files::read(&path).map_err(at(&path))?;
                let text = bytes
                    .and_then(|bytes| String::from_utf8(bytes.to_vec()).ok())
                    .map(Zeroizing::new);
                text.and_then(|text| Keys::from_text(&text))
                    .ok_or_else(|| missing(format!("`{}`", path.display())))
            }
        }
    }

    fn store_keys(&self, place: KeyPlace, keys: &Keys) -> Result<(), Error> {
        let text = keys.to_text();
        match place {
            KeyPlace::Keyring => {
                self.keyring.set(&Secret::from(text.as_str())).map_err(Error::Keyring)
            }
            KeyPlace::File => {
                let path = self.key_file();
                files::replace(&path, text.as_bytes()).map_err(at(&path))
            }
        }
    }

    fn remove_keys(&self, place: KeyPlace) -> Result<(), Error> {
        match place {
            KeyPlace::Keyring => self.keyring.remove().map_err(Error::Keyring),
            KeyPlace::File => {
                let path = self.key_file();
                files::remove(&path).map_err(at(&path))
            }
        }
    }

    fn lock_file(&self) -> Result<VaultLock, Error> {
        self.lock_at(self.folder.join("vault.lock"))
    }

    fn lock_at(&self, path: PathBuf) -> Result<VaultLock, Error> {
        files::create_folder(&self.folder).map_err(at(&self.folder))?;
        files::lock(&path).map_err(at(&path))
    }

    fn file(&self) -> PathBuf {
        self.folder.join("vault.json")
    }

    fn key_file(&self) -> PathBuf {
        self.folder.join("vault.key")
    }
}

/// A decrypted vault with what it was sealed with.
struct OpenVault {
    contents: Contents,
    key: Key,
    place: KeyPlace,
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    |cause| Error::File { path, cause }
}
