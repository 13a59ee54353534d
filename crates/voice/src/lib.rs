//! Speech in, an agent's turn, speech out (SPEC HM-2).

mod audio;
mod error;
mod speech;
mod wake;
mod clips;
mod wyoming;
mod openai;
mod services;

pub use audio::{Clip, Format};
pub use error::SpeechError;
pub use services::{SpeechConfig, recogniser, synthesiser, wake_word};
pub use speech::{Recogniser, Spoken, Synthesiser};
pub use wake::{Blocks, WakeWord};
