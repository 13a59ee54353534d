//! A WAV file with one answer after the other.

use std::{
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
};

use hound::WavWriter;
use switchboard_toolcall::BoxFuture;

use super::{Output, Unheard, whole};
use crate::{Clip, Error, Spoken, wav};

/// A file that each answer is added to; what was in it before we came is gone.
pub struct WavFile {
    file: PathBuf,
    is_begun: AtomicBool,
}

impl WavFile {
    /// Takes the file for us.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn create(file: PathBuf) -> Result<Self, Error> {
        // Told now, and not after the first answer.
        if let Err(error) = std::fs::File::create(&file) {
            return Err(Error::File { what: "write", file, source: error.into() });
        }
        Ok(Self { file, is_begun: AtomicBool::new(false) })
    }

    fn add(&self, clip: &Clip) -> Result<(), hound::Error> {
        let spec = wav::spec(clip.format);
        let mut writer = match self.is_begun.load(Ordering::Relaxed) {
            true => WavWriter::append(&self.file)?,
            false => WavWriter::create(&self.file, spec)?,
        };
        if writer.spec() != spec {
            // One file has one format.
            return Err(hound::Error::Unsupported);
        }
        for sample in &clip.samples {
            writer.write_sample(*sample)?;
        }
        writer.finalize()?;
        self.is_begun.store(true, Ordering::Relaxed);
        Ok(())
    }
}

impl Output for WavFile {
    fn play<'a>(&'a self, spoken: Spoken) -> BoxFuture<'a, Result<(), Unheard>> {
        Box::pin(async {
            let Some(clip) = whole(spoken).await? else { return Ok(()) };
            let failed = |source| Error::File { what: "write", file: self.file.clone(), source };
            Ok(self.add(&clip).map_err(failed)?)
        })
    }
}
