//! Bounds how many calls wait, per caller and in total.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::error::Error;

/// The most waiting calls per process.
const MOST: usize = 1000;
/// The most waiting calls per caller, so that none can block the others.
const MOST_OF_ONE: usize = MOST / 2;

type ByCaller = HashMap<Option<Arc<str>>, usize>;

/// The number of waiting calls per caller.
#[derive(Default)]
pub(super) struct PendingCounts(Mutex<ByCaller>);

impl PendingCounts {
    /// Counts one more call of the caller, until the returned guard is dropped.
    ///
    /// # Errors
    /// Too many calls wait, of this caller or in total.
    pub(super) fn add(&self, caller: Option<&Arc<str>>) -> Result<CountGuard<'_>, Error> {
        let mut counts = self.lock();
        if counts.values().sum::<usize>() >= MOST {
            return Err(Error::TooMany(MOST));
        }
        let caller = caller.cloned();
        let own = counts.entry(caller.clone()).or_default();
        if *own >= MOST_OF_ONE {
            return Err(Error::TooManyOfCaller(MOST_OF_ONE));
        }
        *own += 1;
        Ok(CountGuard { counts: self, caller })
    }

    fn lock(&self) -> MutexGuard<'_, ByCaller> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts a call until dropped.
pub(super) struct CountGuard<'a> {
    counts: &'a PendingCounts,
    caller: Option<Arc<str>>,
}

impl Drop for CountGuard<'_> {
    fn drop(&mut self) {
        let mut counts = self.counts.lock();
        if let Some(own) = counts.get_mut(&self.caller) {
            *own -= 1;
            if *own == 0 {
                counts.remove(&self.caller);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // PO-2
    #[test]
    fn one_caller_does_not_keep_others_from_asking() {
        let counts = PendingCounts::default();
        let [greedy, other, third]: [Arc<str>; 3] = ["greedy", "other", "third"].map(Into::into);
        let all: Vec<_> = (0..MOST_OF_ONE).map(|_| counts.add(Some(&greedy)).unwrap()).collect();
        let refused = |caller: Option<&Arc<str>>| counts.add(caller).err().map(|e| e.to_string());
        let text = refused(Some(&greedy)).unwrap();
        assert_eq!(text, "500 calls of this caller wait for a person already");
        assert_eq!(refused(Some(&other)), None);
        let more: Vec<_> = (0..MOST_OF_ONE).map(|_| counts.add(Some(&other)).unwrap()).collect();
        assert_eq!(refused(Some(&third)).unwrap(), "1000 calls wait for a person already");
        drop(all);
        assert_eq!(
            (refused(Some(&greedy)), refused(Some(&third)), refused(None)),
            (None, None, None)
        );
        drop(more);
        assert!(counts.lock().is_empty());
    }
}
