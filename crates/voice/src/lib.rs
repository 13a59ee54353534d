//! Speech in, an agent's turn, speech out (SPEC HM-2).
//!
//! The parts are listed in the order in which sound passes them: a [`source`] provides blocks of samples, the `listener` cuts
//! utterances out of them, a [`Recogniser`] transcribes, the `assistant` answers, a [`Synthesiser`] speaks, an [`output`] plays.
//! [`BackgroundTranscriber`] runs them, reports each [`VoiceEvent`], and continues if a part fails. Typed requests come in
//! over MQTT and take the same path from the assistant on.
//!
//! ```no_run
//! use switchboard_voice::{Assistant, BackgroundTranscriber, Config, TranscriberParts, recogniser, synthesiser};
//!
//! # async fn example(assistant: Assistant) -> Result<(), Box<dyn std::error::Error>> {
//! let config: Config = serde_json::from_value(serde_json::json!({
//!     "source": "mic", "stt": "tcp://127.0.0.1:10300", "tts": "tcp://127.0.0.1:10200",
//! }))?;
//! let parts = TranscriberParts {
//!     recogniser: config.stt.as_ref().map(recogniser).transpose()?,
//!     synthesiser: config.tts.as_ref().map(synthesiser).transpose()?,
//!     wake_word: None,
//!     assistant,
//!     source: None,
//!     output: None,
//!     watcher: std::sync::Arc::new(|event| println!("{event:?}")),
//!     config,
//! };
//! BackgroundTranscriber::new(parts)?.run(&Default::default()).await;
//! # Ok(()) }
//! ```

mod config;
mod audio;
mod resample;
mod wav;
pub mod source;
mod sound_system;
mod wake;
mod activity;
mod listener;
mod speech;
mod clips;
mod wyoming;
mod openai;
mod services;
mod assistant;
mod memory;
mod speakable;
pub mod output;
mod mqtt;
mod event;
mod notifier;
mod turn;
mod transcriber;
pub mod reach;
mod error;

pub use assistant::{Assistant, NoServers, ToolServers};
pub use audio::{Clip, Format};
pub use config::{AudioSource, Config, Destination, WakeMode};
pub use error::{Error, SpeechError};
pub use event::{AnswerEvent, FailureEvent, Stage, Transcription, VoiceEvent, VoiceState};
pub use notifier::Watcher;
pub use services::{SpeechConfig, recogniser, synthesiser, wake_word};
pub use speakable::speakable;
pub use speech::{Recogniser, SpeechStream, Synthesiser};
pub use transcriber::{BackgroundTranscriber, TranscriberParts, VoiceSummary};
pub use wake::{Blocks, WakeWord};

/// The page for embedders: its blocks of Rust compile and, unless they say otherwise, run (ML-11).
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embedding.md")]
mod embedding {}
