//! Requests to the gateway's API: the target, the timeout, and what a missing reply means.

use std::time::Duration;

use rumqttc::{AsyncClient, PublishOptions, QoS};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout, timeout_at};
use ulid::Ulid;

use super::{
    connection::MqttConnection,
    state::{BrokerState, CHECK_GATEWAY, GatewayPresence, MqttState, NoGateway},
    topics, wire,
};
use crate::network::Error;

/// How long a call waits for a connection that is being opened.
const CONNECT: Duration = Duration::from_secs(3);
/// How long a call waits for one more attempt if the broker was down.
const AGAIN: Duration = Duration::from_secs(1);
/// How long after connecting to the broker the retained messages of gateways may take.
const DISCOVER: Duration = Duration::from_secs(1);
/// How long the gateway may take to answer.
const ANSWER: Duration = Duration::from_secs(4);
/// The same for a write, which waits for its device; the caller stops waiting long before.
const WRITTEN: Duration = Duration::from_secs(60);
/// The same for a request that costs the gateway nothing.
const PROBE: Duration = Duration::from_secs(1);
/// The request that costs nothing.
const PROBE_API: &str = "getInfo";

const CHECK_BROKER: &str =
    "is the MQTT broker running, and are its address, user and password right?";

/// One request to the API.
pub(super) struct ApiRequest {
    api: &'static str,
    args: Value,
    within: Duration,
    /// Whether it is sent again if the gateway announces itself while the reply is pending. Writes are not: they may have
    /// arrived.
    may_repeat: bool,
    /// Whether the gateway replies without asking a device: then no reply means that the gateway is gone.
    by_gateway_alone: bool,
}

impl ApiRequest {
    /// Requests what the gateway knows.
    pub(super) fn read(api: &'static str, args: Value) -> Self {
        Self { api, args, within: ANSWER, may_repeat: true, by_gateway_alone: true }
    }

    /// Requests what a device knows.
    pub(super) fn poll(api: &'static str, args: Value) -> Self {
        Self { by_gateway_alone: false, ..Self::read(api, args) }
    }

    /// Makes a device do something.
    pub(super) fn write(api: &'static str, args: Value) -> Self {
        Self { api, args, within: WRITTEN, may_repeat: false, by_gateway_alone: false }
    }

    /// Checks whether the gateway is alive.
    fn probe() -> Self {
        Self { within: PROBE, ..Self::read(PROBE_API, json!([])) }
    }
}

impl MqttConnection {
    /// Sends a request to the gateway's API, as soon as there is a gateway.
    pub(super) async fn ask(&self, request: ApiRequest) -> Result<Value, Error> {
        let (client, gateway) = self.ready().await?;
        self.send(&client, &gateway, request).await
    }

    /// Probes the gateway each time that its driver is reported as down, so that no call has to.
    pub(super) async fn probe_when_needed(&self) {
        let mut state = self.state.subscribe();
        let is_open =
            |state: &MqttState| state.needs_probe && matches!(state.broker, BrokerState::Up(..));
        while state.wait_for(is_open).await.is_ok() {
            if let Ok((client, gateway)) = self.find_gateway().await {
                // A reply, or a timeout, is handled by the waiting request.
                let _ = self.send(&client, &gateway, ApiRequest::probe()).await;
            }
            self.state.send_if_modified(|state| std::mem::take(&mut state.needs_probe));
        }
    }

    async fn send(
        &self,
        client: &AsyncClient,
        gateway: &str,
        request: ApiRequest,
    ) -> Result<Value, Error> {
        let end = Instant::now() + request.within;
        let mut state = self.state.subscribe();
        let service = format!("the Z-Wave gateway '{gateway}'");
        let lost = |reason: String| Error::Lost { service, reason, check: CHECK_GATEWAY };
        loop {
            let announcements = state.borrow_and_update().announcements;
            let id = Ulid::generate().to_string();
            let awaited = self.replies.expect(&id);
            let topic = topics::api(&self.prefix, gateway, request.api);
            let payload = json!({"args": request.args, "id": id}).to_string();
            let sent = client.publish(topic, payload, PublishOptions::new(QoS::AtLeastOnce)).await;
            sent.map_err(|error| self.no_broker(&error.to_string()))?;
            let is_back = |state: &MqttState| state.announcements != announcements;
            let is_silent = |state: &MqttState| {
                request.by_gateway_alone
                    && state.gateways.get(gateway) == Some(&GatewayPresence::Silent)
            };
            let news = async {
                let heard = state.wait_for(|state| is_back(state) || is_silent(state)).await;
                heard.is_ok_and(|state| is_back(&state))
            };
            let answer = tokio::select! {
                answer = timeout_at(end, awaited.answer()) => answer,
                is_back = news, if request.may_repeat => match is_back {
                    // The gateway was not there when the request was sent.
                    true => continue,
                    false => return Err(lost("it does not answer".to_owned())),
                },
            };
            return match answer {
                Ok(Some(reply)) => wire::result(request.api, reply),
                Ok(None) => Err(lost("it went away before it answered".to_owned())),
                Err(_) => {
                    if request.by_gateway_alone {
                        self.state.send_if_modified(|state| state.mark_silent(gateway));
                    }
                    Err(lost(format!("it did not answer within {}s", request.within.as_secs())))
                }
            };
        }
    }

    /// Returns the client and the gateway to ask, as soon as both are there.
    async fn ready(&self) -> Result<(AsyncClient, String), Error> {
        let mut state = self.state.subscribe();
        let is_settled = |state: &MqttState| !matches!(state.broker, BrokerState::Connecting);
        // Whether it is settled is checked below.
        let _ = timeout(CONNECT, state.wait_for(is_settled)).await;
        let is_down = matches!(state.borrow_and_update().broker, BrokerState::Down(_));
        if is_down {
            // The broker may be back: one more attempt.
            self.wanted.notify_one();
            let _ = timeout(AGAIN, state.changed()).await;
        }
        self.find_gateway().await?;
        // A gateway that may have been stopped is being probed.
        let _ = timeout(PROBE * 2, state.wait_for(|state| !state.needs_probe)).await;
        self.find_gateway().await
    }

    /// Returns the client and the gateway to ask, once the broker has announced one.
    async fn find_gateway(&self) -> Result<(AsyncClient, String), Error> {
        let mut state = self.state.subscribe();
        let (client, since) = match &state.borrow().broker {
            BrokerState::Up(client, since) => (client.clone(), *since),
            BrokerState::Connecting => return Err(self.no_broker("it has not answered yet")),
            BrokerState::Down(reason) => return Err(self.no_broker(reason)),
        };
        let is_known = |state: &MqttState| state.choose(self.gateway.as_deref()).is_some();
        let _ = timeout_at(since + DISCOVER, state.wait_for(is_known)).await;
        let nobody = || {
            let prefix = &self.prefix;
            Err(NoGateway::new(format!(
                "nothing was heard of one under `{prefix}/_CLIENTS` (if it does not retain its messages, name it with \
                 --gateway)"
            )))
        };
        let chosen = state.borrow().choose(self.gateway.as_deref()).unwrap_or_else(nobody);
        let unreachable = |NoGateway { reason, check }| {
            let service = "the Z-Wave gateway".to_owned();
            Error::Unreachable { service, reason, check }
        };
        if chosen.is_err() {
            self.probe_silent_gateways(&client);
        }
        Ok((client, chosen.map_err(unreachable)?))
    }

    /// Probes silent gateways, without waiting for replies.
    ///
    /// QoS 0, so that no broker keeps it for a gateway that is gone.
    fn probe_silent_gateways(&self, client: &AsyncClient) {
        let state = self.state.borrow();
        let silent = state.gateways.iter().filter(|(_, known)| **known == GatewayPresence::Silent);
        for (gateway, _) in silent {
            let topic = topics::api(&self.prefix, gateway, PROBE_API);
            let payload = json!({"args": [], "id": "sign-of-life"}).to_string();
            // If the queue is full, other requests are on their way.
            let _ = client.try_publish(topic, payload, PublishOptions::new(QoS::AtMostOnce));
        }
    }

    fn no_broker(&self, reason: &str) -> Error {
        let service = format!("the MQTT broker {}", self.address);
        Error::Unreachable { service, reason: reason.to_owned(), check: CHECK_BROKER }
    }
}
