//! Idempotency keys across the cluster.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use switchboard_toolcall::CallId;
use switchboard_toolcall::text::hex;

use crate::{Bucket, Cluster, Error, Purpose, wire};

/// The call that a key was used for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct KeyEntry {
    call: CallId,
    /// Hash of the tool and the arguments.
    fingerprint: String,
}

/// The outcome of claiming a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyClaim {
    /// The key is new: it belongs to this call now.
    First,
    /// It was used for the same call.
    Earlier(CallId),
    /// It was used for another call.
    Other,
}

/// Claims `key` for `call`, unless it was used before.
pub(crate) async fn claim(
    cluster: &Cluster,
    caller: Option<&str>,
    key: &str,
    call: CallId,
    fingerprint: [u8; 32],
) -> Result<KeyClaim, Error> {
    let name = name(caller, key);
    let store = cluster.bucket_of(Bucket::Keys, &name).await?;
    let mine = KeyEntry { call, fingerprint: hex(&fingerprint) };
    let (signer, purpose) = (cluster.signer(), Purpose::Entry(Bucket::Keys));
    let value = signer.write(purpose, &[&name], &mine)?;
    let created = store.create(&name, value).await;
    if let Ok(Some(_)) = created {
        return Ok(KeyClaim::First);
    }
    // If creating fails, the entry exists; or it was created and only the confirmation was lost.
    let refused = || Error::refused("look up an idempotency key");
    let entry = store.get(&name).await.map_err(refused())?;
    let missing = || created.err().unwrap_or_else(|| "it is not there yet".into());
    let value = entry.and_then(|entry| entry.value).ok_or_else(|| refused()(missing()))?;
    let opened = signer.open(purpose, &[&name], &value);
    let opened = opened.inspect_err(|error| signer.refused(purpose, &name, error))?;
    let found: KeyEntry = wire::read("an idempotency key's entry", &opened.body)?;
    Ok(match found {
        found if found == mine => KeyClaim::First,
        found if found.fingerprint == mine.fingerprint => KeyClaim::Earlier(found.call),
        _ => KeyClaim::Other,
    })
}

/// Keys are separate for each caller.
fn name(caller: Option<&str>, key: &str) -> String {
    let mut hasher = Sha256::new();
    hasher.update([u8::from(caller.is_some())]);
    hasher.update(caller.unwrap_or_default().as_bytes());
    hasher.update([0]);
    hasher.update(key.as_bytes());
    format!("job.{}", hex(&hasher.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_callers_stay_apart() {
        let names = [name(None, "k"), name(Some(""), "k"), name(Some("a"), "k"), name(None, "ak")];
        for (place, one) in names.iter().enumerate() {
            assert!(!names[place + 1..].contains(one));
        }
    }
}
