//! Every call of all nodes, oldest first: for figures and exports of more calls than fit into memory.

use std::{
    collections::{HashMap, HashSet},
    ops::ControlFlow,
};

use async_nats::jetstream::consumer::DeliverPolicy;
use switchboard_audit::{CallDetail, CallStage, CallUpdate, Filter, RecordTest};
use switchboard_toolcall::CallId;
use switchboard_workers::Error;

use super::{
    list::{ReadProgress, Records, has_any_since, instant},
    open, subjects_of,
    window::{self, StreamRecord},
};

impl Records {
    /// Calls `take` once with each call that matches: first those that ended, in the order in which the servers heard of it,
    /// then those that have not. Stops if `take` breaks. Keeps the ids of the calls in memory, not their records.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub async fn each(
        &self,
        filter: &Filter,
        passes: RecordTest<'_>,
        watch: impl FnMut(ReadProgress),
        take: impl FnMut(CallDetail) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        self.each_of(&[], filter, passes, watch, take).await
    }

    /// As [`each`](Self::each), of the calls of these nodes, or of all if there are none.
    ///
    /// # Errors
    /// As [`list`](Self::list); or more messages would have to be read than may be.
    pub(super) async fn each_of(
        &self,
        nodes: &[String],
        filter: &Filter,
        passes: RecordTest<'_>,
        mut watch: impl FnMut(ReadProgress),
        mut take: impl FnMut(CallDetail) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let Some(stream) = open(&self.cluster).await? else { return Ok(()) };
        let state = &stream.cached_info().state;
        // A call is shipped after it began.
        let from = match filter.since {
            Some(since) if !has_any_since(&stream, since) => return Ok(()),
            Some(since) => DeliverPolicy::ByStartTime { start_time: instant(since) },
            None => DeliverPolicy::All,
        };
        if state.messages == 0 {
            return Ok(());
        }
        let (all, mut read) = (state.messages, 0);
        let mut calls = EndedCalls::default();
        let mut pass = |detail: CallDetail| match passes(&detail.record) {
            true => take(detail),
            false => ControlFlow::Continue(()),
        };
        let mut flow = ControlFlow::Continue(());
        window::read(
            &stream,
            from,
            state.last_sequence,
            subjects_of(&self.cluster, nodes),
            |StreamRecord { received_update, .. }| {
                read += 1;
                if read > self.most_read {
                    return false;
                }
                watch(ReadProgress { read, all });
                if let Some(detail) = received_update.and_then(|update| calls.ended(update)) {
                    flow = pass(detail);
                }
                flow.is_continue()
            },
        )
        .await?;
        if read > self.most_read {
            return Err(Error::TooManyRecords { most: self.most_read });
        }
        for detail in calls.rest() {
            if flow.is_break() {
                break;
            }
            flow = pass(detail);
        }
        Ok(())
    }
}

/// Tells each call once, although messages may be there twice.
#[derive(Default)]
struct EndedCalls {
    ended: HashSet<CallId>,
    /// Calls whose end was not read, at their latest stage.
    open: HashMap<CallId, CallUpdate>,
}

impl EndedCalls {
    /// Returns the call if it has ended and was not returned before.
    fn ended(&mut self, update: CallUpdate) -> Option<CallDetail> {
        if self.ended.contains(&update.id) {
            return None;
        }
        if update.stage == CallStage::Ended {
            self.open.remove(&update.id);
            let detail = update.detail()?;
            self.ended.insert(update.id);
            return Some(detail);
        }
        if self.open.get(&update.id).is_none_or(|known| known.stage < update.stage) {
            self.open.insert(update.id, update);
        }
        None
    }

    /// Returns the calls that have not ended, in the order in which they began.
    fn rest(self) -> Vec<CallDetail> {
        let mut rest: Vec<_> =
            self.open.into_values().filter_map(|update| update.detail()).collect();
        rest.sort_by_key(|detail| detail.record.id);
        rest
    }
}
