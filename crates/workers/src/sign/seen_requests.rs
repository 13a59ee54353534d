//! Remembers requests, so that none is accepted twice.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::WINDOW;

/// How long a request could be replayed: its clock may be ahead of ours by one window, and it is accepted for one more.
const REMEMBERED: Duration = Duration::from_secs(2 * WINDOW.as_secs());

/// The accepted requests. Only signed ones are stored, so that nobody else can fill it.
#[derive(Default)]
pub(crate) struct SeenRequests(Mutex<RequestWindows>);

#[derive(Default)]
struct RequestWindows {
    since: Option<Instant>,
    now: HashSet<[u8; 16]>,
    before: HashSet<[u8; 16]>,
}

impl SeenRequests {
    /// Remembers a request. Returns whether it is new.
    pub(crate) fn is_new(&self, id: [u8; 16]) -> bool {
        let mut requests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let since = *requests.since.get_or_insert_with(Instant::now);
        if since.elapsed() >= REMEMBERED {
            // Older entries would be rejected for their age.
            requests.before = match since.elapsed() < REMEMBERED * 2 {
                true => std::mem::take(&mut requests.now),
                false => HashSet::new(),
            };
            requests.now.clear();
            requests.since = Some(Instant::now());
        }
        !requests.before.contains(&id) && requests.now.insert(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_request_is_known_for_as_long_as_it_could_be_taken() {
        let seen = SeenRequests::default();
        assert!(seen.is_new([0; 16]));
        for step in 1..4 {
            tokio::time::advance(REMEMBERED / 2 - Duration::from_secs(1)).await;
            assert!(seen.is_new([step; 16]), "others are taken");
            if step < 3 {
                assert!(!seen.is_new([0; 16]), "after {step} steps");
            }
            assert!(!seen.is_new([step; 16]));
        }
        tokio::time::advance(REMEMBERED * 5).await;
        assert!(seen.is_new([0; 16]), "by then it is refused for its age");
        assert_eq!(seen.0.lock().unwrap().before.len(), 0, "nothing is kept for ever");
    }
}
