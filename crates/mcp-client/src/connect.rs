//! Connecting: so many attempts with growing delays, then in the background (SPEC MC-2).

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use switchboard_toolcall::HumanDuration;
use tokio::time::sleep;
use tracing::{debug, info, warn};

use super::{
    attempt::Trouble,
    given_up::GivenUp,
    server::{Server, State},
    supervise::Connected,
};

/// The longest pause between attempts in the background.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(60);

impl Server {
    /// Tries as often as the settings say; only once what waiting cannot mend, unless this process runs on.
    pub(super) async fn connect(self: &Arc<Self>) -> Result<Connected, GivenUp> {
        let mcp = &self.around.mcp;
        let attempts = mcp.retry_attempts.max(1);
        let mut attempt = 1;
        loop {
            let delay = mcp.delay(attempt);
            sleep(delay).await;
            let (name, delay) = (self.name(), HumanDuration(delay));
            info!("MCP connection attempt {attempt} of {attempts} to '{name}' (delay {delay})");
            let trouble = match self.try_once().await {
                Ok(connected) => {
                    if attempt > 1 {
                        info!("MCP connection succeeded on attempt {attempt}");
                    }
                    return Ok(connected);
                }
                Err(trouble) => trouble,
            };
            let gives_up_early = trouble.is_permanent && !self.around.retries_permanent;
            if attempt == attempts || gives_up_early {
                return Err(self.given_up(attempt, trouble));
            }
            debug!(server = &**name, reason = trouble.reason, "MCP connection attempt failed");
            attempt += 1;
        }
    }

    /// Says that the server has failed, and goes on trying: its tools appear when it is back.
    pub(super) async fn connect_in_background(self: &Arc<Self>, given_up: GivenUp) -> Connected {
        self.offer(Vec::new()).await;
        warn!("{}", given_up.error());
        // People are told first: who waits for the servers to settle then sees the block before the rest.
        (self.around.announce)(&given_up);
        self.enter(State::GivenUp(given_up.error().into()));
        for tries in 1.. {
            sleep(self.pause(tries + 1)).await;
            match self.try_once().await {
                Ok(connected) => return connected,
                Err(trouble) => {
                    debug!(server = &**self.name(), reason = trouble.reason, "still away")
                }
            }
        }
        unreachable!("the attempts never end")
    }

    fn given_up(&self, attempts: u32, trouble: Trouble) -> GivenUp {
        let Trouble { reason, stderr, .. } = trouble;
        let config = self.config();
        GivenUp {
            server: self.name().to_string(),
            kind: self.kind(),
            attempts,
            reason: match config.start_advice() {
                Some(advice) => format!("{reason}; {advice}"),
                None => reason,
            },
            stderr,
            check: config.check.clone(),
        }
    }

    /// Grows with each try up to a limit, with some jitter so that many servers do not come at once.
    pub(super) fn pause(&self, tries: u32) -> Duration {
        let base = self.around.mcp.retry_base_delay.0;
        let pause = base.saturating_mul(2_u32.saturating_pow(tries.min(16))).min(LONGEST_PAUSE);
        let random = RandomState::new().build_hasher().finish() % 1000;
        #[expect(clippy::cast_precision_loss, reason = "a number below 1000")]
        pause.mul_f64(0.75 + random as f64 / 2000.0)
    }

    /// Connects and reads what the server has.
    async fn try_once(self: &Arc<Self>) -> Result<Connected, Trouble> {
        self.starts.fetch_add(1, Ordering::Relaxed);
        let connected = self
            .attempt(async |(session, changes)| {
                let mut connected = Connected::new(session, changes);
                self.read_tools(&mut connected).await?;
                Ok(connected)
            })
            .await;
        match connected {
            Ok(connected) => Ok(connected),
            Err(trouble) => {
                self.set_back(&trouble.reason);
                // Its last words come after its answer: let it end before they are read.
                let stderr = self.close().await;
                Err(Trouble { stderr, ..trouble })
            }
        }
    }
}
