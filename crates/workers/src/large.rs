//! What is too large for a message: laid into the object store, named in the message, taken away by who reads it.

use bytes::Bytes;
use tokio::task::yield_now;
use ulid::Ulid;

use crate::{Cluster, Error, Purpose};

/// What a message needs beside what it carries.
const MARGIN: usize = 16 * 1024;

impl Cluster {
    /// Whether so many bytes are too many for a message.
    pub(crate) fn is_large(&self, bytes: usize) -> bool {
        bytes.saturating_add(MARGIN) > self.max_payload()
    }

    /// Lays bytes down, and says where.
    pub(crate) async fn lay_down(&self, bytes: &Bytes) -> Result<String, Error> {
        let name = Ulid::generate().to_string();
        let refused = Error::refused("keep what is too large for a message");
        let bytes = self.signer().sign(Purpose::Large, &[&name], bytes);
        self.objects().put(&name, bytes).await.map_err(refused)?;
        Ok(name)
    }

    /// What was laid down there.
    pub(crate) async fn pick_up(&self, name: &str) -> Result<Bytes, Error> {
        let refused = Error::refused("give back what was too large for a message");
        let bytes = self.objects().get(name).await.map_err(refused)?;
        // So much takes a while to be understood, and the connection must not wait for its turn behind that.
        yield_now().await;
        let opened = self.signer().open(Purpose::Large, &[name], &bytes);
        let refused = |error: &Error| self.signer().refused(Purpose::Large, name, error);
        opened.inspect_err(refused).map(|opened| opened.body)
    }

    /// Takes away what was laid down there; what stays because that fails goes by itself after a week.
    pub(crate) async fn take_away(&self, name: &str) {
        if let Err(error) = self.objects().delete(name).await {
            tracing::debug!("`{name}` stays in the object store: {error}");
        }
    }
}
