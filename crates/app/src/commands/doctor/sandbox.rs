//! What this system can confine, which servers and tools are confined, and what they were refused.

use switchboard_sandbox::{SandboxConfig, SandboxDeps, SandboxMode, SandboxSupport, missing};

use super::{CheckStatus, DoctorCheck};
use crate::{sandboxes, settings::LoadedConfig};

/// One line for the system, and one for each program that is confined.
pub(super) fn all(loaded: &LoadedConfig) -> Vec<DoctorCheck> {
    let support = SandboxSupport::current();
    let servers = loaded.enabled_servers().map(|(name, config)| (name.as_str(), config.sandbox()));
    let tools = loaded.settings.tools.iter();
    let tools = tools.map(|tool| (tool.name.as_str(), tool.sandbox()));
    let confined: Vec<_> =
        servers.chain(tools).filter(|(_, config)| !config.mode.is_off()).collect();
    let mut checks = vec![of_system(support, &confined)];
    checks.extend(confined.iter().map(|(name, config)| of_program(name, config, support)));
    checks
}

fn of_system(support: &SandboxSupport, confined: &[(&str, SandboxConfig)]) -> DoctorCheck {
    let missing = support.missing();
    let is_needed = confined.iter().any(|(_, config)| config.mode == SandboxMode::On);
    let unconfined = match confined.is_empty() {
        true => "; no server is confined (`sandbox = \"on\"`)",
        false => "",
    };
    let (status, message) = match missing.is_empty() {
        true => {
            let network = switchboard_sandbox::network_problem().map_or_else(
                || "networks of their own".to_owned(),
                |problem| {
                    format!("no networks of their own, so that `connect` needs `try`: {problem}")
                },
            );
            let gaps = support.gaps().map(|gaps| format!("; {gaps}")).unwrap_or_default();
            let text = format!(
                "programs can be confined: {}, {network}{gaps}{unconfined}",
                support.summary()
            );
            (CheckStatus::Ok, text)
        }
        false if is_needed => (CheckStatus::Broken, missing.join("; ")),
        false => (CheckStatus::Info, format!("{}{unconfined}", missing.join("; "))),
    };
    DoctorCheck::new("sandbox", status, message)
}

fn of_program(name: &str, config: &SandboxConfig, support: &SandboxSupport) -> DoctorCheck {
    let row = format!("sandbox {name}");
    let mut missing = missing(config, support);
    if missing.is_empty() && config.allow.has_browser() && config.mode != SandboxMode::Learn {
        let problem = SandboxDeps::this_program().ok().and_then(|deps| deps.browser_problem());
        missing.extend(problem.map(|problem| {
            format!(
                "it cannot have processes and files of its own, which a browser needs: {problem}"
            )
        }));
    }
    if !missing.is_empty() {
        let status = match config.mode {
            SandboxMode::On => CheckStatus::Broken,
            _ => CheckStatus::Info,
        };
        return DoctorCheck::new(row, status, missing.join("; "));
    }
    if config.mode == SandboxMode::Learn {
        let learned = sandboxes::learned_file(name).filter(|file| file.exists());
        let found = learned.map(|file| format!("; what it needed last is in {}", file.display()));
        let text = format!("it is not confined, but watched{}", found.unwrap_or_default());
        return DoctorCheck::new(row, CheckStatus::Info, text);
    }
    let mode = config.mode.name();
    let allowed = match config.allow.is_empty() {
        true => "nothing beyond the usual is allowed".to_owned(),
        false => allowed(config),
    };
    let refused = sandboxes::refusals(name);
    let refused: Vec<_> = refused.iter().filter(|refusal| !config.allow.has(refusal)).collect();
    let lines = refused
        .iter()
        .map(|refusal| format!("\nit was refused {} ({})", refusal.what(), refusal.remedy()));
    let status = if refused.is_empty() { CheckStatus::Ok } else { CheckStatus::Info };
    DoctorCheck::new(row, status, format!("{mode}; {allowed}{}", lines.collect::<String>()))
}

fn allowed(config: &SandboxConfig) -> String {
    let allow = &config.allow;
    let ports: Vec<_> =
        allow.connect_direct.iter().map(|port| format!("every host:{port}")).collect();
    let presets: Vec<_> = allow.preset.iter().map(|preset| preset.name().to_owned()).collect();
    let kinds = [
        ("has the presets", &presets),
        ("reads", &allow.read),
        ("writes", &allow.write),
        ("connects to", &allow.connect),
        ("connects to", &ports),
        ("runs", &allow.run),
    ];
    let kinds = kinds.iter().filter(|(_, entries)| !entries.is_empty());
    let kinds: Vec<_> =
        kinds.map(|(verb, entries)| format!("{verb} {}", entries.join(", "))).collect();
    kinds.join("; ")
}
