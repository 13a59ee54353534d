//! `control_speaker_volume` on real mixers: PulseAudio, PipeWire and ALSA, each with a silent sink.
//!
//! A mixer that is not installed fails its test; none is skipped.

#![expect(clippy::unwrap_used, reason = "tests may")]

mod alsa;
mod pipewire;
mod pulseaudio;
mod session;
mod volume;
