//! zwave-js-ui's MQTT gateway: asked through its API topics, watched through its value topics.

mod state;
mod connection;
mod request;
mod topics;
mod wire;

use std::sync::Arc;

use futures_util::{StreamExt, stream::BoxStream};
use serde_json::{Value, json};
use switchboard_mqtt::Address;
use switchboard_toolcall::BoxFuture;
use tokio::task::JoinHandle;

use crate::{
    network::{Error, Hop, Network, Node, State, ValueId, Written},
    reports,
};
use connection::Connection;
use request::Request;
use state::{Broker, NoGateway, Presence};

/// A network behind zwave-js-ui's MQTT gateway.
pub struct Mqtt {
    connection: Arc<Connection>,
    task: JoinHandle<()>,
}

impl Mqtt {
    /// Connects in the background, and again whenever the connection is lost.
    ///
    /// # Errors
    /// The prefix cannot be used.
    pub fn connect(address: Address, prefix: &str, gateway: Option<&str>) -> Result<Self, Error> {
        let prefix = switchboard_mqtt::prefix(prefix)?;
        let gateway = gateway.map(topics::gateway);
        let connection = Arc::new(Connection::new(address, prefix, gateway));
        let own = connection.clone();
        let task = tokio::spawn(async move {
            tokio::join!(own.run(), own.probe_when_needed());
        });
        Ok(Self { connection, task })
    }
}

impl Drop for Mqtt {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Network for Mqtt {
    fn nodes(&self) -> BoxFuture<'_, Result<Vec<Node>, Error>> {
        Box::pin(async {
            let nodes = self.connection.ask(Request::read("getNodes", json!([]))).await?;
            Ok(nodes.as_array().into_iter().flatten().filter_map(wire::node).collect())
        })
    }

    fn write<'a>(
        &'a self,
        node: &'a Node,
        id: &'a ValueId,
        value: Value,
    ) -> BoxFuture<'a, Result<Written, Error>> {
        Box::pin(async move {
            let args = json!([wire::value_id(node, id), value]);
            Ok(wire::written(&self.connection.ask(Request::write("writeValue", args)).await?))
        })
    }

    fn poll<'a>(&'a self, node: &'a Node, id: &'a ValueId) -> BoxFuture<'a, Result<Value, Error>> {
        let args = json!([wire::value_id(node, id)]);
        Box::pin(self.connection.ask(Request::poll("pollValue", args)))
    }

    fn updated<'a>(&'a self, _: &'a Node, _: &'a ValueId) -> BoxFuture<'a, Option<u64>> {
        // `getNodes` says so of each value.
        Box::pin(std::future::ready(None))
    }

    fn watch(&self, node: &Node, id: &ValueId) -> BoxStream<'static, Value> {
        let topics = topics::of_value(node, id);
        let node = node.id;
        let matching = move |message: Arc<connection::Message>| {
            let value =
                topics.contains(&message.topic).then(|| wire::value(&message.payload, node));
            std::future::ready(value.flatten())
        };
        reports::stream(self.connection.values.subscribe()).filter_map(matching).boxed()
    }

    fn hops(&self) -> Vec<Hop> {
        let state = self.connection.state.borrow();
        let address = self.connection.address.to_string();
        let broker = match &state.broker {
            Broker::Up(..) => (State::Up, address),
            Broker::Connecting => (State::Unknown, format!("{address}: it has not answered yet")),
            Broker::Down(reason) => (State::Down, format!("{address}: {reason}")),
        };
        let is_up = broker.0 == State::Up;
        let is_online = |gateway: &String| state.gateways.get(gateway) == Some(&Presence::Online);
        let gateway = match state.choose(self.connection.gateway.as_deref()) {
            Some(Ok(gateway)) if is_up && is_online(&gateway) => (State::Up, gateway),
            Some(Err(NoGateway { reason, .. })) if is_up => (State::Down, reason),
            Some(Ok(gateway)) => (State::Unknown, gateway),
            _ => (State::Unknown, "not heard of".to_owned()),
        };
        let driver = match state.driver.filter(|_| gateway.0 == State::Up) {
            Some(true) => (State::Up, "ready".to_owned()),
            Some(false) => (State::Down, "not ready".to_owned()),
            None => (State::Unknown, "not heard of".to_owned()),
        };
        let hop = |name, (state, detail)| Hop { name, state, detail };
        vec![hop("broker", broker), hop("gateway", gateway), hop("driver", driver)]
    }
}
