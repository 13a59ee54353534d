//! What people want of a server: that it runs, that it does not, that it is connected anew.

use std::{future::pending, sync::Arc};

use super::server::{Server, State};

/// What people want of a server; by default that it runs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wish {
    is_halted: bool,
    /// How often it was to be connected anew.
    renewals: u64,
}

impl Server {
    /// Connects anew, whatever it does now; what runs there ends. One that was halted starts; one that is skipped stays so.
    pub fn reconnect(&self) {
        if self.stop.is_cancelled() || self.config().skipped.is_some() {
            return;
        }
        self.enter(State::Connecting);
        self.wish.send_modify(|wish| {
            *wish = Wish { is_halted: false, renewals: wish.renewals.wrapping_add(1) };
        });
        // One that sleeps until it is needed is needed now.
        self.bell.notify_one();
    }

    /// Ends it until [`resume`](Self::resume); its tools are gone until then.
    pub fn halt(&self) {
        if self.stop.is_cancelled() || self.config().skipped.is_some() {
            return;
        }
        self.enter(State::Stopped);
        self.wish.send_modify(|wish| wish.is_halted = true);
    }

    /// Starts it, where it was halted.
    pub fn resume(&self) {
        if self.wish.borrow().is_halted {
            self.reconnect();
        }
    }

    /// Does what people want, for as long as it is there.
    pub(super) async fn as_wished(self: &Arc<Self>) {
        if self.config().skipped.is_some() {
            return pending().await;
        }
        let mut wish = self.wish.subscribe();
        loop {
            let is_halted = wish.borrow_and_update().is_halted;
            if is_halted {
                self.enter(State::Stopped);
                self.offer(Vec::new()).await;
                self.copies.end_all();
                // The sender lives as long as we do.
                _ = wish.changed().await;
                continue;
            }
            tokio::select! {
                () = self.keep_connected() => {}
                _ = wish.changed() => {}
            }
            let is_halted = wish.borrow().is_halted;
            // Calls wait for the next session, where there is to be one.
            self.enter(if is_halted { State::Stopped } else { State::Connecting });
            self.close().await;
        }
    }
}
