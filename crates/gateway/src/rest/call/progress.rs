//! A call that reports its progress while it runs.

use axum::response::sse::Event;
use futures_util::{Stream, stream};
use serde_json::{Value, json};
use switchboard_toolcall::{BoxFuture, Progress, ProgressUpdate};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::sse::named;

/// How many progress reports wait for a client that reads slowly; further ones are dropped.
const WAITING: usize = 256;

/// A running call, with its events.
pub(super) struct StreamedCall {
    pub(super) reports: Receiver<Event>,
    /// The call; `None` when it has ended.
    pub(super) run: Option<BoxFuture<'static, Event>>,
    /// Its result, until it is sent.
    pub(super) result: Option<Event>,
}

/// Creates the channels for a call's progress and questions, and their receiver.
pub(super) fn watched() -> (Progress, Sender<Event>, Receiver<Event>) {
    let (sender, reports) = channel(WAITING);
    let questions = sender.clone();
    let progress = Progress::to(move |update| {
        // A slow reader misses this report, and gets a later one.
        let _ = sender.try_send(named("progress", &progress_json(&update)));
    });
    (progress, questions, reports)
}

/// Converts a report to JSON.
pub(crate) fn progress_json(update: &ProgressUpdate) -> Value {
    let ProgressUpdate { progress, total, message } = update;
    json!({"progress": progress, "total": total, "message": message})
}

impl StreamedCall {
    /// Returns the reports in order, then the result. Dropping the stream cancels the call.
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
