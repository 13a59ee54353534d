//! Partitions: queued calls are divided among streams, their states and keys among buckets, so that each has its own leader.

use sha2::{Digest, Sha256};

use crate::Error;

/// The most partitions: each is a stream and two buckets at the servers.
const MOST: u32 = 64;

/// Into how many streams and buckets queued calls are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partitions(u32);

impl Partitions {
    /// Creates a number of partitions.
    ///
    /// # Errors
    /// There would be none, or too many.
    pub(super) fn new(number: u32) -> Result<Self, Error> {
        if !(1..=MOST).contains(&number) {
            let reason = format!("{number} must be 1 to {MOST}");
            return Err(Error::Setting { key: "jobs.partitions", reason });
        }
        Ok(Self(number))
    }

    /// Returns how many there are.
    pub fn number(self) -> u32 {
        self.0
    }

    /// Returns the index of each.
    pub(crate) fn indices(self) -> std::ops::Range<usize> {
        0..self.0 as usize
    }

    /// Returns the index of the one that a group, an id or a key belongs to. All nodes of all versions must agree on it.
    pub(super) fn index_of(self, text: &str) -> usize {
        let hash = Sha256::digest(text.as_bytes());
        let first = hash.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte));
        // Less than 64.
        usize::try_from(first % u64::from(self.0)).unwrap_or_default()
    }

    /// Returns what distinguishes the names of one: `2of4`. `None` if there is only one, whose names are those of 0.1.0.
    ///
    /// With the number in it a node that was forgotten while the number was changed finds no stream, instead of a wrong one.
    pub(super) fn word(self, index: usize) -> Option<String> {
        (self.0 > 1).then(|| format!("{}of{}", index + 1, self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_belong_to_the_same_partition_for_ever() {
        let four = Partitions::new(4).unwrap();
        let indices = ["gpu", "tools", "ocr", "lab", ""].map(|group| four.index_of(group));
        assert_eq!(indices, [0, 1, 3, 1, 0]);
        assert_eq!(Partitions::new(1).unwrap().index_of("gpu"), 0);
    }

    #[test]
    fn ids_are_spread_evenly() {
        let four = Partitions::new(4).unwrap();
        let mut counts = [0; 4];
        for number in 0..4_000 {
            counts[four.index_of(&format!("01KA4QY{number:019}"))] += 1;
        }
        assert!(counts.iter().all(|count| (900..1_100).contains(count)), "{counts:?}");
    }

    #[test]
    fn a_number_that_cannot_be_is_refused() {
        for number in [0, 65, u32::MAX] {
            let error = Partitions::new(number).unwrap_err().to_string();
            assert_eq!(error, format!("`cluster.jobs.partitions`: {number} must be 1 to 64"));
        }
    }
}
