//! PulseAudio, through `pactl`.

use super::{
    commands::{CommandProblem, Commands},
    mixer::{MixerState, mean},
};

const SINK: &str = "@DEFAULT_SINK@";

pub(super) async fn read(commands: &Commands) -> Result<MixerState, CommandProblem> {
    let volume = commands.ask("pactl", &["get-sink-volume", SINK], parse_volume).await?;
    let muted = commands.ask("pactl", &["get-sink-mute", SINK], parse_muted).await?;
    Ok(MixerState { volume, muted })
}

pub(super) async fn set_level(commands: &Commands, level: u8) -> Result<(), CommandProblem> {
    let level = format!("{level}%");
    commands.tell("pactl", &["set-sink-volume", SINK, &level]).await
}

pub(super) async fn set_muted(commands: &Commands, muted: bool) -> Result<(), CommandProblem> {
    let muted = if muted { "1" } else { "0" };
    commands.tell("pactl", &["set-sink-mute", SINK, muted]).await
}

/// Reads `Volume: front-left: 39321 /  60% / -13.31 dB,   front-right: …`.
fn parse_volume(answer: &str) -> Option<u32> {
    let line = answer.lines().find(|line| line.trim_start().starts_with("Volume:"))?;
    let percentages =
        line.split('/').filter_map(|part| part.trim().strip_suffix('%')?.parse().ok());
    mean(&percentages.collect::<Vec<_>>())
}

/// Reads `Mute: yes`.
fn parse_muted(answer: &str) -> Option<bool> {
    match answer.trim().strip_prefix("Mute:")?.trim() {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_pactl() {
        // LT-3; the first as pactl 16.1 prints it, the others after its form
        let stereo = "Volume: front-left: 39321 /  60% / -13.31 dB,   front-right: 39321 /  60% / -13.31 dB\n\
                      \x20       balance 0.00\n";
        assert_eq!(parse_volume(stereo), Some(60));
        let leaning =
            "Volume: front-left: 65536 / 100% / 0.00 dB,   front-right: 32768 /  50% / -18.06 dB";
        assert_eq!(parse_volume(leaning), Some(75));
        assert_eq!(parse_volume("Volume: mono: 0 /   0% / -inf dB\n"), Some(0));
        assert_eq!(parse_volume("Volume: (invalid)"), None);
        assert_eq!(parse_volume(""), None);
        assert_eq!(parse_muted("Mute: yes\n"), Some(true));
        assert_eq!(parse_muted("Mute: no\n"), Some(false));
        assert_eq!(parse_muted("no"), None);
    }
}
