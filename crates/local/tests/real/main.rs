//! `control_speaker_volume` on real mixers: PulseAudio, PipeWire and ALSA, each with a silent sink. `command` tools with git and
//! jq, `http` tools with a server of Python's.
//!
//! What is not installed fails its test; none is skipped.

#![expect(clippy::unwrap_used, reason = "tests may")]

mod alsa;
mod http;
mod pipewire;
mod programs;
mod pulseaudio;
mod session;
mod volume;
