//! `control_speaker_volume`: the loudness of this machine, on its system mixer (SPEC LT-3).

use std::{collections::BTreeMap, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchboard_toolcall::{Annotations, CallContext, ErrorKind, Json, Tool, ToolError, tool_fn};
use tokio::sync::Mutex;

use super::arguments::whole;
use commands::{CommandProblem, Commands};
use mixer::{Mixer, MixerState};

mod commands;
mod mixer;
mod pipewire;
mod pulseaudio;
mod alsa;

/// Which mixer the tool works on.
#[derive(Clone, Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The mixer; `auto` takes the first that works here.
    pub mixer: MixerChoice,
    /// Variables for the mixer's commands, such as `PULSE_SERVER` or `XDG_RUNTIME_DIR`.
    pub env: BTreeMap<String, String>,
}

/// The mixers that the tool knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MixerChoice {
    /// The first of the others that works here.
    #[default]
    Auto,
    /// PipeWire, through `wpctl`.
    PipeWire,
    /// PulseAudio, through `pactl`.
    PulseAudio,
    /// ALSA, through `amixer`.
    Alsa,
}

/// Reads or changes the volume of this machine's speakers (0 to 100) and answers with the new volume.
#[derive(Deserialize, JsonSchema)]
struct VolumeArguments {
    /// "get" only reads, "set" goes to "level", "up" and "down" go by "amount", "max" goes to 100.
    action: VolumeAction,
    /// The volume to set, from 0 to 100; needed by "set".
    #[serde(default, deserialize_with = "whole")]
    #[schemars(range(min = 0, max = 100))]
    level: Option<i64>,
    /// How far "up" and "down" go; 10 by default.
    #[serde(default, deserialize_with = "whole")]
    #[schemars(range(min = 0, max = 100))]
    amount: Option<i64>,
}

// Doc comments on the variants would split the schema's `enum`, which models and error messages read as one list.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum VolumeAction {
    Get,
    Set,
    Up,
    Down,
    Mute,
    Unmute,
    Max,
}

/// What is to be changed.
#[derive(Debug, PartialEq)]
enum VolumeChange {
    Nothing,
    Level(u8),
    Muted(bool),
}

#[derive(Serialize)]
struct VolumeAnswer {
    volume: u32,
    muted: bool,
    mixer: &'static str,
}

/// Returns the name of the mixer that the tool works on, without changing anything.
///
/// # Errors
/// No mixer answers: what a call of the tool would say.
pub async fn answering_mixer(config: Config) -> Result<&'static str, ToolError> {
    let speaker = SpeakerVolume::new(config);
    let commands = speaker.commands.lock().await;
    let (mixer, _) = speaker.find(&commands).await?;
    Ok(mixer.name())
}

/// The tool `control_speaker_volume`.
pub fn tool(config: Config) -> Arc<dyn Tool> {
    let speaker = Arc::new(SpeakerVolume::new(config));
    let tool =
        tool_fn("control_speaker_volume", move |arguments: VolumeArguments, _cx: CallContext| {
            let speaker = Arc::clone(&speaker);
            async move { speaker.control(&arguments).await.map(Json) }
        });
    Arc::new(tool.annotate(Annotations {
        read_only: Some(false),
        destructive: Some(false),
        ..Annotations::default()
    }))
}

struct SpeakerVolume {
    mixers: &'static [Mixer],
    commands: Mutex<Commands>,
}

impl SpeakerVolume {
    fn new(config: Config) -> Self {
        Self {
            mixers: Mixer::candidates(config.mixer),
            // One at a time: two steps up at once are twenty, not ten.
            commands: Mutex::new(Commands::new(config.env)),
        }
    }

    async fn control(&self, arguments: &VolumeArguments) -> Result<VolumeAnswer, ToolError> {
        arguments.check()?;
        let commands = self.commands.lock().await;
        let (mixer, before) = self.find(&commands).await?;
        let after = match arguments.change(before.volume) {
            VolumeChange::Nothing => Ok(before),
            VolumeChange::Level(level) => mixer.set_level(&commands, level).await,
            VolumeChange::Muted(muted) => mixer.set_muted(&commands, muted).await,
        };
        let MixerState { volume, muted } = after.map_err(|problem| refused(mixer, problem))?;
        Ok(VolumeAnswer { volume, muted, mixer: mixer.name() })
    }

    /// The first mixer that answers; one that is installed but has no server is passed over.
    async fn find(&self, commands: &Commands) -> Result<(Mixer, MixerState), ToolError> {
        let mut problems = Vec::new();
        for &mixer in self.mixers {
            match mixer.read(commands).await {
                Ok(state) => return Ok((mixer, state)),
                Err(problem) => problems.push(format!("{}: {problem}", mixer.name())),
            }
        }
        let text = format!(
            "Tool 'control_speaker_volume' is unavailable: no mixer answers ({}). Install wpctl (wireplumber), \
             pactl (pulseaudio-utils) or amixer (alsa-utils), and check that the sound server runs for this \
             user",
            problems.join("; ")
        );
        Err(ToolError::new(ErrorKind::Unavailable, text))
    }
}

fn refused(mixer: Mixer, problem: CommandProblem) -> ToolError {
    let text = format!("{} did not change the volume: {problem}", mixer.name());
    ToolError::failed(text).caused_by(problem)
}

impl VolumeArguments {
    /// Checks what the schema cannot express, or does not if a defined tool has its own schema.
    fn check(&self) -> Result<(), ToolError> {
        for (name, value) in [("level", self.level), ("amount", self.amount)] {
            if value.is_some_and(|value| !(0..=100).contains(&value)) {
                let problem = format!("'{name}' must be between 0 and 100");
                return Err(ToolError::invalid(problem));
            }
        }
        match (self.action, self.level) {
            (VolumeAction::Set, None) => {
                let hint = "`set` needs `level`, a whole number from 0 to 100";
                Err(ToolError::invalid("missing 'level'").with_hint(hint))
            }
            _ => Ok(()),
        }
    }

    fn change(&self, volume: u32) -> VolumeChange {
        const STEP: i64 = 10;
        let amount = self.amount.unwrap_or(STEP);
        let level = match self.action {
            VolumeAction::Get => return VolumeChange::Nothing,
            VolumeAction::Mute => return VolumeChange::Muted(true),
            VolumeAction::Unmute => return VolumeChange::Muted(false),
            VolumeAction::Set => self.level.unwrap_or(i64::from(volume)),
            VolumeAction::Up => i64::from(volume) + amount,
            VolumeAction::Down => i64::from(volume) - amount,
            VolumeAction::Max => 100,
        };
        VolumeChange::Level(u8::try_from(level.clamp(0, 100)).unwrap_or(100))
    }
}

#[cfg(test)]
mod tests;
