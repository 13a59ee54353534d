//! Sound from another part of the program, such as the MQTT connection.

use switchboard_toolcall::BoxFuture;
use tokio::sync::mpsc;

use super::{Pcm, Source};
use crate::{Blocks, Error, wav};

/// How many pieces may be queued. A sender that is faster than real time fills it, so there is room for some minutes.
const PIECES: usize = 4_096;

/// Sends sound to the source.
#[derive(Clone)]
pub struct SampleSender(mpsc::Sender<Vec<u8>>);

impl SampleSender {
    /// Sends a piece: raw samples, or a WAV. Returns `false` if it was dropped because the receiver is too slow.
    pub fn give(&self, bytes: Vec<u8>) -> bool {
        self.0.try_send(bytes).is_ok()
    }
}

/// The source at the other end of a [`SampleSender`].
pub(crate) struct Channel {
    name: &'static str,
    pieces: Option<mpsc::Receiver<Vec<u8>>>,
}

impl Channel {
    pub(crate) fn new(name: &'static str) -> (SampleSender, Self) {
        let (sender, pieces) = mpsc::channel(PIECES);
        (SampleSender(sender), Self { name, pieces: Some(pieces) })
    }
}

impl Source for Channel {
    fn name(&self) -> &str {
        self.name
    }

    fn is_live(&self) -> bool {
        true
    }

    fn open(&mut self) -> BoxFuture<'_, Result<Box<dyn Blocks + Send>, Error>> {
        let pieces = self.pieces.take();
        Box::pin(async move {
            let pieces = pieces.ok_or_else(|| Error::device("sound over MQTT", "it has ended"))?;
            Ok(Box::new(Pieces { pieces, pcm: Pcm::default() }) as Box<dyn Blocks + Send>)
        })
    }
}

struct Pieces {
    pieces: mpsc::Receiver<Vec<u8>>,
    pcm: Pcm,
}

impl Blocks for Pieces {
    fn next(&mut self) -> BoxFuture<'_, Option<Vec<i16>>> {
        Box::pin(async {
            let bytes = self.pieces.recv().await?;
            if !bytes.starts_with(b"RIFF") {
                return Some(self.pcm.push(&bytes));
            }
            Some(wav::read(bytes.as_slice()).unwrap_or_else(|error| {
                tracing::warn!(%error, "a sound that begins like a WAV file cannot be read as one");
                Vec::new()
            }))
        })
    }
}
