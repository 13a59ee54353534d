//! zwave-js-ui's MQTT gateway: asked through its API topics, watched through its value topics.

mod connection;
mod topics;
mod wire;

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt, stream::BoxStream};
use rumqttc::{AsyncClient, PublishOptions, QoS};
use serde_json::{Value, json};
use switchboard_mqtt::Address;
use switchboard_toolcall::BoxFuture;
use tokio::{task::JoinHandle, time::timeout};
use ulid::Ulid;

use crate::{
    network::{Error, Hop, Network, Node, State, ValueId, Written},
    reports,
};
use connection::{Broker, Connection};

/// How long a call waits for a connection that is being made.
const CONNECT: Duration = Duration::from_secs(3);
/// How long a call waits for one more attempt where the broker was down.
const AGAIN: Duration = Duration::from_secs(1);
/// How long a call waits to hear of a gateway, once the broker is there.
const DISCOVER: Duration = Duration::from_secs(1);
/// How long the gateway may take to answer.
const ANSWER: Duration = Duration::from_secs(4);
/// The same for a write, which waits for its device; who asked gives up long before.
const WRITTEN: Duration = Duration::from_secs(60);

const CHECK_BROKER: &str =
    "is the MQTT broker running, and are its address, user and password right?";
const CHECK_GATEWAY: &str = "is zwave-js-ui running, is MQTT on in its settings, and are prefix and gateway name the same as there?";
const CHECK_DRIVER: &str =
    "is the Z-Wave stick plugged in, and does zwave-js-ui show it as connected?";

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
        let task = tokio::spawn(connection.clone().run());
        Ok(Self { connection, task })
    }

    /// Asks the gateway's API.
    async fn ask(&self, api: &str, args: Value, within: Duration) -> Result<Value, Error> {
        let (client, gateway) = self.ready().await?;
        let id = Ulid::generate().to_string();
        let awaited = self.connection.replies.expect(&id);
        let topic = topics::api(&self.connection.prefix, &gateway, api);
        let request = json!({"args": args, "id": id}).to_string();
        let service = format!("the Z-Wave gateway '{gateway}'");
        let unsent = |error: rumqttc::ClientError| self.no_broker(&error.to_string());
        client
            .publish(topic, request, PublishOptions::new(QoS::AtLeastOnce))
            .await
            .map_err(unsent)?;
        let lost = |reason: String| Error::Lost { service, reason, check: CHECK_GATEWAY };
        match timeout(within, awaited.answer()).await {
            Ok(Some(reply)) => wire::result(api, reply),
            Ok(None) => Err(lost("it went away before it answered".to_owned())),
            Err(_) => Err(lost(format!("it did not answer within {}s", within.as_secs()))),
        }
    }

    /// The client and the gateway to ask, as soon as both are there.
    async fn ready(&self) -> Result<(AsyncClient, String), Error> {
        let mut state = self.connection.state.subscribe();
        let is_settled = |state: &connection::State| !matches!(state.broker, Broker::Connecting);
        // Whether it is settled or not is looked at below.
        let _ = timeout(CONNECT, state.wait_for(is_settled)).await;
        let is_down = matches!(state.borrow_and_update().broker, Broker::Down(_));
        if is_down {
            // It may be back: one more attempt, whatever comes of it.
            self.connection.wanted.notify_one();
            let _ = timeout(AGAIN, state.changed()).await;
        }
        let client = match &state.borrow().broker {
            Broker::Up(client) => client.clone(),
            Broker::Connecting => return Err(self.no_broker("it has not answered yet")),
            Broker::Down(reason) => return Err(self.no_broker(reason)),
        };
        let is_known = |state: &connection::State| self.choose(state).is_some();
        let _ = timeout(DISCOVER, state.wait_for(is_known)).await;
        let chosen = self.choose(&state.borrow());
        let nobody = || {
            let prefix = &self.connection.prefix;
            Err(format!(
                "nothing was heard of one under `{prefix}/_CLIENTS` (where it does not retain its messages, name it \
                 with --gateway)"
            ))
        };
        let unreachable = |reason| Error::Unreachable {
            service: "the Z-Wave gateway".to_owned(),
            reason,
            check: CHECK_GATEWAY,
        };
        Ok((client, chosen.unwrap_or_else(nobody).map_err(unreachable)?))
    }

    /// The gateway to ask, or why none can be asked; nothing, where none has been heard of yet.
    fn choose(&self, state: &connection::State) -> Option<Result<String, String>> {
        if let Some(gateway) = &self.connection.gateway {
            return match state.gateways.get(gateway) {
                // Where statuses are not retained, one that runs has not been heard of.
                Some(true) | None => Some(Ok(gateway.clone())),
                Some(false) => Some(Err(format!("'{gateway}' says that it is offline"))),
            };
        }
        let online: Vec<_> = state.gateways.iter().filter(|(_, is_up)| **is_up).collect();
        match &online[..] {
            [] => {
                let (gateway, _) = state.gateways.first_key_value()?;
                Some(Err(format!("'{gateway}' says that it is offline")))
            }
            [(only, _)] => Some(Ok((*only).clone())),
            several => {
                let names: Vec<_> = several.iter().map(|(name, _)| name.as_str()).collect();
                let names = names.join(", ");
                Some(Err(format!("there are several ({names}); name one with --gateway")))
            }
        }
    }

    fn no_broker(&self, reason: &str) -> Error {
        let service = format!("the MQTT broker {}", self.connection.address);
        Error::Unreachable { service, reason: reason.to_owned(), check: CHECK_BROKER }
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
            let nodes = self.ask("getNodes", json!([]), ANSWER).await?;
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
            Ok(wire::written(&self.ask("writeValue", args, WRITTEN).await?))
        })
    }

    fn poll<'a>(&'a self, node: &'a Node, id: &'a ValueId) -> BoxFuture<'a, Result<Value, Error>> {
        Box::pin(self.ask("pollValue", json!([wire::value_id(node, id)]), ANSWER))
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
            Broker::Up(_) => (State::Up, address),
            Broker::Connecting => (State::Unknown, format!("{address}: it has not answered yet")),
            Broker::Down(reason) => (State::Down, format!("{address}: {reason}")),
        };
        let is_up = broker.0 == State::Up;
        let gateway = match self.choose(&state) {
            Some(Ok(gateway)) if is_up && state.gateways.get(&gateway) == Some(&true) => {
                (State::Up, gateway)
            }
            Some(Err(reason)) if is_up => (State::Down, reason),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Gateways that were heard of, and whether they are online.
    type Heard = &'static [(&'static str, bool)];

    // HM-1: the only gateway is found by itself.
    #[tokio::test]
    async fn a_gateway_is_chosen_or_it_is_said_why_not() {
        let cases: [(Option<&str>, Heard, &str); 7] = [
            (None, &[], "none"),
            (None, &[("a", true)], "ZWAVE_GATEWAY-a"),
            (None, &[("a", true), ("b", false)], "ZWAVE_GATEWAY-a"),
            (None, &[("a", false)], "'ZWAVE_GATEWAY-a' says that it is offline"),
            (
                None,
                &[("a", true), ("b", true)],
                "there are several (ZWAVE_GATEWAY-a, ZWAVE_GATEWAY-b); name one with --gateway",
            ),
            (Some("b"), &[("a", true)], "ZWAVE_GATEWAY-b"),
            (Some("b"), &[("a", true), ("b", false)], "'ZWAVE_GATEWAY-b' says that it is offline"),
        ];
        for (set, heard, expected) in cases {
            let mqtt =
                Mqtt::connect(Address::parse("mqtt://127.0.0.1:1").unwrap(), "zwave", set).unwrap();
            let heard = heard.iter().map(|(name, is_up)| (topics::gateway(name), *is_up));
            let state = connection::State { gateways: heard.collect(), ..Default::default() };
            let chosen = match mqtt.choose(&state) {
                None => "none".to_owned(),
                Some(Ok(text) | Err(text)) => text,
            };
            assert_eq!(chosen, expected);
        }
    }
}
