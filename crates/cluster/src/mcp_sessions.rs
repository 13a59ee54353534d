//! MCP sessions that any gateway can adopt: the secret that seals them, those that ended, and messages between gateways.
//!
//! `mcp.secrets` has the secrets, the newest first; `ended.NAME` is a session that no gateway adopts any more. Messages go to
//! `PREFIX.session.tell`, which all gateways receive, or `PREFIX.session.ask.GATEWAY`, which one gateway answers.

mod secrets;

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use bytes::Bytes;
use futures_util::StreamExt;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use switchboard_mcp_server::{Seal, Server, SessionPeers};
use switchboard_toolcall::{BoxError, BoxFuture};
use switchboard_workers::{
    Cluster, Purpose, names,
    transport::{ClusterMessage, Subscription},
    wire,
};
use tokio::time::{sleep, timeout};

use crate::{
    Error,
    gateways::Gateways,
    mirror::{CreateOutcome, Mirror},
};
use secrets::SECRETS;

pub(crate) use secrets::SessionSecrets;

/// How often it is checked whether older secrets have expired.
const EXPIRY: Duration = Duration::from_secs(10 * 60);
/// How often the presence of a gateway is checked while its reply is awaited.
const LOOK: Duration = Duration::from_secs(2);

/// The other gateways, as an MCP server uses them.
pub(crate) struct ClusterSessions {
    cluster: Cluster,
    gateways: Arc<Gateways>,
    mirror: Arc<Mirror>,
    seal: OnceLock<Arc<Seal>>,
}

/// A session that has ended.
#[derive(Serialize, Deserialize)]
struct EndedSession {
    /// Until when its sealed id would be valid.
    until: Timestamp,
}

/// A message to all gateways.
#[derive(Serialize, Deserialize)]
struct PeerMessage {
    /// The sender.
    from: String,
    session: String,
    /// A client's message; `None` if the session has ended.
    message: Option<String>,
}

impl ClusterSessions {
    pub(crate) fn new(cluster: &Cluster, gateways: Arc<Gateways>, mirror: Arc<Mirror>) -> Self {
        Self { cluster: cluster.clone(), gateways, mirror, seal: OnceLock::new() }
    }

    /// Returns the seal for the sessions of all gateways; the first gateway creates the secret.
    ///
    /// # Errors
    /// Fails if NATS cannot be reached, or the stored secrets are invalid.
    pub(crate) async fn seal(&self) -> Result<Arc<Seal>, Error> {
        let made = self.cluster.signer().secrets("mcp sessions");
        let seal = match made.split_first() {
            // Derived from the key, so that no secret is stored in NATS.
            Some((first, older)) => Seal::new(first, older.iter().map(<[u8; 32]>::as_slice)),
            None => {
                let secrets = self.stored().await?;
                let secrets = secrets.usable(Timestamp::now());
                let secrets = secrets.map_err(|reason| self.refused("read a secret", reason))?;
                let (first, older) = secrets
                    .split_first()
                    .ok_or_else(|| self.refused("read a secret", "the bucket has none".into()))?;
                Seal::new(first, older.iter().map(Vec::as_slice))
            }
        };
        let seal = seal.map_err(|error| self.refused("read a secret", error.into()))?;
        Ok(self.seal.get_or_init(|| Arc::new(seal)).clone())
    }

    /// Returns the stored secrets; makes them if there are none.
    async fn stored(&self) -> Result<SessionSecrets, Error> {
        let new = SessionSecrets::generate().map_err(|error| self.refused("seal", error))?;
        match self.mirror.create(SECRETS, &new).await? {
            CreateOutcome::Now => Ok(new),
            CreateOutcome::Before(known) => Ok(wire::read("a secret for sessions", &known)?),
        }
    }

    /// Seals with the secrets that are stored, whenever they change. Ends only when dropped.
    pub(crate) async fn keep_seal(self: Arc<Self>) {
        if self.cluster.signer().has_key() {
            return;
        }
        let mut changes = self.mirror.changes();
        let mut applied = None;
        loop {
            // Older secrets expire without a change.
            let _ = timeout(EXPIRY, changes.changed()).await;
            let Some(seal) = self.seal.get() else { continue };
            let Some(stored) = self.mirror.get::<SessionSecrets>(SECRETS) else { continue };
            let Ok(secrets) = stored.usable(Timestamp::now()) else { continue };
            if applied.as_ref() == Some(&secrets) {
                continue;
            }
            if let Some((first, older)) = secrets.split_first() {
                let replaced = seal.replace(first, older.iter().map(Vec::as_slice));
                if let Err(error) = replaced {
                    tracing::warn!(%error, "the secret of MCP sessions was not replaced");
                }
                applied = Some(secrets);
            }
        }
    }

    /// Subscribes to messages of other gateways for this server. Messages sent after this has returned are received.
    ///
    /// # Errors
    /// Fails if NATS does not allow the subscription.
    pub(crate) async fn attend(
        &self,
        server: Server,
    ) -> Result<impl Future<Output = ()> + use<>, Error> {
        let own = self.gateways.call(server.name());
        let notices = self.listen(self.cluster.names().subject(&["session", "tell"])).await?;
        let requests = self.listen(self.request_subject(server.name())).await?;
        let cluster = self.cluster.clone();
        let answering = server.clone();
        let answer = requests.for_each(move |message| {
            // A call may take long, and other requests must not wait for it.
            tokio::spawn(answer(cluster.clone(), answering.clone(), message));
            std::future::ready(())
        });
        let cluster = self.cluster.clone();
        let hear = notices.for_each(move |message| {
            if let Some(body) = opened(&cluster, &message) {
                hear(&server, &own, &body);
            }
            std::future::ready(())
        });
        Ok(async move {
            tokio::join!(answer, hear);
        })
    }

    /// Removes old entries.
    ///
    /// # Errors
    /// Fails if NATS cannot be reached.
    pub(crate) async fn sweep(&self) -> Result<(), Error> {
        let now = Timestamp::now();
        for (key, ended) in self.mirror.all::<EndedSession>("ended.") {
            if ended.until < now {
                self.mirror.erase(&key).await?;
            }
        }
        Ok(())
    }

    async fn listen(&self, subject: String) -> Result<Box<dyn Subscription>, Error> {
        let listening = self.cluster.subscribe(subject, None).await;
        listening.map_err(|reason| self.refused("listen to other gateways", reason))
    }

    async fn tell(&self, session: &str, message: Option<&[u8]>) -> Result<(), Error> {
        let message = message.map(|message| String::from_utf8_lossy(message).into_owned());
        let (from, session) = (self.gateways.own().to_owned(), session.to_owned());
        let subject = self.cluster.names().subject(&["session", "tell"]);
        let (signer, told) = (self.cluster.signer(), PeerMessage { from, session, message });
        let told = signer.write(Purpose::Session, &[&subject], &told)?;
        let published = self.cluster.publish(subject, None, told).await;
        published.map_err(|reason| self.refused("tell other gateways", reason))
    }

    /// Returns the subject of requests to the gateway with this name.
    fn request_subject(&self, gateway: &str) -> String {
        self.cluster.names().subject(&["session", "ask", gateway])
    }

    fn refused(&self, what: &'static str, reason: BoxError) -> Error {
        Error::Refused { address: self.cluster.address().to_owned(), what, reason }
    }
}

impl SessionPeers for ClusterSessions {
    fn end<'a>(&'a self, session: &'a str, keep: Duration) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(async move {
            let until = Timestamp::now().saturating_add(keep).unwrap_or(Timestamp::MAX);
            self.mirror.put(&ended(session), &EndedSession { until }).await?;
            Ok(self.tell(session, None).await?)
        })
    }

    fn has_ended<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<bool, BoxError>> {
        Box::pin(async move {
            // It may have ended a moment ago, so the mirror is not enough.
            Ok(self.mirror.fetch(&ended(session)).await?.is_some())
        })
    }

    fn broadcast<'a>(
        &'a self,
        session: &'a str,
        message: Bytes,
    ) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(async move { Ok(self.tell(session, Some(&message)).await?) })
    }

    fn request<'a>(
        &'a self,
        gateway: &'a str,
        request: Bytes,
    ) -> BoxFuture<'a, Result<Bytes, BoxError>> {
        Box::pin(async move {
            // Waits as long as the call takes; meanwhile the presence of the gateway is checked.
            let (signer, subject) = (self.cluster.signer(), self.request_subject(gateway));
            let request = signer.sign(Purpose::Session, &[&subject], &request);
            tokio::select! {
                answer = self.cluster.request(subject, request) => {
                    let ClusterMessage { subject, payload, .. } = answer?;
                    let opened = signer.open(Purpose::SessionReply, &[&subject], &payload);
                    Ok(opened?.body)
                }
                () = self.gone(gateway) => Err("the gateway is gone".into()),
            }
        })
    }
}

impl ClusterSessions {
    /// Waits until the gateway with this name is gone.
    async fn gone(&self, gateway: &str) {
        loop {
            sleep(LOOK).await;
            if !self.gateways.has(gateway) {
                return;
            }
        }
    }
}

/// Answers a request of another gateway.
async fn answer(cluster: Cluster, server: Server, message: ClusterMessage) {
    let Some(body) = opened(&cluster, &message) else { return };
    let answer = server.resume(&body).await;
    let Some(reply) = message.reply else { return };
    let answer = cluster.signer().sign(Purpose::SessionReply, &[&reply], &answer);
    if let Err(error) = cluster.publish(reply, None, answer).await {
        tracing::warn!(%error, "an answer to another gateway is lost");
    }
}

/// Returns a gateway's message, if it is signed by this cluster.
fn opened(cluster: &Cluster, message: &ClusterMessage) -> Option<Bytes> {
    let signer = cluster.signer();
    let opened = signer.open(Purpose::Session, &[&message.subject], &message.payload);
    let refused = |error: &_| signer.refused(Purpose::Session, &message.subject, error);
    opened.inspect_err(refused).ok().map(|opened| opened.body)
}

fn hear(server: &Server, own: &str, payload: &[u8]) {
    match wire::read::<PeerMessage>("what a gateway says", payload) {
        // We receive our own messages too.
        Ok(told) if told.from == own => {}
        Ok(PeerMessage { session, message: Some(message), .. }) => {
            server.deliver(&session, message.as_bytes());
        }
        Ok(PeerMessage { session, message: None, .. }) => server.session_ended(&session),
        Err(error) => tracing::warn!(error = &error as &dyn std::error::Error, "not understood"),
    }
}

fn ended(session: &str) -> String {
    format!("ended.{}", names::token(session))
}
