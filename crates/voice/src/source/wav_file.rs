//! A WAV file, read once.

use std::{fs::File, io::BufReader, path::Path};

use switchboard_toolcall::BoxFuture;

use super::{BLOCK, Source};
use crate::{Blocks, Error, wav};

/// The sound of a WAV file.
pub struct WavSource {
    samples: Vec<i16>,
}

impl WavSource {
    /// Reads the file.
    ///
    /// # Errors
    /// The file does not exist, or is not a WAV.
    pub fn load(file: &Path) -> Result<Self, Error> {
        let failed =
            |source| Error::File { what: "read the sound of", file: file.to_owned(), source };
        let opened = File::open(file).map_err(|error| failed(error.into()))?;
        let samples = wav::read(BufReader::new(opened)).map_err(failed)?;
        Ok(Self { samples })
    }
}

impl Source for WavSource {
    fn name(&self) -> &str {
        "wav"
    }

    fn is_live(&self) -> bool {
        false
    }

    fn open(&mut self) -> BoxFuture<'_, Result<Box<dyn Blocks + Send>, Error>> {
        let samples = std::mem::take(&mut self.samples).into_iter();
        Box::pin(async { Ok(Box::new(Samples(samples)) as Box<dyn Blocks + Send>) })
    }
}

/// Samples that are all there.
pub(super) struct Samples(pub(super) std::vec::IntoIter<i16>);

impl Blocks for Samples {
    fn next(&mut self) -> BoxFuture<'_, Option<Vec<i16>>> {
        let block: Vec<i16> = self.0.by_ref().take(BLOCK).collect();
        Box::pin(async { (!block.is_empty()).then_some(block) })
    }
}
