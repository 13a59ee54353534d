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
    /// Reconnects, whatever the state; running calls end. A halted server starts; a skipped one stays skipped.
    pub fn reconnect(&self) {
        if self.stop.is_cancelled() || self.config().skipped.is_some() {
            return;
        }
        self.enter(ServerState::Connecting);
        self.desired.send_modify(|desired| {
            *desired =
                DesiredState { is_halted: false, renewals: desired.renewals.wrapping_add(1) };
        });
        // An idle server that starts on demand must start now.
        self.wake.notify_one();
    }

    /// Stops the server until [`resume`](Self::resume) is called; its tools are gone until then.
    pub fn halt(&self) {
        if self.stop.is_cancelled() || self.config().skipped.is_some() {
            return;
        }
        self.enter(ServerState::Stopped);
        self.desired.send_modify(|desired| desired.is_halted = true);
    }

    /// Starts the server if it was halted.
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
                self.users.end_all();
                // Cannot fail: `self` owns the sender.
                _ = desired.changed().await;
                continue;
            }
            tokio::select! {
                () = self.keep_connected() => {}
                _ = desired.changed() => {}
            }
            let is_halted = desired.borrow().is_halted;
            // Calls wait for the next session, unless the server was halted.
            self.enter(if is_halted { ServerState::Stopped } else { ServerState::Connecting });
            self.close().await;
            self.users.end_all();
        }
    }
}
