//! Sound as the stages hand it on: 16-bit samples with their format.

use std::time::Duration;

/// The format of a clip's samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Frames a second.
    pub rate: u32,
    /// Samples a frame.
    pub channels: u16,
}

impl Format {
    /// What recognisers and voice activity work on: 16 kHz, mono.
    pub const SPEECH: Self = Self { rate: 16_000, channels: 1 };
}

/// A stretch of sound: signed 16-bit samples, channels interleaved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clip {
    /// The format of the samples.
    pub format: Format,
    /// The samples.
    pub samples: Vec<i16>,
}

impl Clip {
    /// How long it lasts.
    pub fn duration(&self) -> Duration {
        let frames = self.samples.len() / usize::from(self.format.channels.max(1));
        Duration::from_secs_f64(frames as f64 / f64::from(self.format.rate.max(1)))
    }
}
