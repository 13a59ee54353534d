//! The connection to the broker, and its messages.

use std::{sync::Arc, time::Duration};

use rumqttc::{AsyncClient, Event, Packet, Publish, QoS, SubscribeReasonCode};
use serde_json::Value;
use switchboard_mqtt::BrokerAddress;
use tokio::{
    sync::{Notify, broadcast, watch},
    time::{Instant, sleep},
};

use super::{
    state::{BrokerState, MqttState, is_gateway},
    wire,
};
use crate::replies::PendingReplies;

/// The first and the longest time between two attempts.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));
/// How many requests may wait to be sent.
const REQUESTS: usize = 64;
/// How many reported values are buffered for watchers.
const VALUES: usize = 1024;

/// What all users of the connection share.
pub(super) struct MqttConnection {
    pub(super) address: BrokerAddress,
    pub(super) prefix: String,
    /// The gateway of the settings, as in topics.
    pub(super) gateway: Option<String>,
    pub(super) state: watch::Sender<MqttState>,
    /// Notified when a request needs the connection, so that the next attempt does not wait.
    pub(super) wanted: Notify,
    pub(super) replies: PendingReplies,
    /// Reports on value topics.
    pub(super) values: broadcast::Sender<Arc<MqttMessage>>,
}

/// A report on a topic below the prefix.
pub(super) struct MqttMessage {
    pub(super) topic: String,
    pub(super) payload: Vec<u8>,
}

impl MqttConnection {
    pub(super) fn new(address: BrokerAddress, prefix: &str, gateway: Option<String>) -> Self {
        Self {
            address,
            prefix: prefix.to_owned(),
            gateway,
            state: watch::Sender::default(),
            wanted: Notify::new(),
            replies: PendingReplies::default(),
            values: broadcast::Sender::new(VALUES),
        }
    }

    /// Connects, receives, and reconnects when the connection is lost.
    ///
    /// Each connection has its own client: what an old one has not sent is dropped, so that no light is switched on minutes
    /// after the request.
    pub(super) async fn run(&self) {
        let mut pause = PAUSES.0;
        loop {
            let reason = self.session().await;
            let was_up = self.lost(reason);
            pause = if was_up { PAUSES.0 } else { (pause * 2).min(PAUSES.1) };
            tokio::select! {
                () = sleep(pause) => {}
                () = self.wanted.notified() => {}
            }
        }
    }

    /// One connection, from its beginning to its end; returns why it ended.
    async fn session(&self) -> String {
        let options = match self.address.options() {
            Ok(options) => options,
            Err(reason) => return reason,
        };
        let (client, mut events) =
            match AsyncClient::builder(options).capacity(REQUESTS).try_build() {
                Ok(parts) => parts,
                Err(error) => return error.to_string(),
            };
        loop {
            match events.poll().await {
                Ok(Event::Incoming(Packet::ConnAck(_))) => {
                    let all = format!("{}/#", self.prefix);
                    if let Err(error) = client.try_subscribe(all, QoS::AtLeastOnce) {
                        return error.to_string();
                    }
                }
                Ok(Event::Incoming(Packet::SubAck(ack))) => {
                    if ack.return_codes.contains(&SubscribeReasonCode::Failure) {
                        return format!("it does not let us read `{}/#`", self.prefix);
                    }
                    tracing::info!(broker = %self.address, "connected to the MQTT broker");
                    let up = BrokerState::Up(client.clone(), Instant::now());
                    self.state.send_modify(|state| state.broker = up);
                }
                Ok(Event::Incoming(Packet::Publish(message))) => self.receive(&message),
                Ok(_) => {}
                Err(error) => return error.to_string(),
            }
        }
    }

    /// Marks the connection as lost; returns whether there was one.
    fn lost(&self, reason: String) -> bool {
        let mut was_up = false;
        self.state.send_modify(|state| {
            was_up = matches!(state.broker, BrokerState::Up(..));
            let is_news = !matches!(&state.broker, BrokerState::Down(known) if *known == reason);
            if is_news {
                tracing::warn!(broker = %self.address, reason, "no connection to the MQTT broker; trying again");
            }
            // The broker will send the gateways' statuses again.
            let announcements = state.announcements;
            *state = MqttState { broker: BrokerState::Down(reason), announcements, ..MqttState::default() };
        });
        self.replies.give_up();
        was_up
    }

    fn receive(&self, message: &Publish) {
        let topic = String::from_utf8_lossy(&message.topic);
        let Some(topic) = topic.strip_prefix(&*self.prefix).and_then(|rest| rest.strip_prefix('/'))
        else {
            return;
        };
        let parts: Vec<_> = topic.split('/').collect();
        match &parts[..] {
            ["_CLIENTS", gateway, "status"] if is_gateway(gateway) => {
                self.gateway_is(gateway, message);
            }
            ["_CLIENTS", gateway, "api", _] if is_gateway(gateway) => {
                self.gateway_lives(gateway, message);
                self.answered(&message.payload);
            }
            ["_CLIENTS", gateway, "version"] if is_gateway(gateway) => {
                self.gateway_lives(gateway, message);
            }
            ["driver", "status"] => {
                if let Some(is_up) = json(&message.payload).and_then(|status| status.as_bool()) {
                    self.state.send_modify(|state| state.driver(is_up, message.retain));
                }
            }
            // A request, ours or another client's.
            [.., "set"] => {}
            // Retained values are older than any request.
            _ if message.retain => {}
            _ => {
                let message =
                    MqttMessage { topic: topic.to_owned(), payload: message.payload.to_vec() };
                // There may be no watcher.
                let _ = self.values.send(Arc::new(message));
            }
        }
    }

    fn gateway_is(&self, gateway: &str, message: &Publish) {
        if message.payload.is_empty() {
            // An empty message deletes a retained one: people do so when they rename a gateway.
            self.state.send_if_modified(|state| state.gateways.remove(gateway).is_some());
            return;
        }
        let status = json(&message.payload).and_then(|status| status["value"].as_bool());
        let Some(is_up) = status else { return };
        let mut has_changed = false;
        self.state.send_modify(|state| {
            has_changed = state.status(gateway, is_up, message.retain);
        });
        if has_changed {
            let word = if is_up { "online" } else { "offline" };
            tracing::info!(gateway, "the Z-Wave gateway is {word}");
        }
        let is_ours = match &self.gateway {
            Some(ours) => ours == gateway,
            None => self.state.borrow().gateways.len() == 1,
        };
        if !is_up && is_ours {
            self.replies.give_up();
        }
    }

    /// Records that a gateway is alive. A retained message does not show that: its gateway may be long gone.
    fn gateway_lives(&self, gateway: &str, message: &Publish) {
        if !message.retain {
            self.state.send_if_modified(|state| state.mark_alive(gateway));
        }
    }

    fn answered(&self, payload: &[u8]) {
        let Some(reply) = json(payload) else {
            tracing::debug!("an answer of the gateway is not JSON");
            return;
        };
        // The API does nothing without its driver, whatever a retained message says.
        if let Some(is_up) = wire::is_driver_up(&reply) {
            self.state.send_if_modified(|state| replace(&mut state.driver, Some(is_up)));
        }
        // Replies to other clients have other ids, or none.
        if let Some(id) = reply["origin"]["id"].as_str().map(str::to_owned) {
            self.replies.answer(&id, reply);
        }
    }
}

fn json(payload: &[u8]) -> Option<Value> {
    serde_json::from_slice(payload).ok()
}

/// Replaces the value; returns whether it was another one before.
fn replace<T: PartialEq>(place: &mut T, value: T) -> bool {
    std::mem::replace(place, value) != *place
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{super::state::GatewayPresence, *};
    use serde_json::json;

    fn connection() -> MqttConnection {
        MqttConnection::new(BrokerAddress::parse("mqtt://broker").unwrap(), "home/zwave", None)
    }

    fn hear(connection: &MqttConnection, topic: &str, payload: &str, retain: bool) {
        let mut message = Publish::new(topic, QoS::AtLeastOnce, payload);
        message.retain = retain;
        connection.receive(&message);
    }

    // HM-1
    #[tokio::test]
    async fn gateways_and_their_driver_are_heard_of() {
        let connection = connection();
        let gateway = "home/zwave/_CLIENTS/ZWAVE_GATEWAY-a";
        let known = || connection.state.borrow().gateways.clone();
        let only = |presence| BTreeMap::from([("ZWAVE_GATEWAY-a".to_owned(), presence)]);
        hear(&connection, "home/zwave/_CLIENTS/other/status", r#"{"value":true}"#, true);
        hear(&connection, "zwave/_CLIENTS/ZWAVE_GATEWAY-b/status", r#"{"value":true}"#, true);
        hear(&connection, &format!("{gateway}/status"), "nonsense", true);
        // A gateway whose status was deleted leaves its version behind.
        hear(&connection, &format!("{gateway}/version"), r#"{"value":"11"}"#, true);
        assert_eq!(known(), BTreeMap::new());
        hear(&connection, &format!("{gateway}/version"), r#"{"value":"11"}"#, false);
        assert_eq!(known(), only(GatewayPresence::Online));
        hear(&connection, &format!("{gateway}/status"), r#"{"value":false}"#, false);
        // What it said before it went does not bring it back.
        hear(&connection, &format!("{gateway}/version"), r#"{"value":"11"}"#, true);
        assert_eq!(known(), only(GatewayPresence::Offline));
        hear(&connection, "home/zwave/driver/status", "true", true);
        assert_eq!(connection.state.borrow().driver, Some(true));
        hear(&connection, &format!("{gateway}/status"), "", false);
        assert_eq!(known(), BTreeMap::new());
    }

    // HM-1: what is retained of a driver may be years old; what its gateway answers is not.
    #[tokio::test]
    async fn an_answer_tells_more_of_the_driver_than_what_is_retained() {
        let connection = connection();
        let api = "home/zwave/_CLIENTS/ZWAVE_GATEWAY-a/api/getNodes";
        let driver = || connection.state.borrow().driver;
        hear(&connection, "home/zwave/driver/status", "false", true);
        assert_eq!(driver(), Some(false));
        hear(&connection, api, r#"{"success":true,"result":[]}"#, false);
        assert_eq!(driver(), Some(true));
        hear(&connection, api, r#"{"success":false,"message":"Unknown API"}"#, false);
        assert_eq!(driver(), Some(true));
        let refused = r#"{"success":false,"message":"Z-Wave client not connected"}"#;
        hear(&connection, api, refused, false);
        assert_eq!(driver(), Some(false));
    }

    // HM-1
    #[tokio::test]
    async fn answers_find_who_asked_and_end_with_the_gateway() {
        let connection = connection();
        let api = "home/zwave/_CLIENTS/ZWAVE_GATEWAY-a/api/getNodes";
        let (mine, lost) = (connection.replies.expect("1"), connection.replies.expect("2"));
        for reply in
            ["nonsense", r#"{"origin":{}}"#, r#"{"origin":{"id":"3"}}"#, r#"{"origin":{"id":"1"}}"#]
        {
            hear(&connection, api, reply, false);
        }
        assert_eq!(mine.answer().await, Some(json!({"origin": {"id": "1"}})));
        hear(
            &connection,
            "home/zwave/_CLIENTS/ZWAVE_GATEWAY-a/status",
            r#"{"value":false}"#,
            false,
        );
        assert_eq!(lost.answer().await, None);
    }

    // HM-1
    #[tokio::test]
    async fn only_news_of_values_are_passed_on() {
        let connection = connection();
        let mut values = connection.values.subscribe();
        hear(&connection, "home/zwave/Lamp/switch_binary/endpoint_0/currentValue", "true", true);
        hear(
            &connection,
            "home/zwave/Lamp/switch_binary/endpoint_0/targetValue/set",
            "true",
            false,
        );
        hear(&connection, "elsewhere/Lamp", "true", false);
        hear(&connection, "home/zwave/Lamp/switch_binary/endpoint_0/currentValue", "false", false);
        let heard = values.try_recv().unwrap();
        assert_eq!(
            (heard.topic.as_str(), heard.payload.as_slice()),
            ("Lamp/switch_binary/endpoint_0/currentValue", b"false".as_slice())
        );
        assert!(values.try_recv().is_err());
    }
}
