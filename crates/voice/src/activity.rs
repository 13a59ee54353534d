//! Voice activity detection: finds speech in a stream of sound.
//!
//! A [`Detector`] rates how much each frame sounds like speech. An utterance begins some time before the first frame that
//! does, and ends with a stretch of silence or at a limit. Sounds that are too short or too quiet are ignored.

use std::{collections::VecDeque, time::Duration};

use crate::{Clip, Config, Format};

/// How many samples a frame has: 16 ms.
pub(crate) const FRAME: usize = 256;
/// How sure the detector must be that speech begins, and that it goes on.
const SURE: (f32, f32) = (0.5, 0.35);
/// How many frames in a row must sound like speech before it begins: a click does not count.
const ONSET: usize = 3;

/// Tells speech from other sound.
pub(crate) trait Detector: Send {
    /// How much the next frame of [`FRAME`] samples sounds like speech, from 0 to 1.
    fn score(&mut self, frame: &[i16]) -> f32;
}

impl Detector for Box<earshot::Detector> {
    fn score(&mut self, frame: &[i16]) -> f32 {
        self.predict_i16(frame)
    }
}

/// What was detected in a frame.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ActivityEvent {
    /// Speech may have begun.
    Onset,
    /// Speech is long enough to be meant.
    Speech,
    /// The speech has ended.
    Ended(SpeechEnd),
}

/// The end of a sound that may have been speech.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SpeechEnd {
    /// Speech, with its samples.
    Utterance(Clip),
    /// The sound was ignored, for this reason.
    Ignored(String),
}

/// How speech is cut out, in frames.
#[derive(Clone, Copy, Debug)]
struct ActivityLimits {
    pre_roll: usize,
    silence: usize,
    limit: usize,
    min_speech: usize,
    min_level: f32,
}

impl ActivityLimits {
    fn of(config: &Config) -> Self {
        Self {
            pre_roll: frames(config.pre_roll.0),
            silence: frames(config.silence.0).max(1),
            limit: frames(config.limit.0).max(ONSET),
            min_speech: frames(config.min_speech.0),
            min_level: config.min_level,
        }
    }
}

/// Detects speech in frames.
pub(crate) struct Activity {
    limits: ActivityLimits,
    detector: Box<dyn Detector>,
    /// The last frames before speech begins.
    before: VecDeque<Vec<i16>>,
    /// How many frames in a row sounded like speech, before it counts as speech.
    onset: usize,
    segment: Option<SpeechSegment>,
}

/// A sound that may be speech.
struct SpeechSegment {
    samples: Vec<i16>,
    /// Frames since the onset.
    frames: usize,
    /// Frames of speech.
    speech: usize,
    /// Frames of silence at the end.
    silence: usize,
    /// The loudest frame, in dB below full scale.
    level: f32,
}

impl Activity {
    /// Creates a detector with these settings, on the default `Detector`.
    pub(crate) fn new(config: &Config) -> Self {
        Self::with(config, Box::new(earshot::Detector::default_boxed()))
    }

    /// Like `new`, with another detector.
    pub(crate) fn with(config: &Config, detector: Box<dyn Detector>) -> Self {
        let limits = ActivityLimits::of(config);
        // Recognisers lose a first word that begins with the sound, so there is silence before the beginning.
        let before = std::iter::repeat_n(vec![0; FRAME], limits.pre_roll + ONSET).collect();
        Self { limits, detector, before, onset: 0, segment: None }
    }

    /// Returns whether there is speech now.
    pub(crate) fn is_open(&self) -> bool {
        self.segment.is_some()
    }

    /// Takes the next frame of [`FRAME`] samples.
    pub(crate) fn push(&mut self, frame: &[i16]) -> Option<ActivityEvent> {
        let score = self.detector.score(frame);
        let Some(segment) = &mut self.segment else {
            return self.wait(frame, score);
        };
        let was_meant = segment.speech >= self.limits.min_speech;
        segment.take(frame, score);
        if segment.silence >= self.limits.silence || segment.frames >= self.limits.limit {
            return self.finish().map(ActivityEvent::Ended);
        }
        let is_meant = segment.speech >= self.limits.min_speech;
        (is_meant && !was_meant).then_some(ActivityEvent::Speech)
    }

    /// Ends the current speech at the end of the input.
    pub(crate) fn finish(&mut self) -> Option<SpeechEnd> {
        let segment = self.segment.take()?;
        self.onset = 0;
        Some(segment.judge(&self.limits))
    }

    /// Keeps the frame in case that speech begins, and checks whether it does.
    fn wait(&mut self, frame: &[i16], score: f32) -> Option<ActivityEvent> {
        self.before.push_back(frame.to_vec());
        if self.before.len() > self.limits.pre_roll + ONSET {
            self.before.pop_front();
        }
        self.onset = if score >= SURE.0 { self.onset + 1 } else { 0 };
        if self.onset < ONSET {
            return None;
        }
        let first = self.before.len().saturating_sub(ONSET);
        let mut segment = SpeechSegment::default();
        for (place, frame) in self.before.drain(..).enumerate() {
            match place < first {
                true => segment.samples.extend(frame),
                false => segment.take(&frame, SURE.0),
            }
        }
        self.segment = Some(segment);
        Some(ActivityEvent::Onset)
    }
}

impl Default for SpeechSegment {
    fn default() -> Self {
        Self { samples: Vec::new(), frames: 0, speech: 0, silence: 0, level: f32::NEG_INFINITY }
    }
}

impl SpeechSegment {
    fn take(&mut self, frame: &[i16], score: f32) {
        self.samples.extend_from_slice(frame);
        self.frames += 1;
        // A frame that could be speech does not end it, but only a sure one counts as speech.
        self.speech += usize::from(score >= SURE.0);
        self.silence = if score >= SURE.1 { 0 } else { self.silence + 1 };
        self.level = self.level.max(level(frame));
    }

    fn judge(self, limits: &ActivityLimits) -> SpeechEnd {
        if self.speech < limits.min_speech {
            let (heard, least) = (seconds(self.speech), seconds(limits.min_speech));
            return SpeechEnd::Ignored(format!(
                "too short: {heard:.2}s of speech, at least {least:.2}s are meant for us"
            ));
        }
        if self.level < limits.min_level {
            let (level, least) = (self.level, limits.min_level);
            return SpeechEnd::Ignored(format!(
                "too quiet: {level:.0} dB, at least {least:.0} dB are meant for us"
            ));
        }
        if self.frames >= limits.limit {
            tracing::info!("what is said is cut after {:.1}s", seconds(limits.limit));
        }
        SpeechEnd::Utterance(Clip { format: Format::SPEECH, samples: self.samples })
    }
}

/// How loud a frame is, in dB below full scale.
fn level(frame: &[i16]) -> f32 {
    let squares: f32 = frame.iter().map(|sample| (f32::from(*sample) / 32_768.0).powi(2)).sum();
    10.0 * (squares / frame.len().max(1) as f32).max(1e-12).log10()
}

fn frames(duration: Duration) -> usize {
    let samples = duration.as_secs_f64() * f64::from(Format::SPEECH.rate);
    (samples / FRAME as f64).round() as usize
}

fn seconds(frames: usize) -> f32 {
    (frames * FRAME) as f32 / Format::SPEECH.rate as f32
}

#[cfg(test)]
mod tests;
