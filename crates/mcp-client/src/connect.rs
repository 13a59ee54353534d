//! Connecting: a limited number of attempts with growing delays, then further ones in the background (SPEC MC-2).

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use switchboard_toolcall::HumanDuration;
use tokio::time::sleep;
use tracing::{debug, info, warn};

use super::{
    attempt::AttemptFailure,
    server::{Server, ServerState},
    server_failure::ServerFailure,
    supervise::ConnectedServer,
};

/// The longest pause between attempts in the background.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(60);

impl Server {
    /// Tries up to `retry_attempts` times. Stops after a permanent failure, unless `retries_permanent` is set.
    pub(super) async fn connect(self: &Arc<Self>) -> Result<ConnectedServer, ServerFailure> {
        let mcp = &self.deps.mcp;
        let attempts = mcp.retry_attempts.max(1);
        let mut attempt = 1;
        loop {
            let delay = mcp.delay(attempt);
            sleep(delay).await;
            let (name, delay) = (self.name(), HumanDuration(delay));
            info!("MCP connection attempt {attempt} of {attempts} to '{name}' (delay {delay})");
            let failed = match self.try_once().await {
                Ok(connected) => {
                    if attempt > 1 {
                        info!("MCP connection succeeded on attempt {attempt}");
                    }
                    return Ok(connected);
                }
                Err(failed) => failed,
            };
            let fails_early = failed.is_permanent && !self.deps.retries_permanent;
            if attempt == attempts || fails_early {
                return Err(self.failure(attempt, failed));
            }
            debug!(server = &**name, reason = failed.reason, "MCP connection attempt failed");
            attempt += 1;
        }
    }

    /// Announces that the server has failed, and keeps trying: its tools appear once it is connected.
    pub(super) async fn connect_in_background(
        self: &Arc<Self>,
        failure: ServerFailure,
    ) -> ConnectedServer {
        if self.user.is_none() {
            self.offer(Vec::new()).await;
            warn!("{}", failure.error());
        }
        // Announced before the state changes: a command that waits until all servers have settled then prints this block first.
        (self.deps.announce)(&failure);
        self.enter(ServerState::Failed(failure.error().into()));
        for tries in 1.. {
            let needs_sign_in = self.needs_sign_in().is_some();
            let pause = async {
                match self.user.is_some() && needs_sign_in {
                    true => self.wake.notified().await,
                    false => sleep(self.pause(tries + 1)).await,
                }
            };
            tokio::select! {
                () = pause => {}
                () = self.signed_in_elsewhere(), if needs_sign_in => {}
            }
            match self.try_once().await {
                Ok(connected) => return connected,
                Err(failed) => {
                    debug!(server = &**self.name(), reason = failed.reason, "still away")
                }
            }
        }
        unreachable!("the attempts never end")
    }

    fn failure(&self, attempts: u32, failed: AttemptFailure) -> ServerFailure {
        let AttemptFailure { reason, stderr, .. } = failed;
        let config = self.config();
        ServerFailure {
            server: self.name().to_string(),
            kind: self.kind(),
            attempts,
            reason: match config.start_advice(&reason) {
                Some(advice) => format!("{reason}; {advice}"),
                None => reason,
            },
            stderr,
            check: match self.needs_sign_in() {
                Some(_) => Some(self.sign_in_hint()),
                None => config.check.clone(),
            },
        }
    }

    /// Returns the pause before the next try: grows up to a limit, with jitter so that many servers do not reconnect at once.
    pub(super) fn pause(&self, tries: u32) -> Duration {
        let base = self.deps.mcp.retry_base_delay.0;
        let pause = base.saturating_mul(2_u32.saturating_pow(tries.min(16))).min(LONGEST_PAUSE);
        let random = RandomState::new().build_hasher().finish() % 1000;
        #[expect(clippy::cast_precision_loss, reason = "a number below 1000")]
        pause.mul_f64(0.75 + random as f64 / 2000.0)
    }

    /// Connects once and reads the server's tools.
    async fn try_once(self: &Arc<Self>) -> Result<ConnectedServer, AttemptFailure> {
        self.starts.fetch_add(1, Ordering::Relaxed);
        let connected = self
            .attempt(async |(session, changes)| {
                let mut connected = ConnectedServer::new(session, changes);
                self.read_tools(&mut connected).await?;
                Ok(connected)
            })
            .await;
        match connected {
            Ok(connected) => Ok(connected),
            Err(failed) => {
                self.record_error(&failed.reason);
                // The last lines of stderr come after the response: let the process end before they are read.
                let stderr = self.close().await;
                Err(AttemptFailure { stderr, ..failed })
            }
        }
    }
}
