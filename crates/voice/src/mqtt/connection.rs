//! The connection to the broker, with reconnects.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use rumqttc::{
    AsyncClient, Event, EventLoop, LastWill, Packet, Publish, PublishOptions, QoS,
    SubscribeFilterInput, SubscribeReasonCode,
};
use switchboard_mqtt::BrokerAddress;
use tokio::{
    sync::{Notify, mpsc, watch},
    time::sleep,
};
use tokio_util::sync::CancellationToken;

use super::{Incoming, messages};

/// The first and the longest time between two attempts.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));
/// How many requests the client may hold.
const REQUESTS: usize = 64;
/// How many messages wait for a broker that is away; beyond that the oldest are dropped.
const WAITING: usize = 256;

/// A message to be delivered.
#[derive(Clone)]
pub(super) struct PublishMessage {
    topic: &'static str,
    payload: Bytes,
    is_retained: bool,
}

impl PublishMessage {
    pub(super) fn new(topic: &'static str, payload: Vec<u8>) -> Self {
        Self { topic, payload: payload.into(), is_retained: false }
    }

    pub(super) fn retained(self) -> Self {
        Self { is_retained: true, ..self }
    }
}

/// What all users of the connection share.
pub(super) struct BrokerConnection {
    address: BrokerAddress,
    prefix: String,
    takes_sound: bool,
    incoming: mpsc::Sender<Incoming>,
    is_up: watch::Sender<bool>,
    outbox: Mutex<PublishQueue>,
    /// Notified when there is a message to deliver.
    filled: Notify,
    closing: CancellationToken,
}

#[derive(Default)]
struct PublishQueue {
    messages: VecDeque<PublishMessage>,
    /// The current state, published when a connection begins.
    state: Option<PublishMessage>,
    /// How many messages were dropped.
    dropped: usize,
}

impl BrokerConnection {
    pub(super) fn new(
        address: BrokerAddress,
        prefix: &str,
        takes_sound: bool,
        incoming: mpsc::Sender<Incoming>,
    ) -> Self {
        Self {
            address,
            prefix: prefix.to_owned(),
            takes_sound,
            incoming,
            is_up: watch::Sender::new(false),
            outbox: Mutex::default(),
            filled: Notify::new(),
            closing: CancellationToken::new(),
        }
    }

    pub(super) fn is_up(&self) -> bool {
        *self.is_up.borrow()
    }

    /// Delivers a message as soon as the broker is connected.
    pub(super) fn send(&self, message: PublishMessage) {
        let mut outbox = self.outbox();
        if outbox.messages.len() >= WAITING {
            outbox.messages.pop_front();
            outbox.dropped += 1;
        }
        outbox.messages.push_back(message);
        self.filled.notify_one();
    }

    /// Publishes a state, unless the broker is away: after a reconnect it gets the state of that time.
    pub(super) fn state_is(&self, state: PublishMessage) {
        self.outbox().state = Some(state.clone());
        if self.is_up() {
            self.send(state);
        }
    }

    /// Ends the connection once all is delivered.
    pub(super) fn close(&self) {
        self.closing.cancel();
    }

    /// Connects, receives and publishes, and reconnects when the connection is lost.
    pub(super) async fn run(self: Arc<Self>) {
        let mut pause = PAUSES.0;
        let mut is_told = false;
        loop {
            let reason = self.session().await;
            let was_up = self.is_up.send_replace(false);
            if self.closing.is_cancelled() {
                return;
            }
            if was_up || !is_told {
                let reason = format!("no connection to the MQTT broker {}: {reason}", self.address);
                // The receiver is gone.
                let _ = self.incoming.send(Incoming::Lost(reason)).await;
                is_told = true;
            }
            pause = if was_up { PAUSES.0 } else { (pause * 2).min(PAUSES.1) };
            sleep(pause).await;
        }
    }

    /// One connection, from its beginning to its end; returns why it ended.
    async fn session(&self) -> String {
        let mut options = match self.address.options() {
            Ok(options) => options,
            Err(reason) => return reason,
        };
        let will =
            LastWill::new(self.topic(messages::STATE), messages::will(), QoS::AtLeastOnce, true);
        options.set_last_will(will);
        let (client, events) = match AsyncClient::builder(options).capacity(REQUESTS).try_build() {
            Ok(parts) => parts,
            Err(error) => return error.to_string(),
        };
        // Neither future is dropped early: a client that is not polled to the end loses messages.
        tokio::select! {
            reason = self.listen(&client, events) => reason,
            reason = self.deliver(&client) => reason,
        }
    }

    async fn listen(&self, client: &AsyncClient, mut events: EventLoop) -> String {
        loop {
            match events.poll().await {
                Ok(Event::Incoming(Packet::ConnAck(_))) => {
                    let topics = messages::read(self.takes_sound);
                    let filters = topics.map(|topic| {
                        SubscribeFilterInput::new(self.topic(topic), QoS::AtLeastOnce)
                    });
                    if let Err(error) = client.try_subscribe_many(filters.collect::<Vec<_>>()) {
                        return error.to_string();
                    }
                }
                Ok(Event::Incoming(Packet::SubAck(ack))) => {
                    if ack.return_codes.contains(&SubscribeReasonCode::Failure) {
                        return format!("it does not let us read below `{}`", self.prefix);
                    }
                    tracing::info!(broker = %self.address, "connected to the MQTT broker");
                    let mut outbox = self.outbox();
                    let dropped = std::mem::take(&mut outbox.dropped);
                    if dropped > 0 {
                        tracing::warn!("{dropped} messages were dropped while the broker was away");
                    }
                    if let Some(state) = outbox.state.clone() {
                        outbox.messages.push_front(state);
                    }
                    drop(outbox);
                    self.is_up.send_replace(true);
                    self.filled.notify_one();
                }
                Ok(Event::Incoming(Packet::Publish(message))) => self.hear(&message).await,
                Ok(_) => {}
                Err(error) => return error.to_string(),
            }
        }
    }

    async fn hear(&self, message: &Publish) {
        let topic = String::from_utf8_lossy(&message.topic);
        let below = topic.strip_prefix(&*self.prefix).and_then(|rest| rest.strip_prefix('/'));
        let Some(incoming) = below.and_then(|topic| messages::meaning(topic, &message.payload))
        else {
            return;
        };
        if message.retain {
            // A retained request is from before we connected, and would be answered again at each reconnect.
            tracing::debug!(%topic, "a retained message is left alone");
            return;
        }
        // The receiver is gone: we are about to end.
        let _ = self.incoming.send(incoming).await;
    }

    /// Delivers messages, one after the other, each until it is confirmed. Ends when we are closing.
    async fn deliver(&self, client: &AsyncClient) -> String {
        let mut is_up = self.is_up.subscribe();
        // Cannot fail: `self` owns the sender.
        let _ = is_up.wait_for(|is_up| *is_up).await;
        loop {
            let next = self.outbox().messages.front().cloned();
            let Some(PublishMessage { topic, payload, is_retained }) = next else {
                if self.closing.is_cancelled() {
                    break;
                }
                tokio::select! {
                    () = self.filled.notified() => {}
                    () = self.closing.cancelled() => {}
                }
                continue;
            };
            let options = PublishOptions::new(QoS::AtLeastOnce).retain(is_retained);
            let sent = client.publish_tracked(self.topic(topic), payload, options).await;
            let Ok(notice) = sent else { break };
            // The other side of the session reports why it was lost.
            if notice.wait_async().await.is_err() {
                std::future::pending::<()>().await;
            }
            self.outbox().messages.pop_front();
        }
        // The broker may be gone.
        let _ = client.disconnect().await;
        std::future::pending().await
    }

    fn topic(&self, below: &str) -> String {
        format!("{}/{below}", self.prefix)
    }

    fn outbox(&self) -> MutexGuard<'_, PublishQueue> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection() -> (BrokerConnection, mpsc::Receiver<Incoming>) {
        let (sender, incoming) = mpsc::channel(8);
        let address = BrokerAddress::parse("mqtt://broker").unwrap();
        (BrokerConnection::new(address, "home/voice", true, sender), incoming)
    }

    // HM-2
    #[test]
    fn a_broker_that_stays_away_costs_the_oldest_messages_and_no_states() {
        let (connection, _incoming) = connection();
        for number in 0..WAITING + 3 {
            connection.send(PublishMessage::new("error", number.to_string().into_bytes()));
            connection.state_is(PublishMessage::new("state", b"listening".to_vec()).retained());
        }
        let outbox = connection.outbox();
        assert_eq!((outbox.messages.len(), outbox.dropped), (WAITING, 3));
        assert_eq!(outbox.messages.front().unwrap().payload, "3");
        assert!(outbox.messages.iter().all(|message| message.topic == "error"));
        assert!(outbox.state.as_ref().is_some_and(|state| state.is_retained));
    }

    // HM-2
    #[tokio::test]
    async fn only_what_is_asked_now_and_of_us_is_taken() {
        let (connection, mut incoming) = connection();
        let cases = [
            ("home/voice/request", true),   // asked before we came
            ("home/voice/answer", false),   // nobody's business
            ("home/voices/request", false), // somebody else's
            ("home/voice/request", false),
        ];
        for (topic, retain) in cases {
            let mut message = Publish::new(topic, QoS::AtLeastOnce, r#"{"text":"Hello"}"#);
            message.retain = retain;
            connection.hear(&message).await;
        }
        let Some(Incoming::Request(Ok(text))) = incoming.recv().await else { panic!("no request") };
        assert_eq!(text, "Hello");
        assert!(incoming.try_recv().is_err());
    }
}
