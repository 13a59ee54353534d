//! The parts of the pipeline, from the settings.

use std::sync::Arc;

use crate::{
    Config, Error, Recogniser, Synthesiser, WakeWord, Watcher,
    assistant::Assistant,
    config::{AudioSource, Destination, WakeMode},
    listener::Gate,
    mqtt::Mqtt,
    output::{MqttOutput, Output, Speaker, WavOutput},
    source::{self, Channel, SampleSender, Source},
};

/// The parts of the pipeline, besides what the settings name.
pub struct TranscriberParts {
    /// The settings.
    pub config: Config,
    /// Turns speech into text.
    pub recogniser: Option<Arc<dyn Recogniser>>,
    /// Detects the wake word.
    pub wake_word: Option<Arc<dyn WakeWord>>,
    /// Answers.
    pub assistant: Assistant,
    /// Turns text into speech.
    pub synthesiser: Option<Arc<dyn Synthesiser>>,
    /// A source in place of the settings' one.
    pub source: Option<Box<dyn Source>>,
    /// An output in place of the settings' one.
    pub output: Option<Arc<dyn Output>>,
    /// The observer.
    pub watcher: Watcher,
}

/// Returns the source, if there is one, and the sender for sound over MQTT, if it comes from there.
type Wired = (Option<Box<dyn Source>>, Option<SampleSender>);

/// Creates the source of the settings.
pub(super) fn source(config: &Config, has_broker: bool) -> Result<Wired, Error> {
    Ok(match config.source() {
        AudioSource::Mic(device) => (Some(Box::new(source::Microphone::new(device))), None),
        AudioSource::Wav(file) => (Some(Box::new(source::WavSource::load(&file)?)), None),
        AudioSource::Stdin => (Some(Box::new(source::Stdin::new())), None),
        AudioSource::None => (None, None),
        AudioSource::Mqtt if !has_broker => return Err(Error::NoBroker { what: "sound" }),
        AudioSource::Mqtt => {
            let (feed, channel) = Channel::new("mqtt");
            (Some(Box::new(channel)), Some(feed))
        }
    })
}

/// Creates the output of the settings.
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

/// Returns what starts the listening.
pub(super) fn gate(config: &Config, wake_word: Option<Arc<dyn WakeWord>>) -> Gate {
    match (&config.wake, wake_word) {
        (Some(WakeMode::Push), _) => Gate::Push,
        (Some(WakeMode::Word(_)), Some(word)) => Gate::Word(word),
        _ => Gate::Open,
    }
}
