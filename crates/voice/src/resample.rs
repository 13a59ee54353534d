//! Brings sound of any format to 16 kHz mono, as a stream.

use std::f64::consts::PI;

use crate::Format;

/// How many zero crossings of the filter there are on each side: enough that speech keeps its consonants.
const REACH: f64 = 16.0;

/// Turns samples of one format into [`Format::SPEECH`], block by block.
pub(crate) struct Resampler {
    from: Format,
    /// Mono samples that later output still needs.
    kept: Vec<f32>,
    /// The position of the next output sample, in kept samples.
    place: f64,
    /// Samples of a frame that is not complete.
    rest: Vec<i16>,
}

impl Resampler {
    pub(crate) fn new(from: Format) -> Self {
        let mut resampler = Self { from, kept: Vec::new(), place: 0.0, rest: Vec::new() };
        // The filter looks back, so there is silence before the beginning.
        let reach = resampler.reach();
        resampler.kept.resize(reach, 0.0);
        resampler.place = reach as f64;
        resampler
    }

    /// Returns the samples for the sound so far.
    pub(crate) fn push(&mut self, samples: &[i16]) -> Vec<i16> {
        if self.from == Format::SPEECH {
            return samples.to_vec();
        }
        self.rest.extend_from_slice(samples);
        let channels = usize::from(self.from.channels.max(1));
        let whole = self.rest.len() - self.rest.len() % channels;
        let frames = self.rest.drain(..whole).collect::<Vec<_>>();
        let mono = frames.chunks_exact(channels).map(|frame| {
            frame.iter().map(|sample| f32::from(*sample)).sum::<f32>() / channels as f32
        });
        self.kept.extend(mono);
        self.drain()
    }

    /// Returns the remaining samples at the end.
    pub(crate) fn finish(&mut self) -> Vec<i16> {
        if self.from == Format::SPEECH {
            return Vec::new();
        }
        self.kept.extend(vec![0.0; self.reach()]);
        self.drain()
    }

    fn drain(&mut self) -> Vec<i16> {
        let reach = self.reach();
        let step = f64::from(self.from.rate) / f64::from(Format::SPEECH.rate);
        let mut output = Vec::new();
        while self.place + reach as f64 <= self.kept.len() as f64 {
            output.push(self.at(self.place));
            self.place += step;
        }
        let done = (self.place as usize).saturating_sub(reach).min(self.kept.len());
        self.kept.drain(..done);
        self.place -= done as f64;
        output
    }

    /// Returns the sample at a position, with frequencies above those of 16 kHz filtered out.
    fn at(&self, place: f64) -> i16 {
        let cutoff = (f64::from(Format::SPEECH.rate) / f64::from(self.from.rate)).min(1.0);
        let width = self.reach() as f64;
        let first = (place - width).ceil().max(0.0) as usize;
        let last = ((place + width).floor() as usize).min(self.kept.len().saturating_sub(1));
        let weighed = (first..=last).map(|index| {
            let distance = index as f64 - place;
            let window = 0.5 * (1.0 + (PI * distance / width).cos());
            f64::from(self.kept[index]) * cutoff * sinc(distance * cutoff) * window
        });
        weighed.sum::<f64>().round().clamp(f64::from(i16::MIN), f64::from(i16::MAX)) as i16
    }

    fn reach(&self) -> usize {
        let ratio = f64::from(self.from.rate) / f64::from(Format::SPEECH.rate);
        (REACH * ratio.max(1.0)).ceil() as usize
    }
}

fn sinc(x: f64) -> f64 {
    if x.abs() < 1e-9 { 1.0 } else { (PI * x).sin() / (PI * x) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tone of one second, in blocks of 1000 samples.
    fn resampled(format: Format, hertz: f64) -> Vec<i16> {
        let sample = |frame: u32| {
            let angle = 2.0 * PI * hertz * f64::from(frame) / f64::from(format.rate);
            (angle.sin() * 10_000.0) as i16
        };
        let samples: Vec<i16> = (0..format.rate)
            .flat_map(|frame| vec![sample(frame); usize::from(format.channels)])
            .collect();
        let mut resampler = Resampler::new(format);
        let mut output: Vec<i16> =
            samples.chunks(1000).flat_map(|block| resampler.push(block)).collect();
        output.extend(resampler.finish());
        output
    }

    fn loudness(samples: &[i16]) -> f64 {
        let squares = samples.iter().map(|sample| f64::from(*sample).powi(2)).sum::<f64>();
        (squares / samples.len() as f64).sqrt()
    }

    // HM-2
    #[test]
    fn sound_keeps_its_length_and_loudness_and_loses_what_does_not_fit() {
        for (rate, channels) in [(8_000, 1), (22_050, 1), (44_100, 2), (48_000, 1), (16_000, 2)] {
            let format = Format { rate, channels };
            let low = resampled(format, 440.0);
            assert!(low.len().abs_diff(16_000) <= 2, "{format:?}: {}", low.len());
            assert!((loudness(&low) - 7_071.0).abs() < 150.0, "{format:?}: {}", loudness(&low));
            if rate > 40_000 {
                // 12 kHz would fold down to 4 kHz.
                let high = resampled(format, 12_000.0);
                assert!(loudness(&high) < 100.0, "{format:?}: {}", loudness(&high));
            }
        }
    }
}
