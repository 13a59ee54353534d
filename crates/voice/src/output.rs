//! Outputs for answers.

mod speaker;
mod wav_file;
mod broker;

use switchboard_toolcall::BoxFuture;

use crate::{Clip, SpeechStream, error::chain};

pub(crate) use broker::MqttOutput;
pub use speaker::Speaker;
pub use wav_file::WavOutput;

/// Plays speech.
pub trait Output: Send + Sync {
    /// Plays it to its end. Dropping the future stops the sound.
    fn play<'a>(&'a self, spoken: SpeechStream) -> BoxFuture<'a, Result<(), PlaybackError>>;
}

/// Why an answer was not played, or only in part.
#[derive(Debug)]
#[non_exhaustive]
pub enum PlaybackError {
    /// The speech could not be synthesised.
    Speech(String),
    /// The speech could not be played.
    Output(String),
}

impl From<crate::SpeechError> for PlaybackError {
    fn from(error: crate::SpeechError) -> Self {
        Self::Speech(chain(&error))
    }
}

impl From<crate::Error> for PlaybackError {
    fn from(error: crate::Error) -> Self {
        Self::Output(chain(&error))
    }
}

/// Returns the whole speech as one clip; `None` if it is empty.
async fn whole(mut spoken: SpeechStream) -> Result<Option<Clip>, PlaybackError> {
    let mut whole: Option<Clip> = None;
    while let Some(clip) = spoken.recv().await {
        let clip = clip?;
        match &mut whole {
            Some(whole) => whole.samples.extend(clip.samples),
            None => whole = Some(clip),
        }
    }
    Ok(whole.filter(|clip| !clip.samples.is_empty()))
}
