//! The gateway that this user runs with the same config: commands ask it over its Unix socket instead of starting servers
//! of their own. It runs the calls; nothing here goes around its executor.

mod attach;
mod call;
mod client;
mod presence;
mod servers;
pub(crate) mod socket;
mod tools;

use std::{
    fs,
    io::{self, IsTerminal},
    path::PathBuf,
    time::Duration,
};

use serde_json::Value;
use switchboard_access::CALLER_HEADER;
use tokio::{
    runtime,
    time::{sleep, timeout},
};

use crate::{
    cli::Cli,
    settings::LoadedConfig,
    terminal::{self, Paint, text},
    version::VERSION,
};

pub(crate) use attach::SERVER_NAME;
pub(crate) use call::{CallWatch, GatewayCall, GatewayCallOutcome};
pub(crate) use client::path;

/// How long a gateway may take to identify itself; one that is busy for longer is not used.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long a gateway may take to apply a config that has changed.
const RELOAD_TIME: Duration = Duration::from_secs(3);

/// The caller that records of the command line name.
pub(crate) const CALLER: &str = "command line";

/// A gateway of this user, with the same config, version and build.
#[derive(Clone, Debug)]
pub(crate) struct OwnGateway {
    socket: PathBuf,
}

impl OwnGateway {
    /// Finds the gateway that serves this config, unless the command is to run alone. If there is one that cannot be used,
    /// says why on stderr.
    pub(crate) fn find(cli: &Cli, loaded: &LoadedConfig) -> Option<Self> {
        if runs_alone(cli) {
            return None;
        }
        match Self::look(loaded) {
            Ok(gateway) => gateway,
            Err(reason) => {
                tracing::debug!("the running gateway is not used: {reason}");
                if io::stderr().is_terminal() {
                    let line =
                        format!("the running gateway is not used: {}", text::one_line(&reason));
                    terminal::tell(&Paint::stderr(cli.color).dim(&line));
                }
                None
            }
        }
    }

    /// As [`find`](Self::find), for a command that cannot run without it.
    ///
    /// # Errors
    /// No gateway runs with this config, or the one that runs cannot be used.
    pub(crate) fn required(loaded: &LoadedConfig) -> anyhow::Result<Self> {
        let missing = match Self::look(loaded) {
            Ok(Some(gateway)) => return Ok(gateway),
            Ok(None) => "no gateway of yours runs with this config".to_owned(),
            Err(reason) => format!("the running gateway is not used: {reason}"),
        };
        let text = format!("{missing}; `switchboard serve` starts one");
        Err(anyhow::anyhow!(terminal::CommandFailed(text)))
    }

    /// Returns the gateway that serves this config; `None` if there is none.
    ///
    /// # Errors
    /// There is one that cannot be used; the text says why.
    pub(crate) fn look(loaded: &LoadedConfig) -> Result<Option<Self>, String> {
        let Some(socket) = socket::find(loaded)? else { return Ok(None) };
        let gateway = Self { socket };
        block_on(gateway.agrees(loaded))?;
        Ok(Some(gateway))
    }

    /// Checks that the gateway has the same version, build and config. If the config was changed a moment ago, waits until the
    /// gateway has read it.
    async fn agrees(&self, loaded: &LoadedConfig) -> Result<(), String> {
        loop {
            let about = self.get_within_patience("/api/gateway").await?;
            let word = |key: &str| about[key].as_str().map(str::to_owned);
            let (theirs, ours) = (word("version").unwrap_or_default(), env!("CARGO_PKG_VERSION"));
            // The API may differ between versions, so only a gateway of the same version is used.
            if theirs != ours {
                return Err(format!("it is version {theirs}, and this is {ours}; start it again"));
            }
            // Until a version is published, its API changes from commit to commit. A gateway too old to say its build is another one.
            let build = word("build").unwrap_or(theirs);
            if build != VERSION {
                return Err(format!(
                    "it is another build, {build}, and this is {VERSION}; start it again"
                ));
            }
            if word("config_digest") == loaded.digest {
                return Ok(());
            }
            if !is_just_written(loaded) {
                return Err("it has not taken over the config as it is now".to_owned());
            }
            sleep(RELOAD_TIME / 30).await;
        }
    }

    /// Gets the JSON of a path, with a short time limit.
    ///
    /// # Errors
    /// The gateway cannot be reached, refuses, or does not answer in time.
    pub(crate) fn get_soon(&self, path: &str) -> Result<Value, String> {
        block_on(self.get_within_patience(path))
    }

    async fn get_within_patience(&self, path: &str) -> Result<Value, String> {
        match timeout(PATIENCE, self.get(path)).await {
            Ok(Ok(about)) => Ok(about),
            Ok(Err(error)) if is_refused(&error) => {
                Err("it was killed; `switchboard serve` starts it again".to_owned())
            }
            Ok(Err(error)) => Err(format!("it does not answer: {error:#}")),
            Err(_) => Err(format!("it does not answer within {} s", PATIENCE.as_secs())),
        }
    }

    /// The headers under which records name the command line as the caller.
    pub(crate) fn caller() -> (&'static str, String) {
        (CALLER_HEADER, CALLER.to_owned())
    }
}

fn block_on<T>(work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(work)
}

/// Whether the config was written so recently that a gateway may not have read it yet.
fn is_just_written(loaded: &LoadedConfig) -> bool {
    let written = loaded.file.as_deref().and_then(|file| fs::metadata(file).ok()?.modified().ok());
    written.is_some_and(|written| written.elapsed().is_ok_and(|age| age < RELOAD_TIME))
}

/// Whether the error means that no process listens on the socket any more.
fn is_refused(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

/// Whether the command is to use no gateway.
pub(crate) fn runs_alone(cli: &Cli) -> bool {
    cli.alone || cli.replay.is_some() || !cli.fault.is_empty()
}
