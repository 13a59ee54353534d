//! What happens, for who watches: people at the terminal, programs at stdout, the household over MQTT.

use std::time::Duration;

use jiff::{Timestamp, Unit};
use serde::Serialize;

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum VoiceEvent {
    /// What we do now.
    State(VoiceState),
    /// The wake word was heard.
    Called(String),
    /// A sound was not taken for speech that is meant for us, for this reason.
    Ignored(String),
    /// Somebody has said something.
    Transcription(Transcription),
    /// The model calls this tool.
    Calling(String),
    /// There is an answer.
    Answer(AnswerEvent),
    /// Something does not work; we go on.
    Failure(FailureEvent),
}

/// What we do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VoiceState {
    /// Waiting for somebody to say something.
    Listening,
    /// Somebody speaks.
    Recording,
    /// Writing down what was said, and looking for an answer.
    Thinking,
    /// Waiting for the tools of these servers, which are connecting, before the question is answered.
    Connecting(Vec<String>),
    /// Saying the answer.
    Speaking,
    /// Gone.
    Offline,
}

impl VoiceState {
    /// The state in one word, as messages have it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Listening => "listening",
            Self::Recording => "recording",
            Self::Thinking => "thinking",
            Self::Connecting(_) => "connecting",
            Self::Speaking => "speaking",
            Self::Offline => "offline",
        }
    }
}

/// What somebody said.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Transcription {
    /// The words.
    pub text: String,
    /// When they were written down, as RFC 3339.
    pub timestamp: String,
    /// Where the sound came from.
    pub source: String,
    /// How long the sound is, in seconds.
    pub duration: f64,
}

/// What was answered.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AnswerEvent {
    /// What was said or typed.
    pub question: String,
    /// The answer, as it is spoken.
    pub answer: String,
    /// When it came, as RFC 3339.
    pub timestamp: String,
    /// Where the question came from.
    pub source: String,
    /// The model's name at its provider.
    pub model: String,
    /// Whose wire the model speaks.
    pub provider: String,
    /// How many questions the model remembers, this one included.
    pub conversation_turns: usize,
    /// How long the answer took from the end of the question on, in seconds.
    pub duration: f64,
}

/// What does not work.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FailureEvent {
    /// Which part.
    pub stage: Stage,
    /// What happened, with its causes.
    pub error: String,
    /// When, as RFC 3339.
    pub timestamp: String,
}

/// The parts that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// The connection to the broker.
    Mqtt,
    /// Where sound comes from.
    Source,
    /// What hears the wake word.
    Wake,
    /// Speech to text.
    Stt,
    /// The model.
    Model,
    /// A tool that the model called.
    Tool,
    /// Text to speech.
    Tts,
    /// Where answers are heard.
    Output,
    /// A typed request.
    Request,
}

impl Stage {
    /// What is said aloud when it fails; nothing where that would have to pass the very part that fails.
    pub(crate) fn apology(self) -> Option<&'static str> {
        Some(match self {
            Self::Mqtt => "I have no connection to the household. I will keep trying.",
            Self::Source => "I cannot hear anything. I will keep trying.",
            Self::Wake => "I cannot hear my name at the moment. I will keep trying.",
            Self::Stt => "Sorry, I could not understand you: the speech recognition does not work.",
            Self::Model => "Sorry, I have no answer: the model could not be asked.",
            // The model tells of it, and who typed reads.
            Self::Tool | Self::Request | Self::Tts | Self::Output => return None,
        })
    }

    /// Whether somebody is left without an answer, or without hearing it.
    pub(crate) fn costs_an_answer(self) -> bool {
        matches!(self, Self::Stt | Self::Model | Self::Tts | Self::Output | Self::Source)
    }
}

/// The time, to the millisecond.
pub(crate) fn now() -> String {
    let now = Timestamp::now();
    format!("{:.3}", now.round(Unit::Millisecond).unwrap_or(now))
}

/// Seconds, to the millisecond.
pub(crate) fn seconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1000.0).round() / 1000.0
}
