//! The interface to speech services: one small trait each, whatever the protocol.

use switchboard_toolcall::BoxFuture;

use crate::{Clip, SpeechError};

/// Turns speech into text.
pub trait Recogniser: Send + Sync {
    /// Returns its name and address, for people: `Wyoming tcp://127.0.0.1:10300`.
    fn name(&self) -> &str;

    /// Transcribes speech. An empty text means that nothing was understood.
    ///
    /// The clip is [`Format::SPEECH`](crate::Format::SPEECH). Dropping the future cancels.
    fn transcribe<'a>(&'a self, clip: &'a Clip) -> BoxFuture<'a, Result<String, SpeechError>>;
}

/// Turns text into speech.
pub trait Synthesiser: Send + Sync {
    /// Returns its name and address, for people.
    fn name(&self) -> &str;

    /// Speaks a text. Dropping the answer stops the service's work.
    fn speak<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<SpeechStream, SpeechError>>;
}

/// Speech that may still arrive: clips of one format, in order.
pub type SpeechStream = tokio::sync::mpsc::Receiver<Result<Clip, SpeechError>>;
