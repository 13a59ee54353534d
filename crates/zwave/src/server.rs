//! zwave-js-server's WebSocket API, as Home Assistant uses it.

mod connection;
mod wire;

use std::{path::Path, sync::Arc, time::Duration};

use futures_util::{StreamExt, stream::BoxStream};
use serde_json::{Value, json};
use switchboard_mqtt::{TrustError, trust};
use switchboard_toolcall::BoxFuture;
use tokio::{task::JoinHandle, time::timeout};
use ulid::Ulid;
use url::Url;

use crate::{
    network::{Error, Hop, HopState, Network, ValueId, WriteAck, ZwaveNode},
    reports,
};
use connection::{ConnectionState, ServerConnection, ValueUpdate};

/// How long a call waits for a connection that is being opened.
const CONNECT: Duration = Duration::from_secs(3);
/// How long a call waits for one more attempt if the server was down.
const AGAIN: Duration = Duration::from_secs(1);
/// How long the server may take to answer.
const ANSWER: Duration = Duration::from_secs(4);
/// The same for a write, which waits for its device; callers time out long before.
const WRITTEN: Duration = Duration::from_secs(60);

const CHECK: &str = "is zwave-js-server running (in zwave-js-ui: Settings, Home Assistant, WS Server), and are host and port right?";

/// A network behind a zwave-js-server.
pub(crate) struct ServerNetwork {
    connection: Arc<ServerConnection>,
    task: JoinHandle<()>,
}

impl ServerNetwork {
    /// Connects in the background, and reconnects whenever the connection is lost.
    ///
    /// # Errors
    /// The address cannot be used, or the certificates of `ca`.
    pub(crate) fn connect(address: &str, ca: Option<&Path>) -> Result<Self, Error> {
        let wrong = |reason: String| Error::Address {
            what: "a zwave-js-server (such as ws://127.0.0.1:3000)",
            address: address.to_owned(),
            reason,
        };
        let url = Url::parse(address).map_err(|error| wrong(error.to_string()))?;
        if !matches!(url.scheme(), "ws" | "wss") || url.host_str().is_none() {
            return Err(wrong("it must begin with `ws://` or `wss://` and name a host".to_owned()));
        }
        let tls = match (url.scheme(), ca) {
            ("wss", ca) => Some(trust(ca)?),
            (_, None) => None,
            (_, Some(_)) => {
                let (address, meant) = (url.to_string(), url.as_str().replacen("ws", "wss", 1));
                return Err(TrustError::Unused { address, meant }.into());
            }
        };
        let connection = Arc::new(ServerConnection::new(url.to_string(), tls));
        let task = tokio::spawn(connection.clone().run());
        Ok(Self { connection, task })
    }

    /// Sends a command and returns its result.
    async fn ask(
        &self,
        command: &str,
        mut message: Value,
        within: Duration,
    ) -> Result<Value, Error> {
        let requests = self.ready().await?;
        let id = Ulid::generate().to_string();
        let awaited = self.connection.replies.expect(&id);
        message["messageId"] = id.into();
        message["command"] = command.into();
        if requests.send(message.to_string()).await.is_err() {
            return Err(self.unreachable("the connection was lost".to_owned()));
        }
        let lost = |reason: String| Error::Lost { service: self.service(), reason, check: CHECK };
        match timeout(within, awaited.answer()).await {
            Ok(Some(reply)) => wire::result(command, reply),
            Ok(None) => Err(lost("it went away before it answered".to_owned())),
            Err(_) => Err(lost(format!("it did not answer within {}s", within.as_secs()))),
        }
    }

    /// Returns the sender of commands, as soon as the connection is open.
    async fn ready(&self) -> Result<connection::RequestSender, Error> {
        let mut link = self.connection.link.subscribe();
        let is_settled = |link: &ConnectionState| !matches!(link, ConnectionState::Connecting);
        // Whether it is settled is checked below.
        let _ = timeout(CONNECT, link.wait_for(is_settled)).await;
        let is_down = matches!(&*link.borrow_and_update(), ConnectionState::Down(_));
        if is_down {
            // The server may be back: one more attempt.
            self.connection.wanted.notify_one();
            let _ = timeout(AGAIN, link.changed()).await;
        }
        match &*link.borrow() {
            ConnectionState::Up(requests, _) => Ok(requests.clone()),
            ConnectionState::Connecting => {
                Err(self.unreachable("it has not answered yet".to_owned()))
            }
            ConnectionState::Down(reason) => Err(self.unreachable(reason.clone())),
        }
    }

    fn service(&self) -> String {
        format!("the zwave-js-server {}", self.connection.address)
    }

    fn unreachable(&self, reason: String) -> Error {
        Error::Unreachable { service: self.service(), reason, check: CHECK }
    }
}

impl Drop for ServerNetwork {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Network for ServerNetwork {
    fn nodes(&self) -> BoxFuture<'_, Result<Vec<ZwaveNode>, Error>> {
        Box::pin(async {
            // Sending it again returns the whole state again; events continue.
            let state = self.ask("start_listening", json!({}), ANSWER).await?;
            let nodes = state["state"]["nodes"].as_array();
            Ok(nodes.into_iter().flatten().filter_map(wire::node).collect())
        })
    }

    fn write<'a>(
        &'a self,
        node: &'a ZwaveNode,
        id: &'a ValueId,
        value: Value,
    ) -> BoxFuture<'a, Result<WriteAck, Error>> {
        Box::pin(async move {
            let message = json!({"nodeId": node.id, "valueId": id.to_json(), "value": value});
            Ok(wire::written(&self.ask("node.set_value", message, WRITTEN).await?))
        })
    }

    fn poll<'a>(
        &'a self,
        node: &'a ZwaveNode,
        id: &'a ValueId,
    ) -> BoxFuture<'a, Result<Value, Error>> {
        Box::pin(async move {
            let message = json!({"nodeId": node.id, "valueId": id.to_json()});
            Ok(self.ask("node.poll_value", message, ANSWER).await?["value"].take())
        })
    }

    fn updated<'a>(&'a self, node: &'a ZwaveNode, id: &'a ValueId) -> BoxFuture<'a, Option<u64>> {
        Box::pin(async move {
            let message = json!({"nodeId": node.id, "valueId": id.to_json()});
            // Older servers do not have this command.
            self.ask("node.get_value_timestamp", message, ANSWER).await.ok()?["timestamp"].as_u64()
        })
    }

    fn watch(&self, node: &ZwaveNode, id: &ValueId) -> BoxStream<'static, Value> {
        let (node, id) = (node.id, id.clone());
        let matching = move |change: Arc<ValueUpdate>| {
            let is_it = change.node == node && change.id == id;
            std::future::ready(is_it.then(|| change.value.clone()))
        };
        reports::stream(self.connection.changes.subscribe()).filter_map(matching).boxed()
    }

    fn hops(&self) -> Vec<Hop> {
        let address = &self.connection.address;
        let (server, driver) = match &*self.connection.link.borrow() {
            // The server only accepts connections while its driver works.
            ConnectionState::Up(_, version) => {
                ((HopState::Up, address.clone()), (HopState::Up, version.clone()))
            }
            ConnectionState::Connecting => (
                (HopState::Unknown, format!("{address}: it has not answered yet")),
                (HopState::Unknown, "not heard of".to_owned()),
            ),
            ConnectionState::Down(reason) => (
                (HopState::Down, format!("{address}: {reason}")),
                (HopState::Unknown, "not heard of".to_owned()),
            ),
        };
        let hop = |name, (state, detail)| Hop { name, state, detail };
        vec![hop("server", server), hop("driver", driver)]
    }
}
