//! The checks themselves.

use switchboard_local::{ImplementationType, ToolDefinition, builtins::control_speaker_volume};
use switchboard_mcp_server::DiscoveryMode;
use switchboard_runtime::{Verdict, lookup::close_names};

use super::{CheckStatus, DoctorCheck, disk, profiles};
use crate::{
    assembly::{self, App},
    settings::LoadedConfig,
};

/// Checks the tools that there are.
pub(super) fn of_tools(loaded: &LoadedConfig, app: &App) -> Vec<DoctorCheck> {
    let mut checks = vec![tools(loaded, app)];
    checks.extend(client_limits(loaded, app));
    checks.extend(handlers(loaded, app));
    checks.extend(programs(loaded));
    checks.extend(policy(loaded, app));
    checks.extend(profiles::all(app, loaded.settings.serve.discovery));
    checks
}

/// Checks what tools need on this machine.
pub(super) async fn of_environment(loaded: &LoadedConfig) -> Vec<DoctorCheck> {
    let rules = assembly::rules(loaded).ok();
    // A skipped tool has its own row, and a denied tool is never called.
    let is_used = |name: &str| {
        let verdict = rules.as_ref().map(|rules| rules.judge_names(&[name]));
        let is_denied = matches!(verdict, Some(Verdict::Deny(_)));
        !loaded.skipped.tools.contains_key(name) && !is_denied
    };
    let mut checks = Vec::new();
    if is_used("search_web") {
        checks.push(search(loaded));
    }
    if is_used("control_speaker_volume") {
        checks.push(mixer(loaded).await);
    }
    checks
}

fn check(name: &'static str, status: CheckStatus, message: impl Into<String>) -> DoctorCheck {
    DoctorCheck::new(name, status, message)
}

/// Models and tools that are skipped; servers have rows of their own.
pub(super) fn of_skipped(loaded: &LoadedConfig) -> Vec<DoctorCheck> {
    let kinds = [("model", &loaded.skipped.models), ("tool", &loaded.skipped.tools)];
    let rows = kinds.into_iter().flat_map(|(kind, skipped)| {
        skipped.iter().map(move |(name, reason)| {
            DoctorCheck::new(
                format!("{kind} {name}"),
                CheckStatus::Broken,
                format!("skipped: {reason}"),
            )
        })
    });
    rows.collect()
}

/// Which config was read.
pub(super) fn config_file(loaded: &LoadedConfig) -> DoctorCheck {
    match &loaded.file {
        Some(file) => {
            let about = disk::size_and_age(file).unwrap_or_default();
            check("config", CheckStatus::Ok, format!("{} was read{about}", file.display()))
        }
        None => {
            let note = "no config file; built-in tools only (see --config in `switchboard --help`)";
            check("config", CheckStatus::Info, note)
        }
    }
}

fn tools(loaded: &LoadedConfig, app: &App) -> DoctorCheck {
    let (all, defined) = (app.executor.tools().all(), loaded.settings.tools.len());
    let of_servers = all.iter().filter(|tool| tool.spec().server().is_some()).count();
    let mut message = format!("{} tools, {defined} of them defined in the config", all.len());
    if loaded.enabled_servers().next().is_some() {
        message = format!("{message}, {of_servers} of servers");
    }
    check("tools", CheckStatus::Ok, message)
}

/// How many tools clients take, the smallest first.
const CLIENT_LIMITS: [(usize, &str); 2] = [(40, "Cursor"), (128, "VS Code and OpenAI's API")];

/// Warns if there are more tools than a client takes.
fn client_limits(loaded: &LoadedConfig, app: &App) -> Option<DoctorCheck> {
    if loaded.settings.serve.discovery == DiscoveryMode::Search {
        return None;
    }
    let passed = passed_limits(app.executor.tools().listed().len())?;
    let message = format!(
        "{passed}; with `/mcp?tools=search`, or `[serve] discovery = \"search\"`, clients search instead; `switchboard tools --cost` shows what \
         definitions cost"
    );
    Some(check("clients", CheckStatus::Warning, message))
}

/// Returns which clients do not take as many tools as are listed; `None` if all do.
pub(super) fn passed_limits(listed: usize) -> Option<String> {
    let passed = CLIENT_LIMITS.iter().filter(|(most, _)| listed > *most);
    let passed: Vec<_> = passed.map(|(most, client)| format!("{client}: {most}")).collect();
    (!passed.is_empty()).then(|| {
        let passed = passed.join(", ");
        format!("{listed} tools are listed, more than some clients take ({passed})")
    })
}

/// Checks the handlers of tools: that one does not exist is otherwise found only by a call (SPEC LT-2).
fn handlers(loaded: &LoadedConfig, app: &App) -> Vec<DoctorCheck> {
    let missing = loaded.settings.tools.iter().enumerate().filter_map(|(index, definition)| {
        let (kind, handler) = definition.missing_handler(&app.handlers)?;
        let known = app.handlers.names(kind);
        let close = close_names(handler, known.iter().map(String::as_str));
        let way_out = match close.first() {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", known.join(", ")),
        };
        let place = loaded.place_of_tool(index);
        let problem = kind.not_found(handler);
        let message = format!("{place}: tool `{}`: {problem}; {way_out}", definition.name);
        Some(check("handlers", CheckStatus::Broken, message))
    });
    let missing: Vec<_> = missing.collect();
    match missing.is_empty() {
        true => vec![check("handlers", CheckStatus::Ok, "every defined tool has its handler")],
        false => missing,
    }
}

/// Checks the programs of tools: that one does not exist is otherwise found only by a call (SPEC TK-1).
fn programs(loaded: &LoadedConfig) -> Vec<DoctorCheck> {
    let tools = loaded.settings.tools.iter().enumerate();
    let missing = tools.filter_map(|(index, definition)| {
        let (place, program) = (loaded.place_of_tool(index), definition.missing_program()?);
        let message = format!(
            "{place}: tool `{}`: the program `{program}` is not there, or may not be executed; install it, or set \
             `program` to its path",
            definition.name
        );
        Some(check("programs", CheckStatus::Broken, message))
    });
    let missing: Vec<_> = missing.collect();
    let is_command =
        |tool: &ToolDefinition| tool.implementation.kind == ImplementationType::Command;
    match missing.is_empty() {
        true if loaded.settings.tools.iter().any(is_command) => {
            vec![check("programs", CheckStatus::Ok, "every command tool has its program")]
        }
        _ => missing,
    }
}

fn policy(loaded: &LoadedConfig, app: &App) -> Option<DoctorCheck> {
    let rules = assembly::rules(loaded).ok()?;
    let all = app.executor.tools().all();
    let denied = all.iter().filter_map(|tool| match rules.judge(tool) {
        Verdict::Allow | Verdict::AskFirst(_) => None,
        Verdict::Deny(rule) => Some(format!("{} is denied by {rule}", tool.name())),
    });
    let denied: Vec<_> = denied.collect();
    Some(match denied.is_empty() {
        true => check("policy", CheckStatus::Ok, "every tool may run"),
        false => check("policy", CheckStatus::Info, denied.join("\n")),
    })
}

fn search(loaded: &LoadedConfig) -> DoctorCheck {
    match &loaded.settings.builtins.search_web {
        Some(config) => {
            check("search_web", CheckStatus::Ok, format!("searches with {:?}", config.provider))
        }
        None => {
            let note = "not configured; set [builtins.search_web] provider to use it";
            check("search_web", CheckStatus::Info, note)
        }
    }
}

/// Whether a mixer answers the tool. A machine without one is not broken.
async fn mixer(loaded: &LoadedConfig) -> DoctorCheck {
    let config = loaded.settings.builtins.control_speaker_volume.clone();
    match control_speaker_volume::answering_mixer(config).await {
        Ok(mixer) => check("mixer", CheckStatus::Ok, format!("{mixer} answers")),
        Err(error) => {
            let text = error.for_model;
            let prefix = "Tool 'control_speaker_volume' is unavailable: ";
            let reason = text.strip_prefix(prefix).unwrap_or(&text);
            check(
                "mixer",
                CheckStatus::Info,
                format!("control_speaker_volume cannot be used: {reason}"),
            )
        }
    }
}
