//! ALSA, through `amixer`.

use super::{
    commands::{CommandProblem, Commands},
    mixer::{MixerState, mean},
};

/// What sound cards call the control that people mean, the likeliest first.
const CONTROLS: &[&str] = &["Master", "PCM", "Speaker", "Headphone", "Digital"];

pub(super) async fn read(commands: &Commands) -> Result<MixerState, CommandProblem> {
    find(commands).await.map(|(_, state)| state)
}

pub(super) async fn set_level(commands: &Commands, level: u8) -> Result<(), CommandProblem> {
    set(commands, &format!("{level}%")).await
}

pub(super) async fn set_muted(commands: &Commands, muted: bool) -> Result<(), CommandProblem> {
    set(commands, if muted { "mute" } else { "unmute" }).await
}

async fn set(commands: &Commands, value: &str) -> Result<(), CommandProblem> {
    let (control, _) = find(commands).await?;
    commands.tell("amixer", &["-M", "sset", control, value]).await
}

/// The first control that this card has.
async fn find(commands: &Commands) -> Result<(&'static str, MixerState), CommandProblem> {
    let mut first = None;
    for &control in CONTROLS {
        // -M: percentages as the ear hears them, like the other mixers'.
        match commands.ask("amixer", &["-M", "sget", control], parse).await {
            Ok(state) => return Ok((control, state)),
            Err(problem) if is_about_control(&problem) => first = first.or(Some(problem)),
            Err(problem) => return Err(problem),
        }
    }
    Err(first.unwrap_or_else(|| CommandProblem::NotInstalled("amixer".to_owned())))
}

/// Whether another control may work where this one did not.
fn is_about_control(problem: &CommandProblem) -> bool {
    match problem {
        CommandProblem::Failed { reason, .. } => reason.contains("Unable to find simple control"),
        // A control without a volume.
        CommandProblem::Unreadable { .. } => true,
        _ => false,
    }
}

/// Reads the playback channels: `Front Left: Playback 39321 [60%] [on]`.
fn parse(answer: &str) -> Option<MixerState> {
    let playback = answer.lines().map(|line| line.split("Capture").next().unwrap_or(line));
    let channels: Vec<Vec<&str>> =
        playback.map(bracketed).filter(|words| !words.is_empty()).collect();
    let percentages = channels
        .iter()
        .filter_map(|channel| channel.iter().find_map(|word| word.strip_suffix('%')?.parse().ok()));
    let volume = mean(&percentages.collect::<Vec<u32>>())?;
    // A control without a switch is never muted.
    let muted = channels.iter().all(|channel| channel.contains(&"off"));
    Some(MixerState { volume, muted })
}

/// The words in square brackets.
fn bracketed(line: &str) -> Vec<&str> {
    let words = line.split('[').skip(1);
    words.filter_map(|word| Some(word.split_once(']')?.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_amixer() {
        // LT-3; the first as amixer 1.2.8 prints it, the others after its form
        let stereo = "Simple mixer control 'Master',0\n  Capabilities: pvolume pswitch pswitch-joined\n  \
             Playback channels: Front Left - Front Right\n  Limits: Playback 0 - 65536\n  Mono:\n  \
             Front Left: Playback 39321 [60%] [on]\n  Front Right: Playback 39321 [60%] [on]\n";
        let state = |volume, muted| Some(MixerState { volume, muted });
        assert_eq!(parse(stereo), state(60, false));
        assert_eq!(parse(&stereo.replace("[on]", "[off]")), state(60, true));
        let mono = "  Mono: Playback 20 [31%] [-47.25dB] [on]\n";
        assert_eq!(parse(mono), state(31, false));
        let no_switch = "  Front Left: Playback 255 [100%] [0.00dB]\n";
        assert_eq!(parse(no_switch), state(100, false));
        let both = "  Front Left: Playback 10 [40%] [on] Capture 3 [20%] [off]\n";
        assert_eq!(parse(both), state(40, false));
        assert_eq!(parse("  Front Left: 20 [65%] [12.00dB] [off]\n"), state(65, true));
        assert_eq!(parse("  Front Left: Capture 3 [20%] [on]\n"), None);
        assert_eq!(parse("Simple mixer control 'Auto-Mute Mode',0\n  Item0: 'Enabled'\n"), None);
        assert_eq!(parse(""), None);
    }
}
