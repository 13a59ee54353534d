//! The quota of a token: a rate limit and a limit of concurrent requests.

use std::{
    fmt,
    str::FromStr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

use crate::{PeerSlot, Peers, RateVerdict, Rejection, SlotVerdict};

/// A number of requests per unit of time, written as `100/m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Rate {
    count: u32,
    unit: RateUnit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RateUnit {
    Second,
    Minute,
    Hour,
    Day,
}

impl RateUnit {
    const ALL: [(Self, &str, u64); 4] = [
        (Self::Second, "s", 1),
        (Self::Minute, "m", 60),
        (Self::Hour, "h", 3600),
        (Self::Day, "d", 86400),
    ];

    fn row(self) -> (Self, &'static str, u64) {
        Self::ALL.into_iter().find(|row| row.0 == self).unwrap_or(Self::ALL[0])
    }
}

impl Rate {
    pub(crate) fn per_hour(count: u32) -> Self {
        Self { count, unit: RateUnit::Hour }
    }

    /// Returns how many requests may come in one burst.
    pub fn count(self) -> u32 {
        self.count
    }

    /// Returns how many requests are allowed per second.
    pub fn per_second(self) -> f64 {
        f64::from(self.count) / self.unit.row().2 as f64
    }
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong =
            || format!("`{text}` is not a rate; write it like 10/s, 100/m, 5000/h or 20000/d");
        let (count, unit) = text.split_once('/').ok_or_else(wrong)?;
        let count = count.trim().parse().ok().filter(|count| *count > 0).ok_or_else(wrong)?;
        let unit = RateUnit::ALL.into_iter().find(|row| row.1 == unit.trim()).ok_or_else(wrong)?.0;
        Ok(Self { count, unit })
    }
}

impl TryFrom<String> for Rate {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.count, self.unit.row().1)
    }
}

impl From<Rate> for String {
    fn from(rate: Rate) -> Self {
        rate.to_string()
    }
}

/// The quota of a token.
pub(crate) struct Quota {
    rate: Option<(Rate, Mutex<TokenBucket>)>,
    running: Option<(usize, Arc<Semaphore>)>,
}

/// Refills evenly up to the rate's count; each request takes one.
struct TokenBucket {
    left: f64,
    at: Instant,
}

/// A permit of a token's quota, released when dropped.
#[derive(Default)]
pub struct QuotaPermit {
    own: Option<OwnedSemaphorePermit>,
    /// What is counted over all gateways.
    #[expect(dead_code, reason = "it is released when dropped")]
    shared: Option<PeerSlot>,
}

impl QuotaPermit {
    /// Returns whether there is anything to release.
    pub fn is_counted(&self) -> bool {
        self.own.is_some()
    }
}

impl Quota {
    pub(crate) fn new(rate: Option<Rate>, concurrent: Option<usize>) -> Self {
        let bucket = |rate: Rate| TokenBucket { left: f64::from(rate.count), at: Instant::now() };
        let slots = |most: usize| Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)));
        Self {
            rate: rate.map(|rate| (rate, Mutex::new(bucket(rate)))),
            running: concurrent.map(|most| (most, slots(most))),
        }
    }

    /// Returns whether nothing of it is in use.
    pub(crate) fn is_whole(&self) -> bool {
        let is_full = |(rate, bucket): &(Rate, Mutex<TokenBucket>)| {
            let mut bucket = bucket.lock().unwrap_or_else(PoisonError::into_inner);
            bucket.fill(*rate) >= f64::from(rate.count)
        };
        let is_idle = |(most, running): &(usize, Arc<Semaphore>)| {
            running.available_permits() >= (*most).min(Semaphore::MAX_PERMITS)
        };
        self.rate.as_ref().is_none_or(is_full) && self.running.as_ref().is_none_or(is_idle)
    }

    /// Takes a permit, or returns when there may be one.
    pub(crate) fn take(&self, token: &str) -> Result<QuotaPermit, Rejection> {
        if let Some((rate, _)) = &self.rate {
            self.count().map_err(|after| beyond(token, *rate, after))?;
        }
        self.take_slot(token)
    }

    /// Like [`take`](Self::take), counting together with other gateways. While they cannot be reached, our own count
    /// continues; it includes what we admitted before.
    pub(crate) async fn take_in(
        &self,
        peers: Option<&dyn Peers>,
        token: &str,
    ) -> Result<QuotaPermit, Rejection> {
        let Some(peers) = peers else { return self.take(token) };
        if let Some((rate, _)) = &self.rate {
            match (peers.count(token, *rate).await, self.count()) {
                (RateVerdict::Within, _) | (RateVerdict::Unknown, Ok(())) => {}
                (RateVerdict::Beyond(after), _) | (RateVerdict::Unknown, Err(after)) => {
                    return Err(beyond(token, *rate, after));
                }
            }
        }
        // No gateway needs more than all may have, so what is refused here costs no question.
        let permit = self.take_slot(token)?;
        let Some((most, _)) = &self.running else { return Ok(permit) };
        match peers.take_slot(token, *most).await {
            SlotVerdict::Taken(slot) => Ok(QuotaPermit { shared: Some(slot), ..permit }),
            SlotVerdict::Unknown => Ok(permit),
            SlotVerdict::Full => Err(too_many(token, *most)),
        }
    }

    /// Counts a request, or returns the time until one is allowed.
    fn count(&self) -> Result<(), Duration> {
        let Some((rate, bucket)) = &self.rate else { return Ok(()) };
        bucket.lock().unwrap_or_else(PoisonError::into_inner).take(*rate)
    }

    fn take_slot(&self, token: &str) -> Result<QuotaPermit, Rejection> {
        let Some((most, running)) = &self.running else { return Ok(QuotaPermit::default()) };
        match running.clone().try_acquire_owned() {
            Ok(permit) => Ok(QuotaPermit { own: Some(permit), shared: None }),
            Err(_) => Err(too_many(token, *most)),
        }
    }
}

fn too_many(token: &str, most: usize) -> Rejection {
    let reason = format!("token '{token}' may have {most} requests at once");
    Rejection::TooManyRequests { reason, retry_after: 1 }
}

fn beyond(token: &str, rate: Rate, after: Duration) -> Rejection {
    let reason = format!("token '{token}' may make {rate} requests");
    let retry_after = after.as_secs_f64().ceil().max(1.0) as u64;
    Rejection::TooManyRequests { reason, retry_after }
}

impl TokenBucket {
    /// Refills, and returns what is available.
    fn fill(&mut self, rate: Rate) -> f64 {
        let now = Instant::now();
        let filled = self.left + now.duration_since(self.at).as_secs_f64() * rate.per_second();
        self.at = now;
        self.left = filled.min(f64::from(rate.count));
        self.left
    }

    /// Takes one, or returns the time until there is one.
    fn take(&mut self, rate: Rate) -> Result<(), Duration> {
        if self.fill(rate) < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - self.left) / rate.per_second()));
        }
        self.left -= 1.0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::peers::fake::FakePeers;

    #[test]
    fn rates_read_and_write() {
        for text in ["10/s", "100/m", "5000/h", "1/d"] {
            assert_eq!(text.parse::<Rate>().unwrap().to_string(), text);
        }
        for wrong in ["", "10", "0/s", "-1/s", "10/x", "x/m"] {
            assert!(wrong.parse::<Rate>().unwrap_err().contains("100/m"), "{wrong}");
        }
    }

    // GW-2
    #[tokio::test(start_paused = true)]
    async fn a_share_is_used_up_and_comes_back() {
        let quota = Quota::new(Some("2/m".parse().unwrap()), None);
        assert!(quota.take("t").is_ok() && quota.take("t").is_ok());
        let Err(Rejection::TooManyRequests { retry_after, .. }) = quota.take("t") else {
            panic!("too many")
        };
        assert_eq!(retry_after, 30);
        tokio::time::advance(Duration::from_secs(30)).await;
        assert!(quota.take("t").is_ok());

        let quota = Quota::new(None, Some(1));
        let held = quota.take("t").unwrap();
        assert!(quota.take("t").is_err());
        drop(held);
        assert!(quota.take("t").is_ok());
    }

    // GW-2
    #[tokio::test(start_paused = true)]
    async fn the_fleet_counts_and_while_it_cannot_we_do() {
        let (quota, peers) =
            (Quota::new(Some("2/m".parse().unwrap()), None), FakePeers::new(false));
        let counts = async |counted| {
            *peers.counted.lock().unwrap() = counted;
            quota.take_in(Some(&peers), "t").await
        };
        for _ in 0..2 {
            assert!(counts(RateVerdict::Within).await.is_ok());
        }
        // What the peers let in here is known when the peers is not.
        assert!(counts(RateVerdict::Unknown).await.is_err());
        assert!(counts(RateVerdict::Within).await.is_ok(), "ours is not the count that counts");
        tokio::time::advance(Duration::from_secs(30)).await;
        assert!(counts(RateVerdict::Unknown).await.is_ok());
        let beyond = counts(RateVerdict::Beyond(Duration::from_millis(4500))).await;
        assert!(matches!(beyond, Err(Rejection::TooManyRequests { retry_after: 5, .. })));
    }

    // GW-2
    #[tokio::test]
    async fn requests_at_once_are_counted_over_all_gateways() {
        let peers = FakePeers::new(false);
        let (here, there) = (Quota::new(None, Some(2)), Quota::new(None, Some(2)));
        let one = here.take_in(Some(&peers), "t").await.unwrap();
        let two = there.take_in(Some(&peers), "t").await.unwrap();
        for quota in [&here, &there] {
            assert!(quota.take_in(Some(&peers), "t").await.is_err());
            assert_eq!(peers.taken.load(Ordering::Relaxed), 2, "a refusal takes nothing");
        }
        drop(two);
        let three = here.take_in(Some(&peers), "t").await.unwrap();
        drop((one, three));
        assert_eq!(peers.taken.load(Ordering::Relaxed), 0);
        // While the others are away, each counts by itself.
        let away = FakePeers::new(true);
        let held = [
            here.take_in(Some(&away), "t").await.unwrap(),
            here.take_in(Some(&away), "t").await.unwrap(),
        ];
        assert!(here.take_in(Some(&away), "t").await.is_err());
        drop(held);
    }
}
