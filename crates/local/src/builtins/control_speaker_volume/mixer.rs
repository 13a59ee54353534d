//! The mixers, one behind another.

use super::{
    MixerChoice, alsa,
    commands::{CommandProblem, Commands},
    pipewire, pulseaudio,
};

/// A mixer that we know how to talk to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mixer {
    PipeWire,
    PulseAudio,
    Alsa,
}

/// What a mixer says; some go beyond 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MixerState {
    pub(super) volume: u32,
    pub(super) muted: bool,
}

impl Mixer {
    /// The mixers to try, in order.
    pub(super) fn candidates(choice: MixerChoice) -> &'static [Self] {
        match choice {
            // A server that plays comes before the hardware below it.
            MixerChoice::Auto => &[Self::PipeWire, Self::PulseAudio, Self::Alsa],
            MixerChoice::PipeWire => &[Self::PipeWire],
            MixerChoice::PulseAudio => &[Self::PulseAudio],
            MixerChoice::Alsa => &[Self::Alsa],
        }
    }

    /// The name as in the config.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::PipeWire => "pipewire",
            Self::PulseAudio => "pulseaudio",
            Self::Alsa => "alsa",
        }
    }

    pub(super) async fn read(self, commands: &Commands) -> Result<MixerState, CommandProblem> {
        match self {
            Self::PipeWire => pipewire::read(commands).await,
            Self::PulseAudio => pulseaudio::read(commands).await,
            Self::Alsa => alsa::read(commands).await,
        }
    }

    /// Sets the volume and says what it then is.
    pub(super) async fn set_level(
        self,
        commands: &Commands,
        level: u8,
    ) -> Result<MixerState, CommandProblem> {
        match self {
            Self::PipeWire => pipewire::set_level(commands, level).await?,
            Self::PulseAudio => pulseaudio::set_level(commands, level).await?,
            Self::Alsa => alsa::set_level(commands, level).await?,
        }
        self.read(commands).await
    }

    /// Mutes or unmutes, and says what then is.
    pub(super) async fn set_muted(
        self,
        commands: &Commands,
        muted: bool,
    ) -> Result<MixerState, CommandProblem> {
        match self {
            Self::PipeWire => pipewire::set_muted(commands, muted).await?,
            Self::PulseAudio => pulseaudio::set_muted(commands, muted).await?,
            Self::Alsa => alsa::set_muted(commands, muted).await?,
        }
        self.read(commands).await
    }
}

/// The mean of the channels' percentages; `None` if there are no channels.
pub(super) fn mean(percentages: &[u32]) -> Option<u32> {
    let count = u32::try_from(percentages.len()).ok()?;
    let sum: u32 = percentages.iter().try_fold(0, |sum: u32, next| sum.checked_add(*next))?;
    (sum + count / 2).checked_div(count)
}
