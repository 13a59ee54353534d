//! The microphone, through cpal if it is built in, or else through a recording program.

use switchboard_toolcall::BoxFuture;
use tokio::{
    io::AsyncReadExt,
    process::{Child, ChildStdout},
};

#[cfg(feature = "cpal")]
use super::sound_card::SoundCard;
use super::{BLOCK, EndReason, Pcm, Source};
use crate::{
    Blocks, Error,
    sound_system::{SoundSystem, complaint},
};

/// The microphone, or another recording device.
pub struct Microphone {
    device: Option<String>,
    ending: EndReason,
}

impl Microphone {
    /// The device of this name, as the sound system has it, or the usual one.
    pub fn new(device: Option<String>) -> Self {
        Self { device, ending: EndReason::default() }
    }
}

impl Source for Microphone {
    fn name(&self) -> &str {
        "mic"
    }

    fn is_live(&self) -> bool {
        true
    }

    fn open(&mut self) -> BoxFuture<'_, Result<Box<dyn Blocks + Send>, Error>> {
        Box::pin(async {
            #[cfg(feature = "cpal")]
            match SoundCard::open(self.device.clone(), self.ending.clone()).await {
                Ok(card) => return Ok(Box::new(card) as Box<dyn Blocks + Send>),
                Err(error) => tracing::info!(%error, "cpal records nothing; a recorder is tried"),
            }
            let mut child = SoundSystem::find().await.record(self.device.as_deref())?;
            let stdout = child.stdout.take();
            let ending = self.ending.clone();
            let recording = Recording { child, stdout, pcm: Pcm::default(), ending };
            Ok(Box::new(recording) as Box<dyn Blocks + Send>)
        })
    }

    fn ending(&self) -> Option<String> {
        self.ending.take()
    }
}

/// A recorder that runs; it ends with this.
struct Recording {
    child: Child,
    stdout: Option<ChildStdout>,
    pcm: Pcm,
    ending: EndReason,
}

impl Blocks for Recording {
    fn next(&mut self) -> BoxFuture<'_, Option<Vec<i16>>> {
        Box::pin(async {
            let mut bytes = [0; 2 * BLOCK];
            let read = match &mut self.stdout {
                Some(stdout) => stdout.read(&mut bytes).await.unwrap_or(0),
                None => 0,
            };
            if read > 0 {
                return Some(self.pcm.push(&bytes[..read]));
            }
            let reason = complaint(self.child.stderr.take()).await;
            self.ending.is(Error::device("the microphone", reason).to_string());
            None
        })
    }
}
