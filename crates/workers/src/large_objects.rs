//! Values that are too large for a message: stored as objects, named in the message, deleted by the reader.

use bytes::Bytes;
use tokio::task::yield_now;
use ulid::Ulid;

use crate::{Cluster, Error, Purpose};

/// The overhead of a message.
const MARGIN: usize = 16 * 1024;

impl Cluster {
    /// Returns whether so many bytes are too many for a message.
    pub fn is_large(&self, bytes: usize) -> bool {
        bytes.saturating_add(MARGIN) > self.max_payload()
    }

    /// Stores bytes. Returns the object's name.
    ///
    /// # Errors
    /// NATS cannot be reached, or does not take them.
    pub async fn lay_down(&self, bytes: &Bytes) -> Result<String, Error> {
        let name = Ulid::generate().to_string();
        let refused = Error::refused("keep what is too large for a message");
        let bytes = self.signer().sign(Purpose::Large, &[&name], bytes);
        self.objects().put(&name, bytes).await.map_err(refused)?;
        Ok(name)
    }

    /// Returns the bytes of an object.
    ///
    /// # Errors
    /// NATS cannot be reached, there is no such object, or it is not signed by a node of this cluster.
    pub async fn pick_up(&self, name: &str) -> Result<Bytes, Error> {
        let refused = Error::refused("give back what was too large for a message");
        let bytes = self.objects().get(name).await.map_err(refused)?;
        // Parsing so much takes a while, and must not block the connection.
        yield_now().await;
        let opened = self.signer().open(Purpose::Large, &[name], &bytes);
        let refused = |error: &Error| self.signer().refused(Purpose::Large, name, error);
        opened.inspect_err(refused).map(|opened| opened.body)
    }

    /// Deletes an object; if that fails, it expires after a week.
    pub async fn take_away(&self, name: &str) {
        if let Err(error) = self.objects().delete(name).await {
            tracing::debug!("`{name}` stays in the object store: {error}");
        }
    }
}
