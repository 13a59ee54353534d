//! Applies a config while calls run, when it changes or at SIGHUP; an invalid config is refused and the old one stays.

use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime},
};

use anyhow::Context;
use switchboard_gateway::{About, Config as ServeConfig, ConfigSnapshot, ConfigState, Models};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc,
    time::sleep,
};

use super::{own_socket, server_editor::ReloadRequest};
use crate::{
    assembly::App,
    cli::Cli,
    connections::Connections,
    model, overrides,
    settings::{
        LoadedConfig, Settings,
        trust::{TrustPrompt, UntrustedConfig},
    },
};

/// How often the file is checked.
const OFTEN: Duration = Duration::from_secs(1);

/// The parts of an HTTP gateway that are updated with the config.
#[derive(Clone, Copy)]
pub(super) struct LiveParts<'a> {
    pub(super) models: &'a Models,
    pub(super) config_state: &'a ConfigState,
}

/// What the console shows of a config.
pub(super) fn snapshot(loaded: &LoadedConfig) -> ConfigSnapshot {
    ConfigSnapshot {
        file: loaded.file.clone(),
        policy: loaded.settings.policy.clone(),
        allow_if: loaded.settings.serve.allow_if.clone(),
        deny_if: loaded.settings.serve.deny_if.clone(),
        disabled: loaded
            .disabled_servers()
            .map(|(name, config)| (name.clone(), config.clone()))
            .collect(),
        refusal: None,
    }
}

/// Applies the config again whenever it changes, or somebody asks for it. Ends only when dropped.
///
/// # Errors
/// Signals cannot be listened for.
pub(super) async fn follow(
    app: &App,
    connections: &Connections,
    live: Option<LiveParts<'_>>,
    about: &About,
    cli: &Cli,
    loaded: &LoadedConfig,
    mut requests: mpsc::Receiver<ReloadRequest>,
) -> anyhow::Result<()> {
    if loaded.replay.is_some() || loaded.is_attached {
        // Recorded calls do not change, and a running gateway reloads its config itself.
        return std::future::pending().await;
    }
    let mut hang_up = signal(SignalKind::hangup()).context("failed to listen for signals")?;
    // If there is no file yet, it is found once it is written.
    let mut file = loaded.file.clone();
    let mut seen = stamp(file.as_deref());
    let mut untrusted: Option<UntrustedConfig> = None;
    loop {
        let request = tokio::select! {
            _ = hang_up.recv() => None,
            Some(request) = requests.recv() => Some(request),
            () = changed(file.as_deref(), seen, untrusted.as_ref()) => None,
        };
        seen = stamp(file.as_deref());
        untrusted = None;
        let applied = apply(app, connections, live, cli);
        if let Some(request) = request {
            // Fails if the requester no longer waits.
            let _ = request.send(applied.as_ref().map(drop).map_err(|error| format!("{error:#}")));
        }
        match applied {
            Ok(now) => {
                if file != now.file {
                    file.clone_from(&now.file);
                    seen = stamp(file.as_deref());
                }
                own_socket::describe(about, None, &now);
                let tools = app.executor.tools();
                let (tools, servers) = (tools.listed().len(), tools.servers().len());
                tracing::info!("the config applies as it is now: {tools} tools, {servers} servers");
                for section in later(&loaded.settings, &now.settings) {
                    tracing::warn!("what has changed in [{section}] applies when we start again");
                }
            }
            // Somebody else may be able to write to this folder; their config must not start programs as this user.
            Err(error) => match error.downcast::<UntrustedConfig>() {
                Ok(changed) => {
                    let advice = changed.advice();
                    tell_refusal(
                        &format!("it was found, not named, and has changed; {advice}"),
                        live,
                    );
                    untrusted = Some(changed);
                }
                Err(error) => tell_refusal(&format!("{error:#}"), live),
            },
        }
    }
}

/// Logs why a new config is refused; several problems become several lines of the log.
fn tell_refusal(error: &str, live: Option<LiveParts<'_>>) {
    for line in format!("the config stays as it was: {error}").lines() {
        tracing::error!("{line}");
    }
    if let Some(live) = live {
        live.config_state.refuse(error.to_owned());
    }
}

fn apply(
    app: &App,
    connections: &Connections,
    live: Option<LiveParts<'_>>,
    cli: &Cli,
) -> anyhow::Result<LoadedConfig> {
    let loaded = overrides::load_asking(cli, TrustPrompt::Forbidden)?;
    let chat = model::for_chat(&loaded)?;
    app.reload(&loaded, connections)?;
    if let Some(live) = live {
        live.models.replace(&chat);
        live.config_state.apply(snapshot(&loaded));
    }
    Ok(loaded)
}

/// Returns the sections that have changed since the start, but apply only after a restart.
fn later<'a>(started: &Settings, now: &Settings) -> impl Iterator<Item = &'a str> {
    // `allow_if` and `deny_if` belong to the policy, which has been replaced already.
    let at_start = |serve: &ServeConfig| ServeConfig {
        allow_if: Vec::new(),
        deny_if: Vec::new(),
        ..serve.clone()
    };
    let differ = [
        ("serve", at_start(&started.serve) != at_start(&now.serve)),
        ("audit", started.audit != now.audit),
        ("cluster", started.cluster != now.cluster),
        ("telemetry", started.telemetry != now.telemetry),
    ];
    differ.into_iter().filter_map(|(section, differs)| differs.then_some(section))
}

/// When the file was written, and how long it is.
type FileStamp = Option<(SystemTime, u64)>;

fn stamp(file: Option<&Path>) -> FileStamp {
    let data = fs::metadata(file?).ok()?;
    Some((data.modified().ok()?, data.len()))
}

/// Waits until the file has changed, and then stayed the same for a moment, because an editor may still be writing. Also
/// returns once somebody trusts the config that was refused.
async fn changed(file: Option<&Path>, seen: FileStamp, untrusted: Option<&UntrustedConfig>) {
    loop {
        sleep(OFTEN).await;
        if untrusted.is_some_and(UntrustedConfig::is_trusted_now) {
            return;
        }
        let now = stamp(file);
        if now.is_some() && now != seen {
            sleep(OFTEN / 10).await;
            if stamp(file) == now {
                return;
            }
        }
    }
}
