//! Finds out which era a server speaks, and opens the session.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde_json::{Map, Value, json};
use switchboard_lock::InstanceGate;
use switchboard_mcp_wire::{Era, META, RpcError, ServerRequestHandler, eras, write_request};
use tokio::time::timeout;
use tracing::debug;

use super::{
    config::Protocol,
    inbox::NotificationRouter,
    request_params::{OutgoingParams, ParamsWithMeta, RequestMeta, client_info},
    session::{Session, SessionUsage, read},
    transport::{Failure, Transport, TransportRequest},
};

/// How long a server on stdio has to respond to the probe before the legacy era is tried: some do not respond to methods
/// that they do not know.
pub(crate) const SILENCE: Duration = Duration::from_secs(2);

/// The same for a server that is known to understand the probe, and for HTTP, where every request gets a response: without
/// one yet, the server is slow.
pub(crate) const SLOWNESS: Duration = Duration::from_secs(15);

/// Which message a server gets first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FirstMessage {
    /// `server/discover`, then `initialize` unless the server responds as a modern one.
    Probe,
    /// `initialize`, and `server/discover` if that is refused.
    InitializeFirst,
    /// `initialize`, and nothing else.
    Initialize,
    /// `server/discover`, and nothing else.
    Discover,
}

impl From<Protocol> for FirstMessage {
    fn from(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Auto => Self::Probe,
            Protocol::Legacy => Self::Initialize,
            Protocol::Modern => Self::Discover,
        }
    }
}

/// A transport over which nothing was sent yet.
pub(crate) struct Handshake {
    /// The transport.
    pub transport: Arc<dyn Transport>,
    /// Receives the server's messages.
    pub router: Arc<NotificationRouter>,
    /// Handles the server's requests.
    pub answers: Arc<dyn ServerRequestHandler>,
    /// Holds back what is not in the lock; if `None`, nothing is.
    pub gate: Option<Arc<InstanceGate>>,
    /// How long the server may take to respond to the probe.
    pub patience: Duration,
    /// Tells the transport which era was agreed on, before the first request of that era.
    pub tell: Box<dyn Fn(&Era) + Send + Sync>,
}

impl Handshake {
    /// Opens a session in the era that the server speaks, as far as `first_message` leaves that open.
    ///
    /// # Errors
    /// Fails if the server cannot be reached, or speaks no revision that we do.
    pub(crate) async fn meet(self, first_message: FirstMessage) -> Result<Session, Failure> {
        let ids = Arc::new(AtomicU64::new(1));
        match first_message {
            FirstMessage::Initialize => {
                self.initialize(ids).await.map_err(|refused| refused.failure)
            }
            FirstMessage::InitializeFirst => self.initialize_first(ids).await,
            FirstMessage::Discover => match self.discover(&ids).await? {
                Probe::Modern(result) => Ok(self.modern(ids, &result)),
                Probe::Legacy => {
                    let text = format!("the server does not speak {}", eras::MODERN);
                    Err(Failure::Protocol(text))
                }
            },
            FirstMessage::Probe => self.either(ids).await,
        }
    }

    async fn either(self, ids: Arc<AtomicU64>) -> Result<Session, Failure> {
        let probe = match timeout(self.patience, self.discover(&ids)).await {
            Ok(probe) => probe?,
            Err(_) => {
                debug!("the probe is unanswered; going on with initialize");
                Probe::Legacy
            }
        };
        if let Probe::Modern(result) = probe {
            return Ok(self.modern(ids, &result));
        }
        match self.initialize(ids.clone()).await {
            Ok(session) => Ok(session),
            // It speaks only the modern era after all, and was slow to respond to the probe.
            Err(InitializeRefused { handshake, failure: Failure::Rpc(error) })
                if error.code == RpcError::UNSUPPORTED_VERSION =>
            {
                match handshake.discover(&ids).await? {
                    Probe::Modern(result) => Ok(handshake.modern(ids, &result)),
                    Probe::Legacy => Err(Failure::Rpc(error)),
                }
            }
            Err(refused) => Err(refused.failure),
        }
    }

    /// Opens a session with a server that spoke the legacy era before, or whose process ended after the probe.
    async fn initialize_first(self, ids: Arc<AtomicU64>) -> Result<Session, Failure> {
        match self.initialize(ids.clone()).await {
            Ok(session) => Ok(session),
            Err(InitializeRefused {
                failure: failure @ (Failure::Lost(_) | Failure::SignIn(_) | Failure::NoToken(_)),
                ..
            }) => Err(failure),
            // It may have been replaced by a server that speaks only the modern era.
            Err(InitializeRefused { handshake, failure }) => match handshake.discover(&ids).await {
                Ok(Probe::Modern(result)) => Ok(handshake.modern(ids, &result)),
                Ok(Probe::Legacy) | Err(_) => Err(failure),
            },
        }
    }

    /// Sends `server/discover`, the probe for the modern era.
    async fn discover(&self, ids: &AtomicU64) -> Result<Probe, Failure> {
        let mut retried = false;
        loop {
            let meta = RequestMeta {
                capabilities: Some(self.answers.capabilities()),
                ..RequestMeta::default()
            };
            let nothing = OutgoingParams::Fields(Map::new());
            let params = ParamsWithMeta { meta: &meta, params: &nothing, further: &Map::new() };
            let (id, method) = (ids.fetch_add(1, Ordering::Relaxed), "server/discover");
            let message = write_request(id, method, |json| params.write(json)).into();
            let request =
                TransportRequest { id, method, message, headers: &[], cancellable: false };
            return match self.transport.request(request).await {
                Ok(raw) => Ok(speaks_modern(read(&raw)?)),
                Err(Failure::Rpc(error) | Failure::Http { error: Some(error), .. })
                    if error.code == RpcError::UNSUPPORTED_VERSION
                        && lists_modern(&error)
                        && !retried =>
                {
                    retried = true;
                    continue;
                }
                // The ways in which legacy servers respond to an unknown method.
                Err(
                    Failure::Rpc(_)
                    | Failure::Http { .. }
                    | Failure::SessionExpired
                    | Failure::Protocol(_),
                ) => Ok(Probe::Legacy),
                Err(failure @ (Failure::Lost(_) | Failure::SignIn(_) | Failure::NoToken(_))) => {
                    Err(failure)
                }
            };
        }
    }

    fn modern(self, ids: Arc<AtomicU64>, result: &Value) -> Session {
        let meta = &result["_meta"][format!("{META}serverInfo")];
        let info = if meta.is_null() { &result["serverInfo"] } else { meta };
        (self.tell)(&Era::Modern);
        self.session(ids, Era::Modern, info, result)
    }

    async fn initialize(self, ids: Arc<AtomicU64>) -> Result<Session, InitializeRefused> {
        match self.handshake(&ids).await {
            Ok((era, result)) => {
                let info = result["serverInfo"].clone();
                Ok(self.session(ids, era, &info, &result))
            }
            Err(failure) => Err(InitializeRefused { handshake: self, failure }),
        }
    }

    async fn handshake(&self, ids: &AtomicU64) -> Result<(Era, Value), Failure> {
        let params = json!({
            "protocolVersion": eras::LATEST_LEGACY,
            "capabilities": self.answers.capabilities(),
            "clientInfo": client_info(),
        });
        let params = params.to_string();
        let id = ids.fetch_add(1, Ordering::Relaxed);
        let request = TransportRequest::new(id, "initialize", Some(&params));
        let result = read(&self.transport.request(request).await?)?;
        let version = result["protocolVersion"].as_str().unwrap_or("");
        if !eras::LEGACY.contains(&version) {
            let text = format!("the server wants protocol {version:?}, which we do not speak");
            return Err(Failure::Protocol(text));
        }
        let era = Era::Legacy(version.to_owned());
        (self.tell)(&era);
        self.transport.notify("notifications/initialized", None).await?;
        Ok((era, result))
    }

    fn session(self, ids: Arc<AtomicU64>, era: Era, info: &Value, result: &Value) -> Session {
        Session {
            transport: self.transport,
            router: self.router,
            answers: self.answers,
            era,
            info: info.clone(),
            capabilities: result["capabilities"].clone(),
            gate: self.gate,
            instructions: result["instructions"].as_str().map(str::to_owned),
            ids,
            usage: SessionUsage::new(),
        }
    }
}

/// A server that refused `initialize`, and can still be tried in another way.
struct InitializeRefused {
    handshake: Handshake,
    failure: Failure,
}

/// What the probe found.
enum Probe {
    /// The server speaks the modern era; this is its result.
    Modern(Value),
    /// The server does not speak the modern era.
    Legacy,
}

fn speaks_modern(result: Value) -> Probe {
    let versions = result["supportedVersions"].as_array();
    match versions.is_some_and(|versions| versions.iter().any(|version| version == eras::MODERN)) {
        true => Probe::Modern(result),
        false => Probe::Legacy,
    }
}

fn lists_modern(error: &RpcError) -> bool {
    let supported = error.data.as_ref().and_then(|data| data["supported"].as_array());
    supported.is_some_and(|versions| versions.iter().any(|version| version == eras::MODERN))
}

#[cfg(test)]
mod tests;
