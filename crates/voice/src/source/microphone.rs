//! The microphone, through a recorder of this machine.

use std::sync::{Arc, Mutex, PoisonError};

use switchboard_toolcall::BoxFuture;
use tokio::{
    io::AsyncReadExt,
    process::{Child, ChildStdout},
};

use super::{BLOCK, Pcm, Source};
use crate::{
    Blocks, Error,
    sound_system::{SoundSystem, complaint},
};

/// The microphone, or another recording device.
pub struct Microphone {
    device: Option<String>,
    ending: Arc<Mutex<Option<String>>>,
}

impl Microphone {
    /// The device of this name, as the sound system has it, or the usual one.
    pub fn new(device: Option<String>) -> Self {
        Self { device, ending: Arc::default() }
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
            let mut child = SoundSystem::find().await.record(self.device.as_deref())?;
            let stdout = child.stdout.take();
            let ending = self.ending.clone();
            let recording = Recording { child, stdout, pcm: Pcm::default(), ending };
            Ok(Box::new(recording) as Box<dyn Blocks + Send>)
        })
    }

    fn ending(&self) -> Option<String> {
        self.ending.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// A recorder that runs; it ends with this.
struct Recording {
    child: Child,
    stdout: Option<ChildStdout>,
    pcm: Pcm,
    ending: Arc<Mutex<Option<String>>>,
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
            let reason = Error::device("the microphone", reason).to_string();
            *self.ending.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
            None
        })
    }
}
