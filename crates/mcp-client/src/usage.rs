//! When a session was last needed, so that an idle server can be stopped.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::{Instant, sleep};

/// Counts the calls under way, and remembers when the last one ended.
pub(crate) struct SessionUsage(Mutex<(usize, Instant)>);

impl SessionUsage {
    /// Not used yet.
    pub(crate) fn new() -> Self {
        Self(Mutex::new((0, Instant::now())))
    }

    /// Counts a call until the guard is dropped.
    pub(crate) fn busy(&self) -> BusyGuard<'_> {
        self.lock().0 += 1;
        BusyGuard(self)
    }

    /// Resolves when nothing has been under way for as long as `limit`.
    pub(crate) async fn idle_for(&self, limit: Duration) {
        loop {
            let left = match *self.lock() {
                (0, since) => limit.saturating_sub(since.elapsed()),
                _ => limit,
            };
            if left.is_zero() {
                return;
            }
            sleep(left).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, (usize, Instant)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for SessionUsage {
    fn default() -> Self {
        Self::new()
    }
}

/// A call under way.
pub(crate) struct BusyGuard<'a>(&'a SessionUsage);

impl Drop for BusyGuard<'_> {
    fn drop(&mut self) {
        let mut usage = self.0.lock();
        *usage = (usage.0 - 1, Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // MC-7
    #[tokio::test(start_paused = true)]
    async fn idle_means_nothing_under_way() {
        let usage = SessionUsage::new();
        let began = Instant::now();
        let busy = usage.busy();
        let limit = Duration::from_secs(10);
        let work = async {
            sleep(Duration::from_secs(25)).await;
            drop(busy);
        };
        tokio::join!(work, usage.idle_for(limit));
        assert!(began.elapsed() >= Duration::from_secs(35), "{:?}", began.elapsed());
    }
}
