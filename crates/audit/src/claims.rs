//! Idempotency keys: one small file for each, so that a process that starts for one call needs no database.
//!
//! They are read and written under the store's lock. Whether a call ended is never written here: the journal knows.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use switchboard_runtime::record::Claim;
use switchboard_toolcall::CallId;

use crate::{
    artifacts,
    chain::hex,
    error::Error,
    layout::{Layout, StoreLock, create_folder},
    line::microseconds,
};

/// The content of a claim's file.
#[derive(Serialize, Deserialize)]
pub(crate) struct ClaimFile {
    pub(crate) id: CallId,
    fingerprint: String,
    /// When the key expires, in microseconds since 1970.
    until: u64,
}

impl ClaimFile {
    /// Returns whether the claim is for the same call.
    pub(crate) fn is_same(&self, claim: &Claim) -> bool {
        self.fingerprint.as_bytes() == hex(claim.fingerprint)
    }
}

/// Claims the key for the call, or returns the existing claim.
pub(crate) fn take(
    layout: &Layout,
    claim: &Claim,
    _held: &StoreLock,
) -> Result<Option<ClaimFile>, Error> {
    let path = file(layout, claim);
    let now = microseconds(SystemTime::now());
    let earlier = match fs::read(&path) {
        // A file that cannot be parsed is not a claim: claims are written atomically.
        Ok(text) => serde_json::from_slice::<ClaimFile>(&text).ok(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(Error::file("read", &path)(error)),
    };
    if let Some(earlier) = earlier.filter(|earlier| earlier.until > now) {
        return Ok(Some(earlier));
    }
    create_folder(&layout.claims())?;
    let within = u64::try_from(claim.within.as_micros()).unwrap_or(u64::MAX);
    let fingerprint = String::from_utf8_lossy(&hex(claim.fingerprint)).into_owned();
    let claimant = ClaimFile { id: claim.id, fingerprint, until: now.saturating_add(within) };
    let text = serde_json::to_vec(&claimant).unwrap_or_default();
    artifacts::write(&path, &[&text]).map_err(Error::file("write", &path))?;
    Ok(None)
}

/// Releases the key, if the call still has it.
pub(crate) fn release(layout: &Layout, claim: &Claim, _held: &StoreLock) -> Result<(), Error> {
    let path = file(layout, claim);
    let has_it = |text: Vec<u8>| {
        serde_json::from_slice::<ClaimFile>(&text).is_ok_and(|claimant| claimant.id == claim.id)
    };
    if fs::read(&path).is_ok_and(has_it) {
        fs::remove_file(&path).map_err(Error::file("remove", &path))?;
    }
    Ok(())
}

/// Removes expired claims.
pub(crate) fn collect(layout: &Layout) -> Result<(), Error> {
    for file in fs::read_dir(layout.claims()).into_iter().flatten().flatten() {
        let path = file.path();
        if is_over(&path) {
            // Checked again under the lock: another process may just have claimed the key.
            let _guard = layout.lock()?;
            if is_over(&path) {
                _ = fs::remove_file(&path);
            }
        }
    }
    Ok(())
}

fn is_over(path: &Path) -> bool {
    let claimant = fs::read(path).map(|text| serde_json::from_slice::<ClaimFile>(&text));
    match claimant {
        Ok(Ok(claimant)) => claimant.until <= microseconds(SystemTime::now()),
        // A dying process left it half-written.
        Ok(Err(_)) => fs::metadata(path).and_then(|file| file.modified()).is_ok_and(|modified| {
            modified.elapsed().is_ok_and(|age| age > Duration::from_secs(3600))
        }),
        Err(_) => false,
    }
}

fn file(layout: &Layout, claim: &Claim) -> PathBuf {
    let mut hasher = Sha256::new();
    hasher.update(claim.caller.as_deref().unwrap_or_default().as_bytes());
    hasher.update([0, u8::from(claim.caller.is_some())]);
    hasher.update(claim.key.as_bytes());
    let digest = hex(hasher.finalize().into());
    layout.claims().join(String::from_utf8_lossy(&digest).as_ref())
}
