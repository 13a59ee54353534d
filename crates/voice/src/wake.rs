//! The seam to wake words: who hears that somebody calls.

use switchboard_toolcall::BoxFuture;

use crate::SpeechError;

/// Hears when somebody calls.
pub trait WakeWord: Send + Sync {
    /// What it is and where, for people.
    fn name(&self) -> &str;

    /// Listens: takes 16 kHz mono blocks until the word is heard; answers the word. Dropping stops.
    fn listen<'a>(
        &'a self,
        blocks: &'a mut (dyn Blocks + Send),
    ) -> BoxFuture<'a, Result<String, SpeechError>>;
}

/// Blocks of samples as they come from a source.
pub trait Blocks {
    /// The next block; none where the source has come to its end.
    fn next(&mut self) -> BoxFuture<'_, Option<Vec<i16>>>;
}
