//! Raw samples on stdin, or a WAV.

use std::io::Cursor;

use switchboard_toolcall::BoxFuture;
use tokio::io::{AsyncRead, AsyncReadExt};

use super::{BLOCK, Pcm, Source, wav_file::Samples};
use crate::{Blocks, Error, wav};

/// The first bytes of a WAV.
const WAV: &[u8] = b"RIFF";
/// The longest WAV that is taken: an hour and a half of CD sound.
const LONGEST: u64 = 1 << 30;

/// 16 kHz mono, 16 bits, to the end of the input; or a WAV, which has its own format.
pub struct Stdin<R = tokio::io::Stdin> {
    input: Option<R>,
}

impl Stdin {
    /// The stdin of this process.
    pub fn new() -> Self {
        Self::of(tokio::io::stdin())
    }
}

impl Default for Stdin {
    fn default() -> Self {
        Self::new()
    }
}

impl<R> Stdin<R> {
    /// Another input in its place.
    pub fn of(input: R) -> Self {
        Self { input: Some(input) }
    }
}

impl<R: AsyncRead + Send + Unpin + 'static> Source for Stdin<R> {
    fn name(&self) -> &str {
        "stdin"
    }

    fn is_live(&self) -> bool {
        false
    }

    fn open(&mut self) -> BoxFuture<'_, Result<Box<dyn Blocks + Send>, Error>> {
        Box::pin(async {
            let Some(mut input) = self.input.take() else {
                return Err(Error::device("stdin", "it has come to its end"));
            };
            let failed = |error: std::io::Error| Error::device("stdin", error.to_string());
            let mut first = Vec::new();
            (&mut input).take(WAV.len() as u64).read_to_end(&mut first).await.map_err(failed)?;
            if first != WAV {
                let mut pcm = Pcm::default();
                let ahead = pcm.push(&first);
                return Ok(Box::new(RawInput { input, pcm, ahead }) as Box<dyn Blocks + Send>);
            }
            (&mut input).take(LONGEST).read_to_end(&mut first).await.map_err(failed)?;
            Ok(Box::new(Samples(wav::read(Cursor::new(first))?.into_iter())))
        })
    }
}

struct RawInput<R> {
    input: R,
    pcm: Pcm,
    /// What was read to detect a WAV.
    ahead: Vec<i16>,
}

impl<R: AsyncRead + Send + Unpin> Blocks for RawInput<R> {
    fn next(&mut self) -> BoxFuture<'_, Option<Vec<i16>>> {
        Box::pin(async {
            if !self.ahead.is_empty() {
                return Some(std::mem::take(&mut self.ahead));
            }
            let mut bytes = [0; 2 * BLOCK];
            match self.input.read(&mut bytes).await {
                Ok(0) => None,
                Ok(read) => Some(self.pcm.push(&bytes[..read])),
                Err(error) => {
                    tracing::warn!(%error, "stdin cannot be read any more");
                    None
                }
            }
        })
    }
}
