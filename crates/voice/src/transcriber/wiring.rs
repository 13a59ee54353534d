//! What the gateway is made of, and what of it the settings name.

use std::sync::Arc;

use crate::{
    Config, Error, Recogniser, Synthesiser, WakeWord, Watcher,
    assistant::Assistant,
    config::{Call, Destination, Origin},
    listener::Gate,
    mqtt::Mqtt,
    output::{MqttOutput, Output, Speaker, WavOutput},
    source::{self, Channel, SampleSender, Source},
};

/// What the gateway is made of, beside what the settings name.
pub struct TranscriberParts {
    /// The settings.
    pub config: Config,
    /// Turns speech into text.
    pub recogniser: Option<Arc<dyn Recogniser>>,
    /// Hears when somebody calls.
    pub wake_word: Option<Arc<dyn WakeWord>>,
    /// Answers.
    pub assistant: Assistant,
    /// Turns text into speech.
    pub synthesiser: Option<Arc<dyn Synthesiser>>,
    /// A source in place of the settings' one.
    pub source: Option<Box<dyn Source>>,
    /// An output in place of the settings' one.
    pub output: Option<Arc<dyn Output>>,
    /// Who watches.
    pub watcher: Watcher,
}

/// A source, where there is one, and where to put sound over MQTT, where it comes from there.
type Wired = (Option<Box<dyn Source>>, Option<SampleSender>);

/// The source that the settings name.
pub(super) fn source(config: &Config, has_broker: bool) -> Result<Wired, Error> {
    Ok(match config.source() {
        Origin::Mic(device) => (Some(Box::new(source::Microphone::new(device))), None),
        Origin::Wav(file) => (Some(Box::new(source::WavSource::load(&file)?)), None),
        Origin::Stdin => (Some(Box::new(source::Stdin::new())), None),
        Origin::None => (None, None),
        Origin::Mqtt if !has_broker => return Err(Error::NoBroker { what: "sound" }),
        Origin::Mqtt => {
            let (feed, channel) = Channel::new("mqtt");
            (Some(Box::new(channel)), Some(feed))
        }
    })
}

/// The output that the settings name.
pub(super) fn output(
    config: &Config,
    mqtt: Option<&Mqtt>,
) -> Result<Option<Arc<dyn Output>>, Error> {
    Ok(match (config.output(), mqtt) {
        (Destination::None, _) => None,
        (Destination::Speaker(device), _) => Some(Arc::new(Speaker::new(device))),
        (Destination::Wav(file), _) => Some(Arc::new(WavOutput::create(file)?)),
        (Destination::Mqtt, Some(mqtt)) => Some(Arc::new(MqttOutput(mqtt.clone()))),
        (Destination::Mqtt, None) => return Err(Error::NoBroker { what: "speech" }),
    })
}

/// How the ear learns that it is meant.
pub(super) fn gate(config: &Config, wake_word: Option<Arc<dyn WakeWord>>) -> Gate {
    match (&config.wake, wake_word) {
        (Some(Call::Push), _) => Gate::Push,
        (Some(Call::Word(_)), Some(word)) => Gate::Word(word),
        _ => Gate::Open,
    }
}
