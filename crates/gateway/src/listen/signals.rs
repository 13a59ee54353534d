//! What a connection is told while it is at something else.

use std::{pin::pin, time::Duration};

use futures_util::{FutureExt, StreamExt, stream::FuturesUnordered};
use switchboard_toolcall::BoxFuture;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::draining::Draining;

/// What a connection is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    /// Finish what you are at.
    Drain,
    /// Finish nothing.
    End,
    /// The time that was asked for has passed.
    Time,
}

/// They have wakers of their own, so that a connection that is woken for a request does not ask them again.
pub(super) struct Signals(FuturesUnordered<BoxFuture<'static, Signal>>);

impl Signals {
    pub(super) fn new(draining: Draining, ending: CancellationToken) -> Self {
        let signals = FuturesUnordered::<BoxFuture<'static, Signal>>::new();
        signals.push(Box::pin(async move { draining.begun().await }.map(|()| Signal::Drain)));
        signals.push(Box::pin(ending.cancelled_owned().map(|()| Signal::End)));
        Self(signals)
    }

    /// Asks for a [`Signal::Time`].
    pub(super) fn after(&mut self, time: Duration) {
        self.0.push(Box::pin(sleep(time).map(|()| Signal::Time)));
    }

    /// Waits for the next.
    pub(super) async fn next(&mut self) -> Signal {
        match self.0.next().await {
            Some(signal) => signal,
            // All that could be said was said.
            None => std::future::pending().await,
        }
    }

    /// What comes of `work`; none, where there is a signal before after which it does not go on.
    pub(super) async fn beside<T>(
        &mut self,
        work: impl Future<Output = T>,
        mut goes_on: impl FnMut(&mut Self, Signal) -> bool,
    ) -> Option<T> {
        let mut work = pin!(work);
        loop {
            let signal = tokio::select! {
                biased;
                done = work.as_mut() => return Some(done),
                signal = self.next() => signal,
            };
            if !goes_on(self, signal) {
                return None;
            }
        }
    }
}
