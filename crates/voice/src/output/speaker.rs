//! The speaker, through a player of this machine.

use switchboard_toolcall::BoxFuture;
use tokio::io::AsyncWriteExt;

use super::{Output, PlaybackError};
use crate::{
    Error, SpeechStream,
    sound_system::{SoundSystem, complaint},
    source::bytes,
};

/// The speaker, or another playing device.
pub struct Speaker {
    device: Option<String>,
}

impl Speaker {
    /// The device of this name, as the sound system has it, or the usual one.
    pub fn new(device: Option<String>) -> Self {
        Self { device }
    }

    async fn play_all(&self, mut spoken: SpeechStream) -> Result<(), PlaybackError> {
        let Some(first) = spoken.recv().await.transpose()? else { return Ok(()) };
        let system = SoundSystem::find().await;
        let mut player = system.play(first.format, self.device.as_deref())?;
        let mut stdin = player.stdin.take();
        let mut next = Some(first);
        while let (Some(clip), Some(pipe)) = (next, &mut stdin) {
            // A player that has ended says why, below.
            if pipe.write_all(&bytes(&clip.samples)).await.is_err() {
                break;
            }
            next = spoken.recv().await.transpose()?;
        }
        // It plays the rest, and ends.
        drop(stdin);
        let failed = |reason: String| PlaybackError::from(Error::device("the speaker", reason));
        match player.wait().await {
            Ok(status) if status.success() => Ok(()),
            Ok(_) => Err(failed(complaint(player.stderr.take()).await)),
            Err(error) => Err(failed(error.to_string())),
        }
    }
}

impl Output for Speaker {
    fn play<'a>(&'a self, spoken: SpeechStream) -> BoxFuture<'a, Result<(), PlaybackError>> {
        Box::pin(self.play_all(spoken))
    }
}
