//! The issuer's public keys: from a file that is read again when it changes, or from a URL that is requested again if a
//! key is unknown. If that fails, the known keys stay.

mod fetch;
mod set;

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
    time::{Duration, SystemTime},
};

use jsonwebtoken::Header;
use tokio::{sync::Mutex, time::Instant};

use super::JwtConfig;
use crate::Rejection;
use fetch::KeySetUrl;
pub(crate) use fetch::guarded;
use set::VerifyingKey;

/// How long the state of a file is cached.
const FRESH: Duration = Duration::from_secs(1);

/// The known keys.
pub(super) struct JwtKeys {
    source: JwtKeySource,
    known: RwLock<CachedKeys>,
    /// Locked during a request, so that concurrent callers share it.
    asking: Mutex<()>,
    keep: Duration,
    pause: Duration,
}

enum JwtKeySource {
    File(PathBuf),
    Address(KeySetUrl),
}

#[derive(Default)]
struct CachedKeys {
    keys: Arc<[VerifyingKey]>,
    /// Increments with each change.
    generation: u64,
    /// The file's state when it was read.
    stamp: Option<(SystemTime, u64)>,
    looked: Option<Instant>,
}

/// Why there are no keys.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeysError {
    /// The file cannot be read.
    #[error("failed to read the keys in `{}`", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// The URL is invalid.
    #[error("`[serve.jwt] jwks`: `{address}` {reason}")]
    Address {
        /// The URL.
        address: String,
        /// What is wrong with it.
        reason: String,
    },
    /// It is not a key set.
    #[error("the keys in `{from}` cannot be used: {reason}")]
    Format {
        /// Where it was read.
        from: String,
        /// What is wrong.
        reason: String,
    },
}

impl JwtKeys {
    /// Opens the configured source; a file is read at once.
    pub(super) fn open(config: &JwtConfig) -> Result<Self, KeysError> {
        let source = match config.jwks.as_deref() {
            None => JwtKeySource::Address(KeySetUrl::of_issuer(&config.issuer)?),
            Some(place) if place.contains("://") => {
                JwtKeySource::Address(KeySetUrl::of_keys(place)?)
            }
            Some(file) => JwtKeySource::File(PathBuf::from(file)),
        };
        let (keep, pause) = (config.keep_keys.0, config.look_pause.0);
        let keys = Self { source, known: RwLock::default(), asking: Mutex::default(), keep, pause };
        if let JwtKeySource::File(path) = &keys.source {
            keys.read(path)?;
        }
        Ok(keys)
    }

    /// Checks for newer keys, without waiting for a request. Returns the version of the keys.
    pub(super) fn refresh(self: &Arc<Self>) -> u64 {
        let (looked, generation) = {
            let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
            (known.looked, known.generation)
        };
        let is_older = |age| looked.is_none_or(|looked| looked.elapsed() >= age);
        match &self.source {
            JwtKeySource::File(path) if is_older(FRESH) => {
                if let Err(error) = self.read(path) {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(error, "the issuer's keys stay as they were");
                }
                self.known.read().unwrap_or_else(PoisonError::into_inner).generation
            }
            JwtKeySource::Address(address)
                if looked.is_some() && is_older(self.keep.max(self.pause)) =>
            {
                let (keys, address) = (self.clone(), address.clone());
                tokio::spawn(async move { keys.ask(&address).await });
                generation
            }
            _ => generation,
        }
    }

    /// Returns the keys that may have signed a token with this header, and their version.
    ///
    /// # Errors
    /// There are no keys at all, because the URL does not respond.
    pub(super) async fn matching(
        &self,
        header: &Header,
    ) -> Result<(Vec<VerifyingKey>, u64), Rejection> {
        let found = self.known_for(header);
        let JwtKeySource::Address(address) = &self.source else { return Ok(found) };
        if !found.0.is_empty() {
            return Ok(found);
        }
        self.ask(address).await;
        match self.known.read().unwrap_or_else(PoisonError::into_inner).keys.is_empty() {
            true => Err(Rejection::Unavailable(
                "the issuer's keys cannot be had now; the token cannot be checked".to_owned(),
            )),
            false => Ok(self.known_for(header)),
        }
    }

    fn known_for(&self, header: &Header) -> (Vec<VerifyingKey>, u64) {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let fitting = known.keys.iter().filter(|key| key.fits(header)).cloned().collect();
        (fitting, known.generation)
    }

    /// Requests the URL, unless that was done just now.
    async fn ask(&self, address: &KeySetUrl) {
        let _asking = self.asking.lock().await;
        let looked = self.known.read().unwrap_or_else(PoisonError::into_inner).looked;
        if looked.is_some_and(|looked| looked.elapsed() < self.pause) {
            return;
        }
        let outcome = address.fetch().await.and_then(|text| set::keys(address.url(), &text));
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.looked = Some(Instant::now());
        match outcome {
            Ok(keys) => known.take(keys),
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "the issuer's keys stay as they were");
            }
        }
    }

    fn read(&self, path: &Path) -> Result<(), KeysError> {
        let stamp = fs::metadata(path).and_then(|data| Ok((data.modified()?, data.len()))).ok();
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.looked = Some(Instant::now());
        if stamp.is_some() && known.stamp == stamp {
            return Ok(());
        }
        let failed = |source| KeysError::File { path: path.to_owned(), source };
        let text = fs::read(path).map_err(failed)?;
        let keys = set::keys(&path.display().to_string(), &text)?;
        known.stamp = stamp;
        known.take(keys);
        Ok(())
    }
}

impl CachedKeys {
    fn take(&mut self, keys: Vec<VerifyingKey>) {
        self.keys = keys.into();
        self.generation += 1;
    }
}
