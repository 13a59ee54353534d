//! Where sound comes from: blocks of 16 kHz mono, whatever is behind them.

mod pcm;
mod stdin;
mod wav_file;
mod microphone;
#[cfg(feature = "cpal")]
mod sound_card;
mod channel;

use std::sync::{Arc, Mutex, PoisonError};

use switchboard_toolcall::BoxFuture;

use crate::{Blocks, Error};

pub(crate) use channel::Channel;
pub use channel::SampleSender;
pub use microphone::Microphone;
pub use pcm::Pcm;
pub(crate) use pcm::bytes;
pub use stdin::Stdin;
pub use wav_file::WavSource;

/// Why a source came to its end, told by whoever records to whoever asks.
#[derive(Clone, Debug, Default)]
struct EndReason(Arc<Mutex<Option<String>>>);

impl EndReason {
    fn is(&self, reason: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
    }

    fn take(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// How many samples a block has where the source does not say.
pub(crate) const BLOCK: usize = 1024;

/// Something that can be listened to.
pub trait Source: Send {
    /// What it is, as messages name it in `source`.
    fn name(&self) -> &str;

    /// Whether it comes as it happens. What does not has an end, waits for its answers, and silence ends nothing.
    fn is_live(&self) -> bool;

    /// Begins to listen; again, where it ended and is live. [`Blocks::next`] may be dropped while it waits.
    fn open(&mut self) -> BoxFuture<'_, Result<Box<dyn Blocks + Send>, Error>>;

    /// Why it came to its end, where it knows.
    fn ending(&self) -> Option<String> {
        None
    }
}
