//! The gateway that this user runs with the same config: commands ask it over its Unix socket instead of starting servers
//! of their own. It runs the calls; nothing here goes around its executor.

mod attach;
mod client;
pub(crate) mod socket;

use std::{
    io::{self, IsTerminal},
    path::PathBuf,
    time::Duration,
};

use serde_json::Value;
use switchboard_access::CALLER_HEADER;
use tokio::{runtime, time::timeout};

use crate::{
    cli::Cli,
    settings::Loaded,
    terminal::{self, Paint, text},
};

pub(crate) use client::path;

/// How long a gateway has to say who it is; one that is busy for longer helps nobody.
const PATIENCE: Duration = Duration::from_millis(200);

/// The caller that records of the command line name.
pub(crate) const CALLER: &str = "command line";

/// A gateway of this user, with the same config and version.
#[derive(Clone, Debug)]
pub(crate) struct OwnGateway {
    socket: PathBuf,
}

impl OwnGateway {
    /// Finds the gateway that serves this config, unless the command is to run alone. People are told why one that is
    /// there is not used.
    pub(crate) fn find(cli: &Cli, loaded: &Loaded) -> Option<Self> {
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
    pub(crate) fn required(loaded: &Loaded) -> anyhow::Result<Self> {
        let missing = match Self::look(loaded) {
            Ok(Some(gateway)) => return Ok(gateway),
            Ok(None) => "no gateway of yours runs with this config".to_owned(),
            Err(reason) => format!("the running gateway is not used: {reason}"),
        };
        let text = format!("{missing}; `switchboard serve` starts one");
        Err(anyhow::anyhow!(terminal::CommandFailed(text)))
    }

    fn look(loaded: &Loaded) -> Result<Option<Self>, String> {
        let Some(socket) = socket::find(loaded)? else { return Ok(None) };
        let gateway = Self { socket };
        let about = gateway.about()?;
        let word = |key: &str| about[key].as_str().map(str::to_owned);
        let (theirs, ours) = (word("version").unwrap_or_default(), env!("CARGO_PKG_VERSION"));
        if theirs != ours {
            return Err(format!("it is version {theirs}, and this is {ours}; start it again"));
        }
        if word("config_digest") != loaded.digest {
            return Err("it has not taken over the config as it is now".to_owned());
        }
        Ok(Some(gateway))
    }

    /// What the gateway says of itself.
    fn about(&self) -> Result<Value, String> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let asked = async { timeout(PATIENCE, self.get("/api/gateway")).await };
        match runtime.block_on(asked) {
            Ok(Ok(about)) => Ok(about),
            Ok(Err(error)) => Err(format!("it does not answer: {error:#}")),
            Err(_) => Err(format!("it does not answer within {} ms", PATIENCE.as_millis())),
        }
    }

    /// Where the gateway behind this socket listens, if it says so in time.
    pub(crate) async fn address_behind(socket: PathBuf) -> Option<String> {
        let gateway = Self { socket };
        let about = timeout(PATIENCE, gateway.get("/api/gateway")).await.ok()?.ok()?;
        about["address"].as_str().map(str::to_owned)
    }

    /// The headers under which records name the command line as the caller.
    pub(crate) fn caller() -> (&'static str, String) {
        (CALLER_HEADER, CALLER.to_owned())
    }
}

/// Whether the command is to use no gateway.
pub(crate) fn runs_alone(cli: &Cli) -> bool {
    cli.alone || cli.replay.is_some() || !cli.fault.is_empty()
}
