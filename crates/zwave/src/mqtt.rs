//! zwave-js-ui's MQTT gateway: requests go to its API topics, reports come on its value topics.

mod state;
mod connection;
mod request;
mod topics;
mod wire;

use std::sync::Arc;

use futures_util::{StreamExt, stream::BoxStream};
use serde_json::{Value, json};
use switchboard_mqtt::BrokerAddress;
use switchboard_toolcall::BoxFuture;
use tokio::task::JoinHandle;

use crate::{
    network::{Error, Hop, HopState, Network, ValueId, WriteAck, ZwaveNode},
    reports,
};
use connection::MqttConnection;
use request::ApiRequest;
use state::{BrokerState, GatewayPresence, NoGateway};

/// A network behind zwave-js-ui's MQTT gateway.
pub(crate) struct MqttNetwork {
    connection: Arc<MqttConnection>,
    task: JoinHandle<()>,
}

impl MqttNetwork {
    /// Connects in the background, and reconnects whenever the connection is lost.
    ///
    /// # Errors
    /// The prefix cannot be used.
    pub(crate) fn connect(
        address: BrokerAddress,
        prefix: &str,
        gateway: Option<&str>,
    ) -> Result<Self, Error> {
        let prefix = switchboard_mqtt::prefix(prefix)?;
        let gateway = gateway.map(topics::gateway);
        let connection = Arc::new(MqttConnection::new(address, prefix, gateway));
        let own = connection.clone();
        let task = tokio::spawn(async move {
            tokio::join!(own.run(), own.probe_when_needed());
        });
        Ok(Self { connection, task })
    }
}

impl Drop for MqttNetwork {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Network for MqttNetwork {
    fn nodes(&self) -> BoxFuture<'_, Result<Vec<ZwaveNode>, Error>> {
        Box::pin(async {
            let nodes = self.connection.ask(ApiRequest::read("getNodes", json!([]))).await?;
            Ok(nodes.as_array().into_iter().flatten().filter_map(wire::node).collect())
        })
    }

    fn write<'a>(
        &'a self,
        node: &'a ZwaveNode,
        id: &'a ValueId,
        value: Value,
    ) -> BoxFuture<'a, Result<WriteAck, Error>> {
        Box::pin(async move {
            let args = json!([wire::value_id(node, id), value]);
            Ok(wire::written(&self.connection.ask(ApiRequest::write("writeValue", args)).await?))
        })
    }

    fn poll<'a>(
        &'a self,
        node: &'a ZwaveNode,
        id: &'a ValueId,
    ) -> BoxFuture<'a, Result<Value, Error>> {
        let args = json!([wire::value_id(node, id)]);
        Box::pin(self.connection.ask(ApiRequest::poll("pollValue", args)))
    }

    fn updated<'a>(&'a self, _: &'a ZwaveNode, _: &'a ValueId) -> BoxFuture<'a, Option<u64>> {
        // The values of `getNodes` have it already.
        Box::pin(std::future::ready(None))
    }

    fn watch(&self, node: &ZwaveNode, id: &ValueId) -> BoxStream<'static, Value> {
        let topics = topics::of_value(node, id);
        let node = node.id;
        let matching = move |message: Arc<connection::MqttMessage>| {
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
            BrokerState::Up(..) => (HopState::Up, address),
            BrokerState::Connecting => {
                (HopState::Unknown, format!("{address}: it has not answered yet"))
            }
            BrokerState::Down(reason) => (HopState::Down, format!("{address}: {reason}")),
        };
        let is_up = broker.0 == HopState::Up;
        let is_online =
            |gateway: &String| state.gateways.get(gateway) == Some(&GatewayPresence::Online);
        let gateway = match state.choose(self.connection.gateway.as_deref()) {
            Some(Ok(gateway)) if is_up && is_online(&gateway) => (HopState::Up, gateway),
            Some(Err(NoGateway { reason, .. })) if is_up => (HopState::Down, reason),
            Some(Ok(gateway)) => (HopState::Unknown, gateway),
            _ => (HopState::Unknown, "not heard of".to_owned()),
        };
        let driver = match state.driver.filter(|_| gateway.0 == HopState::Up) {
            Some(true) => (HopState::Up, "ready".to_owned()),
            Some(false) => (HopState::Down, "not ready".to_owned()),
            None => (HopState::Unknown, "not heard of".to_owned()),
        };
        let hop = |name, (state, detail)| Hop { name, state, detail };
        vec![hop("broker", broker), hop("gateway", gateway), hop("driver", driver)]
    }
}
