//! One attempt at a call: sent, followed, and cancelled if nobody waits for it any more.

use std::{fmt, time::Duration};

use bytes::Bytes;
use switchboard_toolcall::{CallContext, CallId, ErrorKind, ToolError, ToolOutput};
use tokio::{
    runtime::Handle,
    time::{Instant, timeout},
};

use super::WorkerTool;
use crate::{
    Cluster, Error, Purpose,
    replies::{self, ReplyReceiver},
    sign::VerifiedMessage,
    transport::ClusterMessage,
    wire::{self, WireOutcome, WorkerNotice, WorkerRefusal, WorkerReply, WorkerRequest},
};

/// How long a worker may be silent before it counts as lost; it sends a heartbeat each second.
const SILENCE: Duration = Duration::from_secs(5);

/// How long a worker may take to accept a call that it must not start yet: it can be sent again.
const TAKEN: Duration = Duration::from_secs(2);

/// The part of that time for messages that arrived while this process was suspended.
const MEANWHILE: Duration = Duration::from_secs(1);

/// The outcome of an attempt.
pub(super) enum AttemptEnding {
    /// The call's outcome.
    Answered(Result<ToolOutput, ToolError>),
    /// It was refused: it did not run.
    Refused(WorkerRefusal),
    /// No worker received it: it did not run.
    Nobody,
    /// No worker accepted it, so none was told to start: it did not run, and never will.
    Untaken,
    /// Unknown.
    Lost(LostReason),
}

/// What was received about a call.
enum ReplyEvent {
    /// A worker's message, and the worker's own subject.
    Answer(Bytes, Option<String>),
    /// Nobody subscribes to the subject.
    Nobody,
    /// Nothing valid; if something invalid was received, the likely reason.
    Silence(Option<WorkerRefusal>),
}

/// Why the outcome of a call is unknown.
pub(super) enum LostReason {
    /// No worker accepted the call.
    Untaken { group: String },
    /// The worker that had it went silent.
    Silent { group: String, worker: String },
    /// The outcome cannot be fetched.
    Unread { group: String, error: Error },
}

impl fmt::Display for LostReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Untaken { group } => {
                write!(f, "no worker of group '{group}' answered within {SILENCE:?}")
            }
            Self::Silent { group, worker } => {
                write!(f, "worker {worker} of group '{group}' stopped answering")
            }
            Self::Unread { group, error } => {
                write!(f, "what a worker of group '{group}' answered cannot be had: {error}")
            }
        }
    }
}

impl WorkerTool {
    /// Sends the call, and follows it to its end.
    pub(super) async fn attempt(
        &self,
        subject: String,
        request: &WorkerRequest,
        payload: Bytes,
        cx: &CallContext,
    ) -> AttemptEnding {
        let cluster = self.group.cluster();
        let mut waiting = self.group.replies().wait();
        let mut notice = CancelCallOnDrop::unless_over(cluster, self.group.name(), request.call);
        let address = waiting.address.clone();
        let payload = cluster.signer().sign(Purpose::Request, &[&subject, &address], &payload);
        let sent = cluster.publish(subject, Some(address), payload).await;
        if let Err(error) = sent {
            notice.over();
            let text = format!("Tool '{}' could not be sent to a worker", self.spec.name);
            let error = ToolError::new(ErrorKind::Unavailable, text).caused_by(error);
            return AttemptEnding::Answered(Err(error));
        }
        let ending = self.follow(&mut waiting, &mut notice, request.waits, cx).await;
        if !matches!(ending, AttemptEnding::Lost(_) | AttemptEnding::Untaken) {
            notice.over();
        }
        ending
    }

    async fn follow(
        &self,
        waiting: &mut ReplyReceiver,
        notice: &mut CancelCallOnDrop,
        waits: bool,
        cx: &CallContext,
    ) -> AttemptEnding {
        let mut node = None;
        loop {
            let is_certain = waits && notice.worker.is_none();
            let patience = if is_certain { TAKEN } else { SILENCE };
            let (body, reply) = match self.next(waiting, patience, &mut node).await {
                ReplyEvent::Answer(body, reply) => (body, reply),
                ReplyEvent::Nobody => return AttemptEnding::Nobody,
                // No worker of this cluster has accepted the call.
                ReplyEvent::Silence(Some(refusal)) if notice.worker.is_none() => {
                    return AttemptEnding::Refused(refusal);
                }
                ReplyEvent::Silence(_) if is_certain => return AttemptEnding::Untaken,
                ReplyEvent::Silence(_) => {
                    return AttemptEnding::Lost(self.silent(notice.worker.clone()));
                }
            };
            match wire::read("an answer", &body) {
                // One worker is told to start, once: another acceptance can only be a replay.
                Ok(WorkerReply::Accepted { .. }) if notice.worker.is_some() => {}
                Ok(WorkerReply::Accepted { worker }) => {
                    notice.worker = Some(worker);
                    if let (true, Some(to)) = (waits, reply) {
                        let (cluster, go) = (self.group.cluster(), Bytes::from_static(wire::GO));
                        let go = cluster.signer().sign(Purpose::Word, &[&to], &go);
                        // A worker that misses it refuses the call after a while.
                        _ = cluster.publish(to, None, go).await;
                    }
                }
                Ok(WorkerReply::Refused(refusal)) => return AttemptEnding::Refused(refusal),
                Ok(WorkerReply::Progress(step)) => cx.progress.report(step.into()),
                Ok(WorkerReply::Alive) => {}
                Ok(WorkerReply::Result(outcome)) => {
                    return AttemptEnding::Answered(outcome.into_result());
                }
                Ok(WorkerReply::Large(place)) => return self.pick_up(&place).await,
                Err(error) => return AttemptEnding::Lost(self.unread(error)),
            }
        }
    }

    /// Returns the next reply of a worker of this cluster: of any worker until one has accepted the call, then of that
    /// one. Other messages are ignored, and do not count as heartbeats.
    async fn next(
        &self,
        waiting: &mut ReplyReceiver,
        patience: Duration,
        node: &mut Option<String>,
    ) -> ReplyEvent {
        let (cluster, end) = (self.group.cluster(), Instant::now() + patience);
        let mut refusal = None;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let Some(message) = hear(waiting, left).await else {
                return ReplyEvent::Silence(refusal);
            };
            if message.no_responders && node.is_none() {
                return ReplyEvent::Nobody;
            }
            match replies::open(cluster, &message) {
                Ok(VerifiedMessage { body, signed: None }) => {
                    return ReplyEvent::Answer(body, message.reply);
                }
                Ok(VerifiedMessage { body, signed: Some(signed) }) => {
                    let expected = node.get_or_insert_with(|| signed.node.clone());
                    if *expected == signed.node {
                        return ReplyEvent::Answer(body, message.reply);
                    }
                }
                Err(error) => {
                    cluster.signer().refused(Purpose::Reply, &self.spec.name, &error);
                    // An unsigned refusal is not trusted; it only selects the error message.
                    refusal = Some(match wire::read("an answer", &message.payload) {
                        Ok(WorkerReply::Refused(WorkerRefusal::Stale)) => WorkerRefusal::Stale,
                        _ => WorkerRefusal::Unsigned,
                    });
                }
            }
            if Instant::now() >= end {
                return ReplyEvent::Silence(refusal);
            }
        }
    }

    async fn pick_up(&self, place: &str) -> AttemptEnding {
        let cluster = self.group.cluster();
        let bytes = cluster.pick_up(place).await;
        let (owned, away) = (cluster.clone(), place.to_owned());
        // Nobody has to wait for that.
        tokio::spawn(async move { owned.take_away(&away).await });
        match bytes.and_then(|bytes| wire::read::<WireOutcome>("a result", &bytes)) {
            Ok(outcome) => AttemptEnding::Answered(outcome.into_result()),
            Err(error) => AttemptEnding::Lost(self.unread(error)),
        }
    }

    fn silent(&self, worker: Option<String>) -> LostReason {
        let group = self.group.name().to_string();
        match worker {
            Some(worker) => LostReason::Silent { group, worker },
            None => LostReason::Untaken { group },
        }
    }

    fn unread(&self, error: Error) -> LostReason {
        LostReason::Unread { group: self.group.name().to_string(), error }
    }
}

/// Returns the next message, `None` after `patience`.
async fn hear(waiting: &mut ReplyReceiver, patience: Duration) -> Option<ClusterMessage> {
    // If this process was suspended, messages may be waiting to be read.
    for part in [patience.saturating_sub(MEANWHILE), MEANWHILE.min(patience)] {
        if let Ok(message) = timeout(part, waiting.answers.recv()).await {
            return message;
        }
    }
    None
}

/// Notifies the worker that nobody waits for the call, if dropped before the call has ended.
struct CancelCallOnDrop {
    cluster: Cluster,
    group: String,
    call: CallId,
    /// The worker, once it is known.
    worker: Option<String>,
    is_over: bool,
}

impl CancelCallOnDrop {
    fn unless_over(cluster: &Cluster, group: &str, call: CallId) -> Self {
        let (cluster, group) = (cluster.clone(), group.to_owned());
        Self { cluster, group, call, worker: None, is_over: false }
    }

    fn over(&mut self) {
        self.is_over = true;
    }
}

impl Drop for CancelCallOnDrop {
    fn drop(&mut self) {
        let (false, Ok(runtime)) = (self.is_over, Handle::try_current()) else { return };
        let names = self.cluster.names();
        let subject = match &self.worker {
            Some(worker) => names.worker(worker),
            None => names.group(&self.group),
        };
        let notice = WorkerNotice::Cancel(self.call);
        let notice = self.cluster.signer().write(Purpose::Notice, &[&subject], &notice);
        let cluster = self.cluster.clone();
        runtime.spawn(async move {
            if let Ok(notice) = notice {
                _ = cluster.publish(subject, None, notice).await;
            }
        });
    }
}
