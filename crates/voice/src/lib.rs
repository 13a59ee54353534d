//! Speech in, an agent's turn, speech out (SPEC HM-2).
//!
//! The parts stand in the order in which sound passes them: a [`source`] gives blocks of samples, the [`ear`] cuts what was
//! said out of them, a [`Recogniser`] writes it down, the [`mind`] answers, a [`Synthesiser`] speaks, an [`output`] is heard.
//! [`BackgroundTranscriber`] holds them together, tells [`News`] of what happens, and goes on whatever part fails. Typed requests come in
//! over MQTT and take the same way from the mind on.

pub mod config;
mod audio;
mod resample;
mod wav;
pub mod source;
mod sound_system;
mod wake;
pub mod activity;
pub mod ear;
mod speech;
mod clips;
mod wyoming;
mod openai;
mod services;
pub mod mind;
mod memory;
mod speakable;
pub mod output;
mod mqtt;
mod news;
mod telling;
mod turn;
pub mod gateway;
pub mod reach;
mod error;

pub use audio::{Clip, Format};
pub use config::Config;
pub use error::{Error, SpeechError};
pub use gateway::{BackgroundTranscriber, Ended, Parts};
pub use mind::{Mind, NoServers, ToolServers};
pub use news::{Answer, Failure, News, Stage, State, Transcription};
pub use services::{SpeechConfig, recogniser, synthesiser, wake_word};
pub use speakable::speakable;
pub use speech::{Recogniser, Spoken, Synthesiser};
pub use telling::Watcher;
pub use wake::{Blocks, WakeWord};

/// The page for embedders: its blocks of Rust compile and, unless they say otherwise, run (ML-11).
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embedding.md")]
mod embedding {}
