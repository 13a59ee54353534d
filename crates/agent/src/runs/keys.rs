//! Keys under which clients repeat requests: one small file each, which names the run of the request (SPEC RN-2).

use std::{
    fmt::Write as _,
    fs,
    io::{self, Write},
    path::PathBuf,
    time::{Duration, SystemTime},
};

use serde_json::Value;
use sha2::{Digest, Sha256};
use switchboard_runtime::private_files;
use switchboard_toolcall::{CallId, numbers};

use super::{RunError, RunStore, failed};

/// A client's key for a request, and the request. Neither can be read back from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestKey {
    /// Names the file: the client and its key.
    name: String,
    /// Tells the request from others.
    fingerprint: String,
}

/// Whose request a key stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestClaim {
    /// This one's, which is new: it is to be run under this id.
    New(CallId),
    /// This one's, which is or was run under this id.
    Known(CallId),
    /// Another one's.
    Conflict,
}

impl RequestKey {
    /// The key that `client` sent along with a request.
    pub fn new(client: &str, key: &str, request: &Value) -> Self {
        let name = hash(&[client.as_bytes(), key.as_bytes()]);
        let fingerprint = hash(&[numbers::canonical(request).to_string().as_bytes()]);
        Self { name, fingerprint }
    }

    /// Returns a text that no other key of any client has.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl RunStore {
    /// Returns whose request the key stands for; claims the key if nobody has it.
    ///
    /// # Errors
    /// The file of the key cannot be read or written.
    pub fn claim(&self, key: &RequestKey) -> Result<RequestClaim, RunError> {
        if let Some(claim) = self.known(key)? {
            return Ok(claim);
        }
        let (id, path) = (CallId::generate(), self.key_file(key));
        let write = || {
            let new = self.write_new(key, id)?;
            // A second process fails here, and never reads half a file.
            let linked = fs::hard_link(&new, &path);
            fs::remove_file(&new)?;
            linked.and_then(|()| self.sync_keys())
        };
        match write() {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Ok(self.known(key)?.unwrap_or(RequestClaim::Conflict))
            }
            written => {
                written.map_err(failed("write", &path))?;
                Ok(RequestClaim::New(id))
            }
        }
    }

    /// Lets the key stand for a new run of the same request, because the earlier one failed before it did anything.
    ///
    /// # Errors
    /// The file of the key cannot be written.
    pub fn renew(&self, key: &RequestKey) -> Result<CallId, RunError> {
        let (id, path) = (CallId::generate(), self.key_file(key));
        let renewed = self.write_new(key, id).and_then(|new| fs::rename(new, &path));
        let renewed = renewed.and_then(|()| self.sync_keys());
        renewed.map_err(failed("write", &path))?;
        Ok(id)
    }

    /// Writes what becomes the file of a key.
    fn write_new(&self, key: &RequestKey, id: CallId) -> io::Result<PathBuf> {
        private_files::create_dir(&self.keys())?;
        let new = self.key_file(key).with_extension(id.to_string());
        let mut file = private_files::create(&new)?;
        file.write_all(format!("{id} {}\n", key.fingerprint).as_bytes())?;
        if self.syncs {
            file.sync_all()?;
        }
        Ok(new)
    }

    /// Waits until the names of the keys have reached the disk, if they must.
    fn sync_keys(&self) -> io::Result<()> {
        match self.syncs {
            true => fs::File::open(self.keys())?.sync_all(),
            false => Ok(()),
        }
    }

    /// Returns whose request the key stands for; `None` if nobody has it.
    ///
    /// # Errors
    /// The file of the key cannot be read.
    pub fn known(&self, key: &RequestKey) -> Result<Option<RequestClaim>, RunError> {
        let path = self.key_file(key);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(failed("read", &path))?,
        };
        let (id, fingerprint) = text.trim_end().split_once(' ').unwrap_or_default();
        Ok(Some(match CallId::parse(id) {
            Some(id) if fingerprint == key.fingerprint => RequestClaim::Known(id),
            _ => RequestClaim::Conflict,
        }))
    }

    fn keys(&self) -> PathBuf {
        self.folder.join("keys")
    }

    fn key_file(&self, key: &RequestKey) -> PathBuf {
        self.keys().join(&key.name)
    }

    /// Removes keys that were claimed longer than `age` ago.
    pub(super) fn forget_keys(&self, age: Duration) -> Result<(), RunError> {
        let folder = self.keys();
        let files = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            files => files.map_err(failed("read", &folder))?,
        };
        let limit = SystemTime::now().checked_sub(age);
        for file in files.flatten() {
            let written = file.metadata().and_then(|about| about.modified()).ok();
            if written.zip(limit).is_some_and(|(written, limit)| written < limit) {
                // Somebody else may have removed it.
                _ = fs::remove_file(file.path());
            }
        }
        Ok(())
    }
}

/// Returns half of a SHA-256 of these parts, in hex.
pub(super) fn hash(parts: &[&[u8]]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let mut text = String::with_capacity(32);
    for byte in &hasher.finalize()[..16] {
        // Writing to a string cannot fail.
        _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // RN-2
    #[test]
    fn a_key_stands_for_one_request_of_one_client() {
        let folder = tempfile::tempdir().unwrap();
        let store = RunStore::within(folder.path());
        let key = |client, key, number| RequestKey::new(client, key, &json!({"n": number}));
        let RequestClaim::New(id) = store.claim(&key("ada", "k", 1)).unwrap() else { panic!() };
        assert_eq!(store.claim(&key("ada", "k", 1)).unwrap(), RequestClaim::Known(id));
        assert_eq!(store.claim(&key("ada", "k", 2)).unwrap(), RequestClaim::Conflict);
        assert!(matches!(store.claim(&key("bob", "k", 1)).unwrap(), RequestClaim::New(_)));
        assert!(matches!(store.claim(&key("ada", "l", 1)).unwrap(), RequestClaim::New(_)));
        let renewed = store.renew(&key("ada", "k", 1)).unwrap();
        assert_eq!(store.claim(&key("ada", "k", 1)).unwrap(), RequestClaim::Known(renewed));
        store.forget_keys(Duration::ZERO).unwrap();
        assert!(matches!(store.claim(&key("ada", "k", 2)).unwrap(), RequestClaim::New(_)));
    }
}
