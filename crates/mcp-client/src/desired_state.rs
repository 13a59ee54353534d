//! What people want of a server: running, stopped, or reconnected.

use std::{future::pending, sync::Arc};

use super::server::{Server, ServerState};

/// What people want of a server; by default that it runs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DesiredState {
    is_halted: bool,
    /// How often a reconnect was asked for.
    renewals: u64,
}

impl Server {
    /// Connects anew, whatever it does now; what runs there ends. One that was halted starts; one that is skipped stays so.
    pub fn reconnect(&self) {
        if self.stop.is_cancelled() || self.config().skipped.is_some() {
            return;
        }
        self.enter(ServerState::Connecting);
        self.desired.send_modify(|desired| {
            *desired =
                DesiredState { is_halted: false, renewals: desired.renewals.wrapping_add(1) };
        });
        // One that sleeps until it is needed is needed now.
        self.wake.notify_one();
    }

    /// Ends it until [`resume`](Self::resume); its tools are gone until then.
    pub fn halt(&self) {
        if self.stop.is_cancelled() || self.config().skipped.is_some() {
            return;
        }
        self.enter(ServerState::Stopped);
        self.desired.send_modify(|desired| desired.is_halted = true);
    }

    /// Starts it, where it was halted.
    pub fn resume(&self) {
        if self.desired.borrow().is_halted {
            self.reconnect();
        }
    }

    /// Runs, stops and reconnects the server as people want it, until dropped.
    pub(super) async fn reconcile(self: &Arc<Self>) {
        if self.config().skipped.is_some() {
            return pending().await;
        }
        let mut desired = self.desired.subscribe();
        loop {
            let is_halted = desired.borrow_and_update().is_halted;
            if is_halted {
                self.enter(ServerState::Stopped);
                self.offer(Vec::new()).await;
                self.copies.end_all();
                // The sender lives as long as we do.
                _ = desired.changed().await;
                continue;
            }
            tokio::select! {
                () = self.keep_connected() => {}
                _ = desired.changed() => {}
            }
            let is_halted = desired.borrow().is_halted;
            // Calls wait for the next session, where there is to be one.
            self.enter(if is_halted { ServerState::Stopped } else { ServerState::Connecting });
            self.close().await;
        }
    }
}
