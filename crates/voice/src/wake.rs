//! The trait for wake word detection.

use switchboard_toolcall::BoxFuture;

use crate::SpeechError;

/// Detects a wake word.
pub trait WakeWord: Send + Sync {
    /// Returns its name and address, for people.
    fn name(&self) -> &str;

    /// Takes 16 kHz mono blocks until the word is detected. Returns the word. Dropping the future stops it.
    fn listen<'a>(
        &'a self,
        blocks: &'a mut (dyn Blocks + Send),
    ) -> BoxFuture<'a, Result<String, SpeechError>>;
}

/// Blocks of samples as they come from a source.
pub trait Blocks {
    /// Returns the next block; `None` at the end of the source.
    fn next(&mut self) -> BoxFuture<'_, Option<Vec<i16>>>;
}
