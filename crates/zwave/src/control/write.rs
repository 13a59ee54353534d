//! One write to a device, and the confirmation that the device did it.

use std::time::Duration;

use futures_util::{StreamExt, stream::BoxStream};
use serde_json::Value;
use switchboard_toolcall::ToolError;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout_at};

use super::{ControlFailure, ControlWrite, ExpectedValue, WriteOutcome};
use crate::{
    device::Device,
    network::{Error, Network, ValueId, WriteAck},
};

/// How often a device is polled for the new value.
const ASK_EVERY: Duration = Duration::from_millis(500);
/// The delay of the first poll, if reports prove nothing.
const ASK_FIRST: Duration = Duration::from_millis(100);

/// One device that is written to.
pub(super) struct Write<'a> {
    network: &'a dyn Network,
    device: Device<'a>,
    state: &'a ValueId,
    target: ValueId,
    /// The last value reported since.
    pub(super) seen: Option<Value>,
    reports: BoxStream<'static, Value>,
}

impl<'a> Write<'a> {
    /// Returns `None` if the device has nothing that can be switched.
    pub(super) fn new(network: &'a dyn Network, device: Device<'a>) -> Option<Self> {
        let state = &device.control()?.id;
        let (target, reports) = (device.target()?, network.watch(device.node(), state));
        Some(Self { network, device, state, target, seen: None, reports })
    }

    /// Writes, and waits until the device has confirmed it.
    ///
    /// # Errors
    /// The device refuses, or cannot be reached.
    pub(super) async fn carry_out(
        &mut self,
        telling: &ControlWrite,
        end: Instant,
    ) -> Result<WriteOutcome, ControlFailure> {
        let write = self.network.write(self.device.node(), &self.target, telling.value.clone());
        let written = match timeout_at(end, write).await {
            Err(_) => return Ok(WriteOutcome::Unanswered),
            Ok(Err(error @ Error::Lost { .. })) => return Err(ControlFailure::Unknown(error)),
            Ok(Err(error)) => return Err(ControlFailure::Network(error)),
            Ok(Ok(written)) => written,
        };
        if !written.is_ok() {
            return Err(ControlFailure::Refused(self.failed(&written)));
        }
        let confirmed = self.is_confirmed(&telling.wanted, written.is_supervised());
        let in_time = timeout_at(end, confirmed).await.is_ok();
        // A lamp that is still getting brighter is on.
        let is_as_wanted = self.seen.as_ref().is_some_and(|seen| telling.wanted.is(seen));
        match in_time || is_as_wanted {
            true => Ok(WriteOutcome::Confirmed(written)),
            false => Ok(WriteOutcome::Unseen(written)),
        }
    }

    /// Waits until the device has the expected value.
    ///
    /// Unless the device itself confirmed the write, a report of the expected value may be the gateway's guess
    /// ([`WriteAck::is_supervised`]): then only the device's response to a poll counts. A report of another value
    /// is never a guess.
    async fn is_confirmed(&mut self, wanted: &ExpectedValue, is_supervised: bool) {
        let first = if is_supervised { ASK_EVERY } else { ASK_FIRST };
        let mut ask = interval_at(Instant::now() + first, ASK_EVERY);
        ask.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut reports_end = false;
        loop {
            let (seen, is_guess) = tokio::select! {
                seen = self.reports.next(), if !reports_end => {
                    reports_end = seen.is_none();
                    (seen, !is_supervised)
                }
                _ = ask.tick() => {
                    let polled = self.network.poll(self.device.node(), self.state).await;
                    // It did not respond, or not in time.
                    (polled.ok().filter(|value| !value.is_null()), false)
                }
            };
            let Some(seen) = seen else { continue };
            let is_it = wanted.is(&seen);
            if is_it && is_guess {
                continue;
            }
            let is_settled = match wanted {
                ExpectedValue::Exactly(_) => true,
                // A lamp that dims to an unknown level reports other levels on the way.
                ExpectedValue::On => self.seen.as_ref() == Some(&seen),
            };
            self.seen = Some(seen);
            if is_it && is_settled {
                return;
            }
        }
    }

    fn failed(&self, written: &WriteAck) -> ToolError {
        let path = self.device.path();
        let message = written.message.as_ref().map(|message| format!(": {message}"));
        let (word, status) = (written.word(), written.status);
        ToolError::failed(format!(
            "{path} did not do it: the gateway says {word} (status {status}){}",
            message.unwrap_or_default()
        ))
    }
}
