//! The gateway at a real broker, in real time.

use std::time::Duration;

use rumqttc::{AsyncClient, Event, MqttOptions, Packet, Publish, PublishOptions, QoS};
use serde_json::{Value, json};
use switchboard_testkit::{
    Mosquitto,
    process::free_port,
    sounds::{babble, silence, wav},
};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::mpsc,
    time::timeout,
};

use super::test_transcriber::{TestPlan, TestTranscriber};
use crate::{
    Config, SpeechConfig,
    config::{AudioSource, Destination},
    source::bytes,
};

/// Somebody who hears all that is said below `home/voice`.
struct Household {
    client: AsyncClient,
    messages: mpsc::UnboundedReceiver<Publish>,
}

impl Household {
    async fn at(port: u16) -> Self {
        let mut options = MqttOptions::new(format!("household-{port}"), ("127.0.0.1", port));
        options.set_max_packet_size(1 << 24, 1 << 24);
        let (client, mut events) = AsyncClient::builder(options).capacity(64).build();
        client.subscribe("home/voice/#", QoS::AtLeastOnce).await.unwrap();
        let (sender, messages) = mpsc::unbounded_channel();
        let (subscribed, is_subscribed) = tokio::sync::oneshot::channel();
        tokio::spawn(async move {
            let mut subscribed = Some(subscribed);
            while let Ok(event) = events.poll().await {
                match event {
                    Event::Incoming(Packet::SubAck(_)) => {
                        subscribed.take().map(|subscribed| subscribed.send(()));
                    }
                    Event::Incoming(Packet::Publish(message)) => {
                        let _ = sender.send(message);
                    }
                    _ => {}
                }
            }
        });
        is_subscribed.await.unwrap();
        Self { client, messages }
    }

    async fn say(&self, topic: &str, payload: impl Into<bytes::Bytes>) {
        let options = PublishOptions::new(QoS::AtLeastOnce);
        self.client.publish(format!("home/voice/{topic}"), payload.into(), options).await.unwrap();
    }

    /// The next message on this topic, which must be of QoS 1.
    async fn hear(&mut self, topic: &str) -> Publish {
        let topic = format!("home/voice/{topic}");
        let heard = async {
            loop {
                let message = self.messages.recv().await.unwrap();
                if message.topic == topic.as_bytes() {
                    return message;
                }
            }
        };
        let limit = Duration::from_secs(60);
        let message = timeout(limit, heard).await.unwrap_or_else(|_| panic!("nothing on {topic}"));
        assert_eq!(message.qos, QoS::AtLeastOnce, "{topic}");
        message
    }

    async fn hear_json(&mut self, topic: &str) -> Value {
        serde_json::from_slice(&self.hear(topic).await.payload).unwrap()
    }
}

/// Lets those in who come to this port, to the broker at that one.
async fn open(door: u16, broker: u16) {
    let listener = TcpListener::bind(("127.0.0.1", door)).await.unwrap();
    tokio::spawn(async move {
        while let Ok((mut inside, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut outside = TcpStream::connect(("127.0.0.1", broker)).await?;
                copy_bidirectional(&mut inside, &mut outside).await
            });
        }
    });
}

fn config(port: u16) -> Config {
    Config {
        mqtt: Some(format!("mqtt://127.0.0.1:{port}")),
        prefix: "home/voice".to_owned(),
        ..Config::default()
    }
}

// HM-2: QoS 1, states in order, what is wrong with a request.
#[tokio::test]
async fn a_request_is_answered_over_the_broker() {
    let broker = Mosquitto::start();
    let mut household = Household::at(broker.port()).await;
    let stage = TestTranscriber::new(TestPlan {
        config: config(broker.port()),
        is_wired: true,
        ..TestPlan::default()
    });
    assert_eq!(household.hear_json("state").await["state"], "listening");
    household.say("request", r#"{"text":"call light {}\nthen\nsay **It is on**"}"#).await;
    let answer = household.hear_json("ai-response").await;
    let fields = ["answer", "source", "model", "provider", "conversationTurns"];
    let told = fields.map(|field| answer[field].clone());
    assert_eq!(json!(told), json!(["It is on.", "request", "model", "openai", 1]));
    assert_eq!(household.hear_json("state").await["state"], "listening");
    household.say("request", "turn it off").await;
    let error = household.hear_json("error").await;
    assert_eq!(error["stage"], "request");
    assert!(error["error"].as_str().unwrap().contains("it is not JSON"), "{error}");
    household.say("listen", "").await;
    let error = household.hear_json("error").await;
    assert!(error["error"].as_str().unwrap().contains("nothing to listen to"), "{error}");
    stage.stopped().await;
    assert_eq!(household.hear_json("state").await["state"], "offline");
    // Who comes later is told how it is.
    let mut late = Household::at(broker.port()).await;
    assert!(late.hear("state").await.retain);
}

// HM-2: raw sound in, a WAV out.
#[tokio::test]
async fn sound_is_answered_with_sound() {
    let broker = Mosquitto::start();
    let mut household = Household::at(broker.port()).await;
    let config = Config {
        source: Some(AudioSource::Mqtt),
        output: Some(Destination::Mqtt),
        tts: Some(SpeechConfig::new("tcp://unused")),
        ..config(broker.port())
    };
    let understood = vec!["say Hi", "say Ho"];
    let stage = TestTranscriber::new(TestPlan {
        config,
        understood,
        is_wired: true,
        ..TestPlan::default()
    });
    household.hear("state").await;
    // In pieces that cut samples, and without silence behind: the household just stops sending.
    for piece in bytes(&[silence(0.5), babble(1.5, 0.3)].concat()).chunks(999) {
        household.say("audio", piece.to_vec()).await;
    }
    let said = household.hear_json("transcription").await;
    assert_eq!((&said["text"], &said["source"]), (&json!("say Hi"), &json!("mqtt")));
    assert!(said["duration"].as_f64().unwrap() > 1.5, "{said}");
    let speech = household.hear("speech").await.payload;
    let speech = crate::wav::read(&speech[..]).unwrap();
    assert_eq!(speech.len(), 3 * 1600); // `Hi.`
    // A whole WAV will do, too.
    household.say("audio", wav(&[babble(1.5, 0.3), silence(2.0)].concat())).await;
    assert_eq!(household.hear_json("transcription").await["text"], "say Ho");
    household.hear("speech").await;
    stage.stopped().await;
}

// HM-2: the broker may come later, go and come back; nothing that was said is lost.
#[tokio::test]
async fn the_broker_comes_and_goes() {
    let (port, door) = (free_port(), free_port());
    // Sound does not need it.
    let config = Config { silence: Config::default().silence, ..config(door) };
    let stage = TestTranscriber::new(TestPlan {
        config,
        understood: vec!["say Hello"],
        ..TestPlan::default()
    });
    stage.give([silence(0.5), babble(1.5, 0.3), silence(2.0)].concat());
    stage.until("answer Hello. to talk #1").await;
    let mut broker = Mosquitto::on(port);
    let mut household = Household::at(port).await;
    // The gateway comes in only now: what it says before somebody listens, nobody hears.
    open(door, port).await;
    let told = household.hear_json("ai-response").await;
    assert_eq!(told["answer"], "Hello.");
    broker.kill();
    tokio::time::sleep(Duration::from_millis(300)).await;
    let _broker = Mosquitto::on(port);
    let mut household = Household::at(port).await;
    assert_eq!(household.hear_json("state").await["state"], "listening");
    stage.stopped().await;
    assert_eq!(household.hear_json("state").await["state"], "offline");
}
