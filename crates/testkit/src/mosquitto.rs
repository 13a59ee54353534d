//! A real broker, mosquitto, and a client that subscribes and publishes.

use std::{
    path::Path,
    process::Command,
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use rumqttc::{Client, Event, MqttOptions, Packet, PublishOptions, QoS};
use serde_json::Value;

use crate::process::{Process, free_port};

const MOSQUITTO: &str = "/usr/sbin/mosquitto";
/// How long is waited for what must come.
const PATIENCE: Duration = Duration::from_secs(120);

/// A broker on a port of its own.
#[derive(Debug)]
pub struct Mosquitto {
    process: Process,
    port: u16,
}

impl Mosquitto {
    /// Starts it.
    ///
    /// # Panics
    /// mosquitto is not installed.
    pub fn start() -> Self {
        Self::on(free_port())
    }

    /// Starts it on this port.
    ///
    /// # Panics
    /// mosquitto is not installed.
    pub fn on(port: u16) -> Self {
        let mut mosquitto = Command::new(MOSQUITTO);
        mosquitto.args(["-p", &port.to_string()]);
        Self { process: Process::listening(mosquitto, port), port }
    }

    /// Starts it with this file of settings, which lets it listen on this port, too.
    ///
    /// # Panics
    /// mosquitto is not installed, or does not like the settings.
    pub fn configured(port: u16, file: &Path) -> Self {
        let mut mosquitto = Command::new(MOSQUITTO);
        mosquitto.arg("-c").arg(file);
        Self { process: Process::listening(mosquitto, port), port }
    }

    /// `mqtt://127.0.0.1:port`.
    pub fn url(&self) -> String {
        format!("mqtt://127.0.0.1:{}", self.port)
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Ends it at once.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Creates a client that receives all messages on topics of this filter.
    ///
    /// # Panics
    /// The broker is gone.
    pub fn listen(&self, filter: &str) -> MqttListener {
        let id = format!("listener-{}", free_port());
        let mut options = MqttOptions::new(id, ("127.0.0.1", self.port));
        options.set_max_packet_size(64 << 20, 64 << 20);
        let (client, mut connection) =
            Client::builder(options).capacity(64).try_build().expect("the broker can be reached");
        client.subscribe(filter, QoS::AtLeastOnce).expect("the client has room");
        let (sender, messages) = channel();
        let (subscribed, is_subscribed) = channel();
        thread::spawn(move || {
            for event in connection.iter() {
                match event {
                    Ok(Event::Incoming(Packet::SubAck(_))) => drop(subscribed.send(())),
                    Ok(Event::Incoming(Packet::Publish(message))) => {
                        let topic = String::from_utf8_lossy(&message.topic).into_owned();
                        if sender.send((topic, message.payload.to_vec())).is_err() {
                            return;
                        }
                    }
                    Ok(_) => {}
                    Err(_) => return,
                }
            }
        });
        is_subscribed.recv_timeout(PATIENCE).expect("the broker lets us listen");
        MqttListener { client, messages }
    }
}

/// Somebody at the broker.
pub struct MqttListener {
    client: Client,
    messages: Receiver<(String, Vec<u8>)>,
}

impl MqttListener {
    /// Says something.
    ///
    /// # Panics
    /// The broker is gone.
    pub fn say(&self, topic: &str, message: &Value) {
        self.send(topic, message.to_string().into_bytes());
    }

    /// Sends these bytes.
    ///
    /// # Panics
    /// The broker is gone.
    pub fn send(&self, topic: &str, payload: Vec<u8>) {
        let options = PublishOptions::new(QoS::AtLeastOnce);
        self.client.publish(topic, payload, options).expect("the client has room");
    }

    /// Publishes a retained text; an empty one deletes the retained one.
    ///
    /// # Panics
    /// The broker is gone.
    pub fn retain(&self, topic: &str, text: &str) {
        let options = PublishOptions::new(QoS::AtLeastOnce).retain(true);
        self.client.publish(topic, text, options).expect("the client has room");
    }

    /// Returns the next message, as bytes.
    ///
    /// # Panics
    /// Panics if there is none for two minutes.
    pub fn next(&self) -> (String, Vec<u8>) {
        self.messages.recv_timeout(PATIENCE).expect("somebody says something within two minutes")
    }

    /// The next message on this topic. Others are passed over.
    ///
    /// # Panics
    /// Panics if there is none for two minutes, or it is not JSON.
    pub fn hear(&self, topic: &str) -> Value {
        let mut passed = Vec::new();
        loop {
            let heard = self.messages.recv_timeout(PATIENCE);
            let Ok((at, payload)) = heard else {
                panic!("nothing on {topic} for two minutes; before that: {passed:#?}");
            };
            let text = String::from_utf8_lossy(&payload).into_owned();
            if at == topic {
                return serde_json::from_str(&text).unwrap_or_else(|_| panic!("{at}: {text}"));
            }
            passed.push((at, text.chars().take(300).collect::<String>()));
        }
    }
}
