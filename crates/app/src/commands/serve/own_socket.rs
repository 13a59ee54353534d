//! The Unix socket over which commands of the same user and config use this gateway.

use std::time::Duration;

use switchboard_gateway::{About, AboutGateway};
use tokio::{
    net::UnixListener,
    time::{Instant, sleep},
};

use crate::{
    own_gateway::socket::{self, OwnSocket, RunningGateway, SocketClaim},
    settings::LoadedConfig,
    terminal::{self, text},
    version::VERSION,
};

/// How long to wait for another gateway with this config that is starting, until it listens.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often to check whether it does.
const STEP: Duration = Duration::from_millis(50);

/// Tries to become the gateway that commands with this config use. Waits while another one starts, because that one may
/// fail.
///
/// # Errors
/// There is no folder for the socket: the reason.
pub(super) async fn claim(loaded: &LoadedConfig) -> Result<SocketClaim, String> {
    let began = Instant::now();
    loop {
        match socket::claim(loaded)? {
            SocketClaim::Taken(None) if began.elapsed() < PATIENCE => sleep(STEP).await,
            claim => return Ok(claim),
        }
    }
}

/// Listens on the socket, or says why not; the gateway serves all the same.
pub(super) fn listen(
    claim: Result<SocketClaim, String>,
    address: &str,
) -> Option<(UnixListener, OwnSocket)> {
    let running = RunningGateway { pid: std::process::id(), address: address.to_owned() };
    let listening = match claim {
        Ok(SocketClaim::Taken(other)) => {
            let other = other.map(|other| format!(" {}", at(&other))).unwrap_or_default();
            terminal::tell(&format!(
                "a gateway with this config is running already{other}; commands such as `switchboard call` use that one"
            ));
            return None;
        }
        Ok(SocketClaim::Ours(lock)) => lock.listen(&running),
        Err(reason) => Err(reason),
    };
    listening
        .inspect_err(|reason| {
            let reason = text::one_line(reason);
            terminal::tell(&format!(
                "warning: there is no socket for `switchboard call` and others, which therefore run alone: {reason}"
            ));
        })
        .ok()
}

/// `at http://127.0.0.1:7300 (pid 4711)`
fn at(RunningGateway { pid, address }: &RunningGateway) -> String {
    format!("at {} (pid {pid})", text::one_line(address))
}

/// Updates what the gateway reports about itself.
pub(super) fn describe(about: &About, address: Option<String>, loaded: &LoadedConfig) {
    let config = loaded.file.as_ref().map(|file| file.display().to_string());
    let config_digest = loaded.digest.clone();
    let address = address.or_else(|| about.get().address.clone());
    let build = Some(VERSION.to_owned());
    about.set(AboutGateway { build, address, config, config_digest, ..AboutGateway::default() });
}

/// Returns where this user's gateway with this port listens; `None` if there is no such gateway.
pub(super) fn at_port(listen: &str) -> Option<String> {
    let (_, port) = listen.rsplit_once(':')?;
    let has_port = |other: &&RunningGateway| other.address.ends_with(&format!(":{port}"));
    socket::running().iter().find(has_port).map(at)
}
