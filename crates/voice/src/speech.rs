//! The seam to speech services: each is one small trait, whatever protocol is behind it.

use switchboard_toolcall::BoxFuture;

use crate::{Clip, SpeechError};

/// Turns speech into text.
pub trait Recogniser: Send + Sync {
    /// What it is and where, for people: `Wyoming tcp://127.0.0.1:10300`.
    fn name(&self) -> &str;

    /// Writes down what was said. An empty text means that nothing was understood.
    ///
    /// The clip is [`Format::SPEECH`](crate::Format::SPEECH). Dropping the future gives up.
    fn transcribe<'a>(&'a self, clip: &'a Clip) -> BoxFuture<'a, Result<String, SpeechError>>;
}

/// Turns text into speech.
pub trait Synthesiser: Send + Sync {
    /// What it is and where, for people.
    fn name(&self) -> &str;

    /// Speaks a text. Dropping the answer stops the service's work.
    fn speak<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<SpeechStream, SpeechError>>;
}

/// Speech that may still be under way: clips of one format, in order.
pub type SpeechStream = tokio::sync::mpsc::Receiver<Result<Clip, SpeechError>>;
