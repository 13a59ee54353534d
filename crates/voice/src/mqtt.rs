//! MQTT: publishes events, and receives requests (SPEC HM-2).
//!
//! Messages are delivered at least once: each waits until the broker has confirmed it, across lost connections too. States are
//! the exception, since only the current one matters; it is retained, and a last will reports when we are gone.

mod connection;
mod messages;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use switchboard_mqtt::BrokerAddress;
use tokio::{sync::mpsc, task::JoinHandle, time::timeout};

use crate::{Config, Error, VoiceEvent, config::AudioSource};
use connection::{BrokerConnection, PublishMessage};

/// How long the last messages may take.
const CLOSING: Duration = Duration::from_secs(3);

/// A message from MQTT.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// A typed request, or what is wrong with it.
    Request(Result<String, String>),
    /// Listen, even without a wake word.
    Listen,
    /// The speech is complete.
    Enough,
    /// Sound.
    Sound(Vec<u8>),
    /// The broker cannot be reached; reported once until it can be.
    Lost(String),
}

/// A connection that is made in the background, and again whenever it is lost. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Mqtt {
    connection: Arc<BrokerConnection>,
    task: Arc<Mutex<Option<JoinHandle<()>>>>,
}

impl Mqtt {
    /// Connects to the broker at this address of the settings.
    ///
    /// # Errors
    /// Fails if the settings are invalid.
    pub(crate) fn connect(
        address: &str,
        config: &Config,
        incoming: mpsc::Sender<Incoming>,
    ) -> Result<Self, Error> {
        let prefix = switchboard_mqtt::prefix(&config.prefix)?;
        let mut address = BrokerAddress::parse(address)?;
        if let Some(ca) = &config.ca {
            address = address.trusting(ca)?;
        }
        let takes_sound = matches!(config.source(), AudioSource::Mqtt);
        let connection = Arc::new(BrokerConnection::new(address, prefix, takes_sound, incoming));
        let task = tokio::spawn(connection.clone().run());
        Ok(Self { connection, task: Arc::new(Mutex::new(Some(task))) })
    }

    /// Publishes an event, if it has a topic.
    pub(crate) fn publish(&self, news: &VoiceEvent) {
        match (messages::of(news), news) {
            (Some((topic, payload)), VoiceEvent::State(_)) => {
                self.connection.state_is(PublishMessage::new(topic, payload).retained());
            }
            (Some((topic, payload)), _) => {
                self.connection.send(PublishMessage::new(topic, payload))
            }
            (None, _) => {}
        }
    }

    /// Publishes speech as a WAV. Returns `false` if the broker is away, because late speech is useless.
    pub(crate) fn speak(&self, wav: Vec<u8>) -> bool {
        let is_up = self.connection.is_up();
        if is_up {
            self.connection.send(PublishMessage::new(messages::SPEECH, wav));
        }
        is_up
    }

    /// Sends the remaining messages, and disconnects.
    pub(crate) async fn close(&self) {
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut task) = task else { return };
        self.connection.close();
        if !self.connection.is_up() || timeout(CLOSING, &mut task).await.is_err() {
            task.abort();
        }
    }
}
