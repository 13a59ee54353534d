//! Durations in buckets whose width grows with the duration, so that histograms can be added and subtracted.
//!
//! Each power of two has 64 buckets, so the middle of a bucket is within 1/128 (0.8 %) of every duration in it. Up to
//! 127 ns a bucket is one nanosecond.

use std::cmp::Ordering;

/// How many bits of a duration choose the bucket within a power of two.
const BITS: u32 = 6;
/// How many buckets a power of two has.
const PARTS: u64 = 1 << BITS;

/// How many durations each bucket has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DurationHistogram {
    /// Bucket and count, in the order of buckets; no count is 0.
    buckets: Vec<(u16, i64)>,
}

impl DurationHistogram {
    /// Adds a duration so many times; removes it if the number is negative.
    pub(crate) fn add(&mut self, nanoseconds: u64, times: i64) {
        let bucket = bucket(nanoseconds);
        match self.buckets.binary_search_by_key(&bucket, |(bucket, _)| *bucket) {
            Ok(at) => {
                self.buckets[at].1 += times;
                if self.buckets[at].1 == 0 {
                    self.buckets.remove(at);
                }
            }
            Err(_) if times == 0 => {}
            Err(at) => self.buckets.insert(at, (bucket, times)),
        }
    }

    /// Adds the counts of another one.
    pub(crate) fn merge(&mut self, other: &Self) {
        let mut merged = Vec::with_capacity(self.buckets.len() + other.buckets.len());
        let (mut ours, mut theirs) = (&self.buckets[..], &other.buckets[..]);
        while let ([(our, count), our_rest @ ..], [(their, added), their_rest @ ..]) =
            (ours, theirs)
        {
            match our.cmp(their) {
                Ordering::Less => {
                    merged.push((*our, *count));
                    ours = our_rest;
                }
                Ordering::Greater => {
                    merged.push((*their, *added));
                    theirs = their_rest;
                }
                Ordering::Equal => {
                    let sum = count.saturating_add(*added);
                    if sum != 0 {
                        merged.push((*our, sum));
                    }
                    (ours, theirs) = (our_rest, their_rest);
                }
            }
        }
        merged.extend_from_slice(ours);
        merged.extend_from_slice(theirs);
        self.buckets = merged;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    /// Returns how many durations there are.
    pub(crate) fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| count.max(&0).unsigned_abs()).sum()
    }

    /// Returns how many durations there are; `None` if the buckets were not made by [`encode`](Self::encode): not in their
    /// order, without durations, or with too many.
    pub(crate) fn checked_count(&self) -> Option<u64> {
        let is_in_order = self.buckets.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let is_positive = self.buckets.iter().all(|(_, count)| *count > 0);
        let mut counts = self.buckets.iter().map(|(_, count)| count.unsigned_abs());
        let count = counts.try_fold(0_u64, u64::checked_add);
        count.filter(|_| is_in_order && is_positive)
    }

    /// Returns the middle of the bucket that has the duration of this rank, from 0; `None` if there are not so many.
    pub(crate) fn at_rank(&self, rank: u64) -> Option<f64> {
        let mut before = 0;
        for (bucket, count) in &self.buckets {
            before += count.max(&0).unsigned_abs();
            if before > rank {
                return Some(middle(*bucket));
            }
        }
        None
    }

    /// Returns it as bytes: of each bucket the distance to the one before and the count, as numbers of seven bits a byte.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.buckets.len() * 3);
        let mut before = 0;
        for (bucket, count) in &self.buckets {
            push(&mut bytes, u64::from(bucket - before));
            push(&mut bytes, count.max(&0).unsigned_abs());
            before = *bucket;
        }
        bytes
    }

    /// Reads what [`encode`](Self::encode) returned.
    pub(crate) fn decode(mut bytes: &[u8]) -> Self {
        let mut buckets = Vec::with_capacity(bytes.len() / 2);
        let mut before = 0_u16;
        while let (Some(distance), Some(count)) = (pull(&mut bytes), pull(&mut bytes)) {
            before = before.saturating_add(u16::try_from(distance).unwrap_or(u16::MAX));
            buckets.push((before, i64::try_from(count).unwrap_or(i64::MAX)));
        }
        Self { buckets }
    }
}

/// Returns the bucket of a duration.
fn bucket(nanoseconds: u64) -> u16 {
    let shift = (u64::BITS - nanoseconds.leading_zeros()).saturating_sub(BITS + 1);
    let bucket = u64::from(shift) * PARTS + (nanoseconds >> shift);
    u16::try_from(bucket).unwrap_or(u16::MAX)
}

/// Returns the middle of a bucket in nanoseconds.
fn middle(bucket: u16) -> f64 {
    let shift = (u64::from(bucket) / PARTS).saturating_sub(1);
    let first = u64::from(bucket) - shift * PARTS;
    let width = (1_u64 << shift.min(57)) as f64;
    // A bucket of one nanosecond is exact.
    if shift == 0 { first as f64 } else { (first as f64 + 0.5) * width }
}

fn push(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn pull(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(durations: &[u64]) -> DurationHistogram {
        let mut histogram = DurationHistogram::default();
        durations.iter().for_each(|duration| histogram.add(*duration, 1));
        histogram
    }

    #[test]
    fn buckets_follow_each_other_without_a_gap() {
        let mut last = 0;
        for shift in 0..64 {
            for near in [0_u64, 1, 2] {
                let value = (1_u64 << shift).saturating_add(near).saturating_sub(1);
                let found = bucket(value);
                assert!(found >= last || value < 4, "{value}");
                last = found;
            }
        }
        let all: Vec<_> = (0..5000).map(bucket).collect();
        assert!(all.windows(2).all(|pair| pair[1] == pair[0] || pair[1] == pair[0] + 1));
        assert_eq!(bucket(u64::MAX), 3775);
    }

    /// Durations of every magnitude.
    fn duration() -> impl Strategy<Value = u64> {
        (0_u32..64, any::<u64>()).prop_map(|(shift, number)| number >> shift)
    }

    proptest! {
        // RC-2: a percentile of rollups is within 1 % of the duration that has this rank.
        #[test]
        fn every_rank_is_within_one_percent(
            mut durations in prop::collection::vec(duration(), 1..200),
        ) {
            let histogram = of(&durations);
            durations.sort_unstable();
            prop_assert_eq!(histogram.count(), durations.len() as u64);
            for (rank, exact) in (0..).zip(&durations) {
                let found = histogram.at_rank(rank).unwrap();
                let error = (found - *exact as f64).abs();
                prop_assert!(error <= *exact as f64 * 0.01, "{found} for {exact}");
            }
            prop_assert_eq!(histogram.at_rank(durations.len() as u64), None);
        }

        #[test]
        fn histograms_add_up_and_are_taken_apart(
            one in prop::collection::vec(duration(), 0..100),
            other in prop::collection::vec(duration(), 0..100),
        ) {
            let mut both = of(&one);
            both.merge(&of(&other));
            prop_assert_eq!(&both, &of(&[one.clone(), other.clone()].concat()));
            prop_assert_eq!(&DurationHistogram::decode(&both.encode()), &both);
            let mut minus = DurationHistogram::default();
            other.iter().for_each(|duration| minus.add(*duration, -1));
            both.merge(&minus);
            prop_assert_eq!(both, of(&one));
        }
    }
}
