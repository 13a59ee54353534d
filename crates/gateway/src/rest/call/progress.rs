//! A call that tells how far it is while it runs.

use axum::response::sse::Event;
use futures_util::{Stream, stream};
use serde_json::{Value, json};
use switchboard_toolcall::{BoxFuture, Progress, ProgressUpdate};
use tokio::sync::mpsc::{Receiver, channel};

use crate::sse::named;

/// How many reports wait for a client that reads slowly; more are left out.
const WAITING: usize = 256;

/// A call on its way, and what is told of it.
pub(super) struct Running {
    pub(super) reports: Receiver<Event>,
    /// None when it has ended.
    pub(super) run: Option<BoxFuture<'static, Event>>,
    /// What it ended with, until that is told.
    pub(super) result: Option<Event>,
}

/// Where a call reports its progress, and where that is read.
pub(super) fn watched() -> (Progress, Receiver<Event>) {
    let (sender, reports) = channel(WAITING);
    let progress = Progress::to(move |update| {
        // Whoever reads too slowly sees the next one.
        let _ = sender.try_send(named("progress", &told(&update)));
    });
    (progress, reports)
}

/// A report as clients read it.
pub(crate) fn told(update: &ProgressUpdate) -> Value {
    let ProgressUpdate { progress, total, message } = update;
    json!({"progress": progress, "total": total, "message": message})
}

impl Running {
    /// The reports in order, then the result. Dropping the stream cancels the call.
    pub(super) fn events(self) -> impl Stream<Item = Event> + Send {
        stream::unfold(self, |mut running| async {
            let event = running.next().await?;
            Some((event, running))
        })
    }

    async fn next(&mut self) -> Option<Event> {
        if let Some(run) = &mut self.run {
            tokio::select! {
                biased;
                Some(report) = self.reports.recv() => return Some(report),
                result = run => self.result = Some(result),
            }
            self.run = None;
        }
        self.reports.try_recv().ok().or_else(|| self.result.take())
    }
}
