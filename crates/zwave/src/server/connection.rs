//! The connection to the server, and its messages.

use std::{sync::Arc, time::Duration};

use futures_util::{SinkExt, StreamExt};
use rustls::ClientConfig;
use serde_json::{Value, json};
use tokio::{
    net::TcpStream,
    sync::{Notify, broadcast, mpsc, watch},
    time::{sleep, timeout},
};
use tokio_tungstenite::{
    Connector, MaybeTlsStream, WebSocketStream, connect_async_tls_with_config,
    tungstenite::{Message, protocol::WebSocketConfig},
};

use super::wire;
use crate::{network::ValueId, replies::PendingReplies};

/// The first and the longest time between two attempts.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));
/// How long the handshake may take.
const GREETING: Duration = Duration::from_secs(5);
/// How often a silent server is pinged, and how long it may stay silent.
const SILENCE: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(20));
/// The largest message that is read: all nodes of a big network with all their values.
const LARGEST: usize = 64 << 20;
/// How many commands may wait to be sent, and how many changes are buffered for watchers.
const WAITING: (usize, usize) = (64, 1024);

/// Sends commands.
pub(super) type RequestSender = mpsc::Sender<String>;
type WebSocket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// What all users of the connection share.
pub(super) struct ServerConnection {
    pub(super) address: String,
    /// The TLS config, if TLS is used.
    tls: Option<Arc<ClientConfig>>,
    pub(super) link: watch::Sender<ConnectionState>,
    /// Notified when a request needs the connection, so that the next attempt does not wait.
    pub(super) wanted: Notify,
    pub(super) replies: PendingReplies,
    pub(super) changes: broadcast::Sender<Arc<ValueUpdate>>,
}

/// The state of the connection.
#[derive(Default)]
pub(super) enum ConnectionState {
    #[default]
    Connecting,
    /// Connected: with the sender of commands, and the version of the driver.
    Up(RequestSender, String),
    Down(String),
}

/// A value that was reported.
pub(super) struct ValueUpdate {
    pub(super) node: u64,
    pub(super) id: ValueId,
    pub(super) value: Value,
}

impl ServerConnection {
    pub(super) fn new(address: String, tls: Option<Arc<ClientConfig>>) -> Self {
        Self {
            address,
            tls,
            link: watch::Sender::default(),
            wanted: Notify::new(),
            replies: PendingReplies::default(),
            changes: broadcast::Sender::new(WAITING.1),
        }
    }

    /// Connects, receives, and reconnects when the connection is lost.
    pub(super) async fn run(self: Arc<Self>) {
        let mut pause = PAUSES.0;
        loop {
            let reason = match timeout(GREETING, self.greet()).await {
                Ok(Ok((socket, version))) => self.listen(socket, version).await,
                Ok(Err(reason)) => reason,
                Err(_) => format!("it did not greet us within {}s", GREETING.as_secs()),
            };
            let was_up = self.lost(reason);
            pause = if was_up { PAUSES.0 } else { (pause * 2).min(PAUSES.1) };
            tokio::select! {
                () = sleep(pause) => {}
                () = self.wanted.notified() => {}
            }
        }
    }

    /// Connects, and agrees on a schema version.
    async fn greet(&self) -> Result<(WebSocket, String), String> {
        let config = WebSocketConfig::default()
            .max_message_size(Some(LARGEST))
            .max_frame_size(Some(LARGEST));
        let tls = self.tls.clone().map_or(Connector::Plain, Connector::Rustls);
        let connected =
            connect_async_tls_with_config(&self.address, Some(config), true, Some(tls)).await;
        let (mut socket, _) = connected.map_err(|error| error.to_string())?;
        let hello = next(&mut socket).await?;
        let schema = wire::schema(&hello).ok_or("it does not greet as a zwave-js-server does")?;
        let initialize = [
            json!({"messageId": "initialize", "command": "initialize", "schemaVersion": schema}),
            json!({"messageId": "listen", "command": "start_listening"}),
        ];
        for message in initialize {
            let sent = socket.send(Message::text(message.to_string())).await;
            sent.map_err(|error| error.to_string())?;
            let reply = next(&mut socket).await?;
            if reply["success"] != true {
                return Err(format!("it refuses {}: {}", message["command"], wire::reason(&reply)));
            }
        }
        let version = hello["driverVersion"].as_str().unwrap_or("of an unknown version");
        Ok((socket, format!("zwave-js {version}")))
    }

    /// Sends commands and receives replies until the connection ends. Returns why it ended.
    async fn listen(&self, socket: WebSocket, version: String) -> String {
        let (requests, mut commands) = mpsc::channel::<String>(WAITING.0);
        tracing::info!(server = self.address, version, "connected to the zwave-js-server");
        self.link.send_replace(ConnectionState::Up(requests, version));
        let (mut sink, mut messages) = socket.split();
        let mut heard = tokio::time::Instant::now();
        loop {
            let sent = tokio::select! {
                message = messages.next() => match message {
                    Some(Ok(message)) => {
                        heard = tokio::time::Instant::now();
                        self.receive(&message);
                        Ok(())
                    }
                    Some(Err(error)) => return error.to_string(),
                    None => return "it closed the connection".to_owned(),
                },
                Some(command) = commands.recv() => sink.send(Message::text(command)).await,
                () = sleep(SILENCE.0) => match heard.elapsed() < SILENCE.1 {
                    true => sink.send(Message::Ping(Vec::new().into())).await,
                    false => return "it has gone silent".to_owned(),
                },
            };
            if let Err(error) = sent {
                return error.to_string();
            }
        }
    }

    /// Marks the connection as lost; returns whether there was one.
    fn lost(&self, reason: String) -> bool {
        let mut was_up = false;
        self.link.send_modify(|link| {
            was_up = matches!(link, ConnectionState::Up(..));
            let is_news = !matches!(link, ConnectionState::Down(known) if *known == reason);
            if is_news {
                let server = &self.address;
                tracing::warn!(
                    server,
                    reason,
                    "no connection to the zwave-js-server; trying again"
                );
            }
            *link = ConnectionState::Down(reason);
        });
        self.replies.give_up();
        was_up
    }

    fn receive(&self, message: &Message) {
        let Some(message) = message.to_text().ok().and_then(|text| serde_json::from_str(text).ok())
        else {
            return;
        };
        let message: Value = message;
        match (message["type"].as_str(), message["messageId"].as_str().map(str::to_owned)) {
            (Some("result"), Some(id)) => self.replies.answer(&id, message),
            (Some("event"), _) => {
                if let Some(changed) = wire::changed(&message["event"]) {
                    // There may be no watcher.
                    let _ = self.changes.send(Arc::new(changed));
                }
            }
            _ => {}
        }
    }
}

/// The next message, which must be JSON.
async fn next(socket: &mut WebSocket) -> Result<Value, String> {
    loop {
        match socket.next().await {
            Some(Ok(Message::Text(text))) => {
                let message: Result<Value, _> = serde_json::from_str(&text);
                let message = message.map_err(|error| error.to_string())?;
                // Events may come before the expected reply.
                if message["type"] != "event" {
                    return Ok(message);
                }
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(error.to_string()),
            None => return Err("it closed the connection".to_owned()),
        }
    }
}
