//! A changed config, or SIGHUP, applies while calls run; a broken one is refused and the old one stays.

use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime},
};

use anyhow::Context;
use switchboard_gateway::{About, Config as ServeConfig, ConfigSnapshot, ConfigState, Models};
use tokio::{
    signal::unix::{SignalKind, signal},
    time::sleep,
};

use super::own_socket;
use crate::{
    assembly::App,
    cli::Cli,
    connections::Connections,
    model, overrides,
    settings::{
        Loaded, Settings,
        trust::{TrustPrompt, Untrusted},
    },
};

/// How often the file is looked at.
const OFTEN: Duration = Duration::from_secs(1);

/// What a gateway over HTTP has that follows the config.
#[derive(Clone, Copy)]
pub(super) struct LiveParts<'a> {
    pub(super) models: &'a Models,
    pub(super) config_state: &'a ConfigState,
}

/// What the console shows of a config.
pub(super) fn snapshot(loaded: &Loaded) -> ConfigSnapshot {
    ConfigSnapshot {
        file: loaded.file.clone(),
        policy: loaded.settings.policy.clone(),
        allow_if: loaded.settings.serve.allow_if.clone(),
        deny_if: loaded.settings.serve.deny_if.clone(),
        refusal: None,
    }
}

/// Applies the config again whenever it changes. Ends only when dropped.
///
/// # Errors
/// Signals cannot be listened for.
pub(super) async fn follow(
    app: &App,
    connections: &Connections,
    live: Option<LiveParts<'_>>,
    about: &About,
    cli: &Cli,
    loaded: &Loaded,
) -> anyhow::Result<()> {
    if loaded.replay.is_some() || loaded.is_attached {
        // What was recorded does not change, and the gateway has its config itself.
        return std::future::pending().await;
    }
    let mut hang_up = signal(SignalKind::hangup()).context("failed to listen for signals")?;
    let file = loaded.file.as_deref();
    let mut seen = stamp(file);
    let mut untrusted: Option<Untrusted> = None;
    loop {
        tokio::select! {
            _ = hang_up.recv() => {}
            () = changed(file, seen, untrusted.as_ref()) => {}
        }
        seen = stamp(file);
        untrusted = None;
        match apply(app, connections, live, cli) {
            Ok(now) => {
                own_socket::describe(about, None, &now);
                let tools = app.executor.tools();
                let (tools, servers) = (tools.listed().len(), tools.servers().len());
                tracing::info!("the config applies as it is now: {tools} tools, {servers} servers");
                for section in later(&loaded.settings, &now.settings) {
                    tracing::warn!("what has changed in [{section}] applies when we start again");
                }
            }
            // Somebody else may be able to write to this folder; their config must not start programs as this user.
            Err(error) => match error.downcast::<Untrusted>() {
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

/// Says why a new config is refused. Several problems, or the place in the file, are several lines of the log.
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
) -> anyhow::Result<Loaded> {
    let loaded = overrides::load_asking(cli, TrustPrompt::Forbidden)?;
    let chat = model::for_chat(&loaded)?;
    app.reload(&loaded, connections)?;
    if let Some(live) = live {
        live.models.replace(&chat);
        live.config_state.apply(snapshot(&loaded));
    }
    Ok(loaded)
}

/// The sections that differ from those we started with, and are read only then.
fn later<'a>(started: &Settings, now: &Settings) -> impl Iterator<Item = &'a str> {
    // Rules are the policy's, which is new already.
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
        ("cluster", started.cluster != now.cluster),
    ];
    differ.into_iter().filter_map(|(section, differs)| differs.then_some(section))
}

/// When the file was written, and how long it is.
type FileStamp = Option<(SystemTime, u64)>;

fn stamp(file: Option<&Path>) -> FileStamp {
    let data = fs::metadata(file?).ok()?;
    Some((data.modified().ok()?, data.len()))
}

/// Waits until the file is another one, and has stayed so for a moment: an editor may still be writing. Or until
/// somebody trusts what was refused.
async fn changed(file: Option<&Path>, seen: FileStamp, untrusted: Option<&Untrusted>) {
    loop {
        sleep(OFTEN).await;
        if untrusted.is_some_and(Untrusted::is_trusted_now) {
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
