//! Which gateways are monitors: without a leader and without an entry anywhere. A monitor says each second that it is one. If
//! fewer than two have said so lately, another gateway becomes one; if there are more, those that started last stop.

use std::{collections::BTreeMap, time::Duration};

use tokio::time::Instant;
use ulid::Ulid;

/// How many monitors there are: if one dies together with a worker, the other one notices.
const MONITORS: usize = 2;

/// How often a monitor says that it is one.
pub(super) const CLAIMED: Duration = Duration::from_secs(1);

/// How long a monitor may say nothing before another gateway takes its place.
const LAPSES: Duration = Duration::from_millis(2_500);

/// How long a gateway listens for monitors before it becomes one; a random part of it is added.
const LISTENS: Duration = Duration::from_millis(1_100);

/// What a gateway knows of monitors, of which it may be one.
pub(super) struct MonitorRole {
    /// Sorts by start time.
    id: String,
    /// The other monitors, with when each last said so.
    others: BTreeMap<String, Instant>,
    /// When it may become a monitor.
    may_from: Instant,
    /// Since when it is one, and gets what it sends itself.
    since: Option<Instant>,
    /// When it last got what it has sent.
    heard_itself: Instant,
}

impl MonitorRole {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Self {
            id: Ulid::generate().to_string(),
            others: BTreeMap::new(),
            may_from: now + LISTENS + some_time(),
            since: None,
            heard_itself: now,
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Handles that a gateway says that it is a monitor.
    pub(super) fn hear(&mut self, monitor: String) {
        let now = Instant::now();
        if monitor == self.id {
            self.heard_itself = now;
        } else {
            self.others.insert(monitor, now);
        }
    }

    /// Returns whether this gateway is a monitor now.
    pub(super) fn decide(&mut self) -> bool {
        let now = Instant::now();
        self.others.retain(|_, heard| now.duration_since(*heard) < LAPSES);
        if self.since.is_some() {
            let earlier = self.others.keys().filter(|other| **other < self.id).count();
            if earlier >= MONITORS {
                self.since = None;
            } else if now.duration_since(self.heard_itself) >= LAPSES {
                // We or the servers were paused, so that workers are silent for us alone.
                self.since = Some(now);
            }
        } else if self.others.len() >= MONITORS {
            // If some end, not all others take their places at the same moment.
            self.may_from = now + some_time();
        } else if now >= self.may_from {
            (self.since, self.heard_itself) = (Some(now), now);
        }
        self.since.is_some()
    }

    /// Returns since when it hears all heartbeats. `None` if it is no monitor.
    pub(super) fn listened_since(&self) -> Option<Instant> {
        self.since
    }
}

/// A random time of up to a second.
fn some_time() -> Duration {
    let part = u64::try_from(Ulid::generate().random() % 1_000).unwrap_or_default();
    Duration::from_millis(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets gateways that hear one another decide, every 250 ms for some seconds. Returns which of them are monitors.
    async fn decide(roles: &mut [MonitorRole], seconds: u64) -> Vec<usize> {
        let mut monitors = Vec::new();
        for _ in 0..seconds * 4 {
            monitors.clear();
            for place in 0..roles.len() {
                if roles[place].decide() {
                    monitors.push(place);
                    let id = roles[place].id.clone();
                    roles.iter_mut().for_each(|role| role.hear(id.clone()));
                }
            }
            tokio::time::advance(Duration::from_millis(250)).await;
        }
        monitors
    }

    #[tokio::test(start_paused = true)]
    async fn two_of_many_are_monitors_and_others_take_their_places() {
        let mut roles: Vec<_> = (0..20).map(|_| MonitorRole::new()).collect();
        let monitors = decide(&mut roles, 10).await;
        assert_eq!(monitors.len(), MONITORS);
        // They stay who they are.
        assert_eq!(decide(&mut roles, 60).await, monitors);
        roles.remove(monitors[1]);
        roles.remove(monitors[0]);
        assert_eq!(decide(&mut roles, 5).await.len(), MONITORS);
        // One alone is a monitor as well.
        roles.truncate(1);
        assert_eq!(decide(&mut roles, 5).await, [0]);
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_does_not_hear_itself_begins_again() {
        let mut roles = vec![MonitorRole::new()];
        decide(&mut roles, 10).await;
        let before = roles[0].listened_since().unwrap();
        tokio::time::advance(LAPSES).await;
        assert!(roles[0].decide());
        assert!(roles[0].listened_since().unwrap() > before);
    }
}
