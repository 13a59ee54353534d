//! Sources of sound: blocks of 16 kHz mono.

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

/// Why a source ended.
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

/// The default size of a block, in samples.
pub(crate) const BLOCK: usize = 1024;

/// Something that can be listened to.
pub trait Source: Send {
    /// Returns its name, as in the `source` of messages.
    fn name(&self) -> &str;

    /// Returns whether it is live. A source that is not live has an end and waits for its answers, and a pause in it ends nothing.
    fn is_live(&self) -> bool;

    /// Opens it; opens it again if it is live and has ended. [`Blocks::next`] may be dropped while it waits.
    fn open(&mut self) -> BoxFuture<'_, Result<Box<dyn Blocks + Send>, Error>>;

    /// Returns why it ended, if that is known.
    fn ending(&self) -> Option<String> {
        None
    }
}
