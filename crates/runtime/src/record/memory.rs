//! Records in memory.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use switchboard_toolcall::{BoxError, BoxFuture, CallId};

use super::{CallEnd, CallHistory, CallStart, RecordClose, RecordOpen, RecordedCall, Recorder};

/// Keeps the latest records in memory.
pub struct MemoryRecorder {
    most: usize,
    calls: Mutex<MemoryCalls>,
}

#[derive(Default)]
struct MemoryCalls {
    /// By id. Few calls run at once and ids increase, so a tree is faster than hashing.
    running: BTreeMap<CallId, Arc<CallStart>>,
    ended: VecDeque<RecordedCall>,
}

impl MemoryRecorder {
    /// Keeps at most `most` ended calls.
    pub fn new(most: usize) -> Self {
        Self { most, calls: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, MemoryCalls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for MemoryRecorder {
    fn default() -> Self {
        Self::new(1000)
    }
}

impl Recorder for MemoryRecorder {
    fn open(&self, start: Arc<CallStart>) -> RecordOpen<'_> {
        self.lock().running.insert(start.id, start);
        RecordOpen::Done(Ok(()))
    }

    fn close(&self, end: CallEnd<'_>) -> RecordClose<'_> {
        let mut calls = self.lock();
        let Some(start) = calls.running.remove(&end.start.id) else {
            return RecordClose::Done;
        };
        if calls.ended.len() >= self.most {
            calls.ended.pop_front();
        }
        calls.ended.push_back(RecordedCall {
            start,
            server: end.server.cloned(),
            end: Some((end.error_kind, end.duration)),
        });
        RecordClose::Done
    }
}

impl CallHistory for MemoryRecorder {
    fn recent(&self, most: usize) -> BoxFuture<'_, Result<Vec<RecordedCall>, BoxError>> {
        let calls = self.lock();
        let running = calls.running.values().map(|start| RecordedCall {
            start: start.clone(),
            server: None,
            end: None,
        });
        let mut recent: Vec<_> = running.chain(calls.ended.iter().cloned()).collect();
        recent.sort_by_key(|call| std::cmp::Reverse(call.start.id));
        recent.truncate(most);
        Box::pin(std::future::ready(Ok(recent)))
    }

    fn called_by(
        &self,
        caller: Option<Arc<str>>,
    ) -> BoxFuture<'_, Result<Vec<Arc<str>>, BoxError>> {
        let calls = self.lock();
        let starts = calls.running.values().chain(calls.ended.iter().map(|call| &call.start));
        let own = starts.filter(|start| start.caller == caller);
        let names: BTreeSet<_> = own.map(|start| start.tool.clone()).collect();
        Box::pin(std::future::ready(Ok(names.into_iter().collect())))
    }
}
