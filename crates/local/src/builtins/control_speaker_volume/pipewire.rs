//! PipeWire, through WirePlumber's `wpctl`.

use super::{
    commands::{CommandProblem, Commands},
    mixer::MixerState,
};

const SINK: &str = "@DEFAULT_AUDIO_SINK@";

pub(super) async fn read(commands: &Commands) -> Result<MixerState, CommandProblem> {
    // Without a sink it prints nothing on stdout, and still succeeds.
    commands.ask("wpctl", &["get-volume", SINK], parse).await
}

pub(super) async fn set_level(commands: &Commands, level: u8) -> Result<(), CommandProblem> {
    let level = format!("{}.{:02}", level / 100, level % 100);
    commands.tell("wpctl", &["set-volume", SINK, &level]).await
}

pub(super) async fn set_muted(commands: &Commands, muted: bool) -> Result<(), CommandProblem> {
    let muted = if muted { "1" } else { "0" };
    commands.tell("wpctl", &["set-mute", SINK, muted]).await
}

/// Reads `Volume: 0.60 [MUTED]`.
fn parse(answer: &str) -> Option<MixerState> {
    let rest = answer.trim().strip_prefix("Volume:")?;
    let factor: f64 = rest.split_whitespace().next()?.parse().ok()?;
    let percent = (factor * 100.0).round();
    if !(0.0..=100_000.0).contains(&percent) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
    let volume = percent as u32;
    let muted = rest.contains("[MUTED]");
    Some(MixerState { volume, muted })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_wpctl() {
        // LT-3; the first three as WirePlumber 0.4.13 prints them
        let state = |volume, muted| Some(MixerState { volume, muted });
        assert_eq!(parse("Volume: 0.60\n"), state(60, false));
        assert_eq!(parse("Volume: 0.60 [MUTED]\n"), state(60, true));
        assert_eq!(parse("Volume: 1.50\n"), state(150, false));
        assert_eq!(parse("Volume: 0.29\n"), state(29, false));
        for wrong in ["", "Volume:", "Volume: loud", "Volume: -1", "Volume: nan", "Mute: no"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
