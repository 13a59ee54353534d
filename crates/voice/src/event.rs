//! Events of the pipeline, for observers: the terminal, stdout and MQTT.

use std::time::Duration;

use jiff::{Timestamp, Unit};
use serde::Serialize;

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum VoiceEvent {
    /// The state changed.
    State(VoiceState),
    /// The wake word was detected.
    Called(String),
    /// A sound was ignored, for this reason.
    Ignored(String),
    /// Speech was transcribed.
    Transcription(Transcription),
    /// The model calls this tool.
    Calling(String),
    /// There is an answer.
    Answer(AnswerEvent),
    /// A part failed; the pipeline continues.
    Failure(FailureEvent),
}

/// The state of the pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VoiceState {
    /// Waiting for speech.
    Listening,
    /// There is speech.
    Recording,
    /// Transcribing and answering.
    Thinking,
    /// Waiting for the tools of these servers, which are connecting, before the question is answered.
    Connecting(Vec<String>),
    /// Saying the answer.
    Speaking,
    /// The pipeline has ended.
    Offline,
}

impl VoiceState {
    /// Returns the state in one word, as in messages.
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

/// A transcribed request.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
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

/// An answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AnswerEvent {
    /// The request.
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

/// A failure.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
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
    /// The wake word service.
    Wake,
    /// Speech to text.
    Stt,
    /// The model.
    Model,
    /// A tool that the model called.
    Tool,
    /// Text to speech.
    Tts,
    /// The output.
    Output,
    /// A typed request.
    Request,
}

impl Stage {
    /// Returns what is said aloud when it fails; `None` if the failed part would be needed for that.
    pub(crate) fn apology(self) -> Option<&'static str> {
        Some(match self {
            Self::Mqtt => "I have no connection to the household. I will keep trying.",
            Self::Source => "I cannot hear anything. I will keep trying.",
            Self::Wake => "I cannot hear my name at the moment. I will keep trying.",
            Self::Stt => "Sorry, I could not understand you: the speech recognition does not work.",
            Self::Model => "Sorry, I have no answer: the model could not be asked.",
            // The model reports it, and typed requests are answered in writing.
            Self::Tool | Self::Request | Self::Tts | Self::Output => return None,
        })
    }

    /// Returns whether a request is left without an answer, or without hearing it.
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
