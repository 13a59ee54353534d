//! How the program of a new server is confined: as the flag says, or as the person answers.

use serde_json::json;
use switchboard_sandbox::{SandboxMode, SandboxPreset};

use super::ServerEntry;
use crate::{
    cli::SandboxChoice,
    terminal::{ask, text},
};

/// Writes the choice into a server's settings, with what its launcher needs.
pub(super) fn choose(settings: &mut ServerEntry, choice: SandboxChoice) {
    let mode = match choice {
        SandboxChoice::On => SandboxMode::On,
        SandboxChoice::Try => SandboxMode::Try,
        SandboxChoice::Learn => SandboxMode::Learn,
        SandboxChoice::Off => return,
    };
    settings.insert("sandbox".to_owned(), json!(mode.name()));
    let command = settings.get("command").and_then(|command| command.as_str()).unwrap_or_default();
    // The daemon of Docker gives the rights of root: a person has to allow that.
    let preset = SandboxPreset::of_command(command).filter(|it| *it != SandboxPreset::Docker);
    if let Some(preset) = preset.filter(|_| mode != SandboxMode::Learn) {
        settings.insert("sandbox_allow".to_owned(), json!({"preset": [preset.name()]}));
    }
}

/// Asks the person at the terminal how to confine a program; of one that has none, or is confined already, nothing is asked.
///
/// # Errors
/// The terminal cannot be read.
pub(super) fn ask_for(name: &str, settings: &mut ServerEntry) -> std::io::Result<()> {
    if !cfg!(target_os = "linux")
        || !settings.contains_key("command")
        || settings.contains_key("sandbox")
    {
        return Ok(());
    }
    let name = text::one_line(name);
    let question = format!(
        "Confine the program of `{name}`? on: now; learn: watch first what it needs [on/learn/N] "
    );
    let choice = match ask::line(&question)?.trim().to_lowercase().as_str() {
        "on" | "y" | "yes" => SandboxChoice::On,
        "try" => SandboxChoice::Try,
        "learn" => SandboxChoice::Learn,
        _ => SandboxChoice::Off,
    };
    choose(settings, choice);
    Ok(())
}

/// Returns what the person should know of the choice.
pub(super) fn note(name: &str, settings: &ServerEntry) -> Option<String> {
    let name = text::one_line(name);
    Some(match settings.get("sandbox")?.as_str()? {
        "learn" => format!(
            "it is watched, not confined yet: after some use, `switchboard doctor` names the file with what it needs; \
             `switchboard sandbox learn {name}` prints it at once"
        ),
        _ => format!(
            "it is confined: `switchboard sandbox learn {name}` prints what else it needs, if a call is refused something"
        ),
    })
}
