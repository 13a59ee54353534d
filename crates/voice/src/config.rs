//! The settings of voice, and the small languages in which sources, outputs and ways to be called are named.

use std::{fmt, path::PathBuf, str::FromStr, time::Duration};

use serde::Deserialize;
use switchboard_toolcall::HumanDuration;

use crate::SpeechConfig;

/// The settings of `[voice]`.
#[derive(Clone, Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The broker, `mqtt://[USER:PASSWORD@]HOST[:PORT]` or `mqtts://…`; without one nothing is published.
    pub mqtt: Option<String>,
    /// The authority that the broker's certificate is believed from, in place of those that this machine knows: a PEM file.
    pub ca: Option<PathBuf>,
    /// What our topics begin with.
    pub prefix: String,
    /// The model that is asked, as `-m` names it.
    pub model: Option<String>,
    /// Where sound comes from; the microphone if there is a recogniser, else nowhere.
    pub source: Option<AudioSource>,
    /// What turns speech into text: its address, or a table with its `url`.
    pub stt: Option<SpeechConfig>,
    /// What turns text into speech, in the same way.
    pub tts: Option<SpeechConfig>,
    /// How it is called: what hears a wake word, in the same way, or `push` for push-to-talk alone; always listening without.
    pub wake: Option<WakeMode>,
    /// Where answers are played; over MQTT if sound comes from there, else the speaker.
    pub output: Option<Destination>,
    /// Further instructions for the model, besides that it is heard and not read.
    pub prompt: Option<String>,
    /// How many turns the model remembers.
    pub memory: usize,
    /// Whether speech stops an answer; by default for microphone and MQTT.
    pub barge_in: Option<bool>,
    /// How much sound before speech began is included.
    pub pre_roll: HumanDuration,
    /// How much silence ends speech.
    pub silence: HumanDuration,
    /// How long speech may be.
    pub limit: HumanDuration,
    /// Shorter speech is ignored.
    pub min_speech: HumanDuration,
    /// Quieter speech is ignored, in dB below full scale.
    pub min_level: f32,
}

impl Default for Config {
    fn default() -> Self {
        let millis = |millis| HumanDuration(Duration::from_millis(millis));
        Self {
            mqtt: None,
            ca: None,
            prefix: "voice".to_owned(),
            model: None,
            source: None,
            stt: None,
            tts: None,
            wake: None,
            output: None,
            prompt: None,
            memory: 10,
            barge_in: None,
            pre_roll: millis(300),
            silence: millis(1_500),
            limit: millis(10_000),
            min_speech: millis(250),
            min_level: -50.0,
        }
    }
}

impl Config {
    /// Where sound comes from.
    pub fn source(&self) -> AudioSource {
        let usual = if self.stt.is_some() { AudioSource::Mic(None) } else { AudioSource::None };
        self.source.clone().unwrap_or(usual)
    }

    /// Returns where answers are played.
    pub fn output(&self) -> Destination {
        let usual = match (&self.tts, self.source()) {
            (None, _) => Destination::None,
            (Some(_), AudioSource::Mqtt) => Destination::Mqtt,
            (Some(_), _) => Destination::Speaker(None),
        };
        self.output.clone().unwrap_or(usual)
    }

    /// Returns whether speech stops an answer. Speech in a file was before the answer.
    pub fn barge_in(&self) -> bool {
        self.barge_in.unwrap_or(matches!(self.source(), AudioSource::Mic(_) | AudioSource::Mqtt))
    }
}

/// Where sound comes from.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "String")]
pub enum AudioSource {
    /// The microphone, or the recording device of this name.
    Mic(Option<String>),
    /// A WAV file, once.
    Wav(PathBuf),
    /// Raw samples over MQTT.
    Mqtt,
    /// Raw samples on stdin, to its end.
    Stdin,
    /// Nowhere: only typed requests are answered.
    None,
}

impl FromStr for AudioSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text.split_once(':').unwrap_or((text, "")) {
            ("mic", "") => Self::Mic(None),
            ("mic", device) => Self::Mic(Some(device.to_owned())),
            ("wav", file) if !file.is_empty() => Self::Wav(file.into()),
            ("mqtt", "") => Self::Mqtt,
            ("stdin", "") => Self::Stdin,
            ("none", "") => Self::None,
            _ => {
                return Err(format!(
                    "`{text}` is not a source; it is one of mic, mic:DEVICE, wav:FILE, mqtt, stdin, none"
                ));
            }
        })
    }
}

/// As messages name it in `source`.
impl fmt::Display for AudioSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mic(_) => "mic",
            Self::Wav(_) => "wav",
            Self::Mqtt => "mqtt",
            Self::Stdin => "stdin",
            Self::None => "none",
        })
    }
}

/// Where answers are played.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "String")]
pub enum Destination {
    /// The speaker, or the playing device of this name.
    Speaker(Option<String>),
    /// A WAV file, one answer after the other.
    Wav(PathBuf),
    /// A WAV over MQTT for each answer.
    Mqtt,
    /// Nowhere.
    None,
}

impl FromStr for Destination {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text.split_once(':').unwrap_or((text, "")) {
            ("speaker", "") => Self::Speaker(None),
            ("speaker", device) => Self::Speaker(Some(device.to_owned())),
            ("wav", file) if !file.is_empty() => Self::Wav(file.into()),
            ("mqtt", "") => Self::Mqtt,
            ("none", "") => Self::None,
            _ => {
                return Err(format!(
                    "`{text}` is not an output; it is one of speaker, speaker:DEVICE, wav:FILE, mqtt, none"
                ));
            }
        })
    }
}

/// How it is called before it listens.
#[derive(Clone, Debug, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(from = "SpeechConfig")]
pub enum WakeMode {
    /// Not at all: whatever is said is meant.
    Open,
    /// By a message on `listen`.
    Push,
    /// By a wake word, which this service detects.
    Word(SpeechConfig),
}

impl From<SpeechConfig> for WakeMode {
    fn from(config: SpeechConfig) -> Self {
        match config.url.as_str() {
            "none" => Self::Open,
            "push" | "push-to-talk" => Self::Push,
            _ => Self::Word(config),
        }
    }
}

impl TryFrom<String> for AudioSource {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl TryFrom<String> for Destination {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // HM-2
    #[test]
    fn what_is_not_set_follows_from_what_is() {
        let config = |text: &str| toml::from_str::<Config>(text).unwrap();
        let cases = [
            ("", AudioSource::None, Destination::None, false),
            ("stt = 'tcp://a'", AudioSource::Mic(None), Destination::None, true),
            ("tts = 'tcp://a'", AudioSource::None, Destination::Speaker(None), false),
            ("tts = 'tcp://a'\nsource = 'mqtt'", AudioSource::Mqtt, Destination::Mqtt, true),
            (
                "source = 'wav:a:b.wav'",
                AudioSource::Wav("a:b.wav".into()),
                Destination::None,
                false,
            ),
            (
                "source = 'mic:plughw:1,0'\noutput = 'wav:o.wav'\nbarge_in = false",
                AudioSource::Mic(Some("plughw:1,0".into())),
                Destination::Wav("o.wav".into()),
                false,
            ),
        ];
        for (text, source, output, barge_in) in cases {
            let config = config(text);
            assert_eq!(
                (config.source(), config.output(), config.barge_in()),
                (source, output, barge_in),
                "{text}"
            );
        }
        assert_eq!(config("wake = 'push'").wake, Some(WakeMode::Push));
        assert_eq!(
            config("wake = 'tcp://a'").wake,
            Some(WakeMode::Word(SpeechConfig::new("tcp://a")))
        );
    }

    // HM-2
    #[test]
    fn what_cannot_be_meant_is_told() {
        let cases = [
            ("source = 'microphone'", "`microphone` is not a source; it is one of mic"),
            ("source = 'wav:'", "wav:FILE"),
            ("source = 'stdin:x'", "is not a source"),
            ("output = 'mic'", "`mic` is not an output; it is one of speaker"),
            ("prefx = 'a'", "prefix"),
        ];
        for (text, words) in cases {
            let error = toml::from_str::<Config>(text).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
