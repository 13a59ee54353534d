//! The latest events, for subscribers and for clients that reconnect.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use switchboard_toolcall::CallId;
use tokio::{sync::broadcast, time::Instant};

use super::FeedEvent;

/// How far subscribers may fall behind before they miss events, and how many events are kept for clients that reconnect.
const BEHIND: usize = 4096;
/// How long events are buffered without subscribers.
const PATIENCE: Duration = Duration::from_secs(60);

/// The latest events. Without subscribers, nothing is buffered or created.
pub(super) struct Memory {
    /// Distinguishes this start of the gateway from others.
    start: CallId,
    events: broadcast::Sender<Arc<FeedEvent>>,
    /// Whether there is a subscriber, or was one lately.
    is_wanted: AtomicBool,
    kept: Mutex<EventBuffer>,
}

struct EventBuffer {
    events: VecDeque<Arc<FeedEvent>>,
    /// The number of the next event.
    next: u64,
    /// When there was last a subscriber.
    watched: Instant,
}

/// A subscription.
pub(crate) struct EventSubscription {
    /// How many events were missed since the last one it saw; `None` if unknown.
    pub(crate) missed: Option<u64>,
    /// The events since the last one it saw.
    pub(crate) past: Vec<Arc<FeedEvent>>,
    /// The events from now on.
    pub(crate) live: broadcast::Receiver<Arc<FeedEvent>>,
}

impl Default for Memory {
    fn default() -> Self {
        let kept = EventBuffer { events: VecDeque::new(), next: 1, watched: Instant::now() };
        Self {
            start: CallId::generate(),
            events: broadcast::Sender::new(BEHIND),
            is_wanted: AtomicBool::new(false),
            kept: Mutex::new(kept),
        }
    }
}

impl Memory {
    /// Whether events need to be created at all.
    pub(super) fn is_wanted(&self) -> bool {
        self.is_wanted.load(Ordering::Relaxed)
    }

    /// Numbers the event, sends it to subscribers, and buffers it for those that reconnect.
    pub(super) fn add(&self, event: FeedEvent) {
        let mut kept = self.lock();
        let now = Instant::now();
        if self.events.receiver_count() > 0 {
            kept.watched = now;
        } else if now - kept.watched > PATIENCE {
            self.is_wanted.store(false, Ordering::Relaxed);
            kept.events = VecDeque::new();
            // A client that reconnects after this has missed an event.
            kept.next += 1;
            return;
        }
        let event = Arc::new(FeedEvent { number: kept.next, ..event });
        kept.next += 1;
        if kept.events.len() == BEHIND {
            kept.events.pop_front();
        }
        kept.events.push_back(event.clone());
        // There may be no receivers. Sent under the lock, so that all see the same order.
        let _ = self.events.send(event);
    }

    /// Returns whether there has been no subscriber for a while; then the buffer is dropped.
    pub(super) fn is_abandoned(&self) -> bool {
        let mut kept = self.lock();
        let now = Instant::now();
        if self.events.receiver_count() > 0 {
            kept.watched = now;
        }
        let is_abandoned = now - kept.watched > PATIENCE;
        if is_abandoned {
            self.is_wanted.store(false, Ordering::Relaxed);
            kept.events = VecDeque::new();
            // A client that reconnects after this may have missed an event.
            kept.next += 1;
        }
        is_abandoned
    }

    /// Subscribes to events; those since the event with the id `last` come first.
    pub(super) fn watch(&self, last: Option<&str>) -> EventSubscription {
        let mut kept = self.lock();
        self.is_wanted.store(true, Ordering::Relaxed);
        kept.watched = Instant::now();
        let live = self.events.subscribe();
        let Some(last) = last else {
            return EventSubscription { missed: Some(0), past: Vec::new(), live };
        };
        let Some(seen) = self.number(last).filter(|seen| *seen < kept.next) else {
            return EventSubscription { missed: None, past: Vec::new(), live };
        };
        let past: Vec<_> =
            kept.events.iter().filter(|event| event.number > seen).cloned().collect();
        let missed = kept.next - 1 - seen - past.len() as u64;
        EventSubscription { missed: Some(missed), past, live }
    }

    /// Returns the id of an event.
    pub(super) fn name(&self, event: &FeedEvent) -> String {
        format!("{}-{}", self.start, event.number)
    }

    /// Returns the number of the event with this id, if it is one of ours.
    fn number(&self, name: &str) -> Option<u64> {
        let (start, number) = name.rsplit_once('-')?;
        number.parse().ok().filter(|_| start == self.start.to_string())
    }

    fn lock(&self) -> MutexGuard<'_, EventBuffer> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event() -> FeedEvent {
        let json = "{}".to_owned();
        FeedEvent {
            tool: Some("echo".into()),
            shown_as: None,
            profile: None,
            caller: None,
            is_held: false,
            is_private: false,
            json,
            number: 0,
        }
    }

    fn numbers(watching: &EventSubscription) -> (Option<u64>, Vec<u64>) {
        (watching.missed, watching.past.iter().map(|event| event.number).collect())
    }

    #[tokio::test(start_paused = true)]
    async fn who_comes_back_gets_what_happened_since() {
        let memory = Memory::default();
        assert!(!memory.is_wanted());
        let mut first = memory.watch(None);
        for _ in 0..3 {
            memory.add(event());
        }
        let seen = memory.name(&first.live.recv().await.unwrap());
        drop(first);
        assert_eq!(numbers(&memory.watch(Some(&seen))), (Some(0), vec![2, 3]));
        for stranger in ["", "7", "01J00000000000000000000000-1", &format!("{}-99", memory.start)] {
            assert_eq!(numbers(&memory.watch(Some(stranger))), (None, vec![]), "{stranger}");
        }
        tokio::time::advance(PATIENCE / 2).await;
        memory.add(event());
        assert!(memory.is_wanted());
        tokio::time::advance(PATIENCE * 2).await;
        memory.add(event());
        assert!(!memory.is_wanted(), "nobody came back");
        assert_eq!(numbers(&memory.watch(Some(&seen))), (Some(4), vec![]));
    }

    #[test]
    fn no_more_is_kept_than_it_says() {
        let memory = Memory::default();
        let watching = memory.watch(None);
        for _ in 0..BEHIND + 10 {
            memory.add(event());
        }
        drop(watching);
        let first = format!("{}-0", memory.start);
        let watching = memory.watch(Some(&first));
        assert_eq!((watching.missed, watching.past.len()), (Some(10), BEHIND));
    }
}
