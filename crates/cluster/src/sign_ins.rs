//! Sign-ins of the console: a session that was opened at one gateway is valid at all.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_workers::{Bucket, Cluster, wire};

use crate::{Error, mirror::Mirror};

/// The open sessions.
pub(crate) struct SignIns(Arc<Mirror>);

/// A stored session.
#[derive(Serialize, Deserialize)]
struct StoredSession {
    session: Value,
    until: Timestamp,
}

impl SignIns {
    pub(crate) fn new(cluster: &Cluster) -> Self {
        Self(Mirror::new(cluster, Bucket::Sessions))
    }

    pub(crate) fn mirror(&self) -> &Arc<Mirror> {
        &self.0
    }

    pub(crate) async fn keep(
        &self,
        key: &str,
        session: Value,
        life: Duration,
    ) -> Result<(), Error> {
        let until = Timestamp::now().saturating_add(life).unwrap_or(Timestamp::MAX);
        self.0.put(&place(key), &StoredSession { session, until }).await
    }

    pub(crate) async fn find(&self, key: &str) -> Option<Value> {
        let key = place(key);
        let found: StoredSession = match self.0.get(&key) {
            Some(found) => found,
            // It may be too new for the mirror.
            None => serde_json::from_slice(&self.0.fetch(&key).await.ok()??).ok()?,
        };
        (found.until > Timestamp::now() && !found.session.is_null()).then_some(found.session)
    }

    pub(crate) async fn end(&self, key: &str) -> Result<(), Error> {
        let key = place(key);
        if !self.0.is_signed() {
            return self.0.remove(&key).await;
        }
        let Some(found) = self.0.fetch(&key).await? else { return Ok(()) };
        let StoredSession { until, .. } = wire::read("a session", &found)?;
        // A deleted entry could be restored by anyone who has seen it; this one stays until the session would have expired.
        self.0.put(&key, &StoredSession { session: Value::Null, until }).await
    }

    /// Removes expired sessions.
    pub(crate) async fn sweep(&self) -> Result<(), Error> {
        let now = Timestamp::now();
        for (key, session) in self.0.all::<StoredSession>("console.") {
            if session.until < now {
                self.0.erase(&key).await?;
            }
        }
        Ok(())
    }
}

fn place(key: &str) -> String {
    format!("console.{key}")
}
