//! A WAV file with one answer after the other.

use std::{
    path::PathBuf,
    sync::atomic::{AtomicBool, Ordering},
};

use hound::WavWriter;
use switchboard_toolcall::BoxFuture;

use super::{Output, PlaybackError, whole};
use crate::{Clip, Error, SpeechStream, wav};

/// A file that each answer is appended to; it is truncated first.
pub struct WavOutput {
    file: PathBuf,
    is_begun: AtomicBool,
}

impl WavOutput {
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

impl Output for WavOutput {
    fn play<'a>(&'a self, spoken: SpeechStream) -> BoxFuture<'a, Result<(), PlaybackError>> {
        Box::pin(async {
            let Some(clip) = whole(spoken).await? else { return Ok(()) };
            let failed = |source| Error::File { what: "write", file: self.file.clone(), source };
            Ok(self.add(&clip).map_err(failed)?)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;
    use tokio::sync::mpsc;

    async fn play(output: &WavOutput, rate: u32, samples: &[i16]) -> Result<(), PlaybackError> {
        let (sender, spoken) = mpsc::channel(4);
        for part in samples.chunks(2) {
            let format = Format { rate, channels: 1 };
            sender.try_send(Ok(Clip { format, samples: part.to_vec() })).unwrap();
        }
        drop(sender);
        output.play(spoken).await
    }

    // HM-2
    #[tokio::test]
    async fn answers_follow_each_other_in_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("answers.wav");
        std::fs::write(&file, "what was there before").unwrap();
        let output = WavOutput::create(file.clone()).unwrap();
        play(&output, 16_000, &[1, 2, 3]).await.unwrap();
        play(&output, 16_000, &[]).await.unwrap();
        play(&output, 16_000, &[4]).await.unwrap();
        // One file has one format.
        let Err(PlaybackError::Output(problem)) = play(&output, 22_050, &[5]).await else {
            panic!("it took another format");
        };
        assert!(problem.contains("failed to write"), "{problem}");
        let samples = wav::read(std::fs::File::open(&file).unwrap()).unwrap();
        assert_eq!(samples, [1, 2, 3, 4]);
        let error = WavOutput::create(folder.path().join("no/a.wav")).err().unwrap();
        assert!(error.to_string().contains("failed to write"), "{error}");
    }
}
