//! Speech in, an agent's turn, speech out (SPEC HM-2).

mod audio;
mod error;
mod speech;
mod wake;

pub use audio::{Clip, Format};
pub use error::SpeechError;
pub use speech::{Recogniser, Spoken, Synthesiser};
pub use wake::{Blocks, WakeWord};
