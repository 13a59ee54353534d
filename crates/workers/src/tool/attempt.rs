//! One attempt at a call: asked, followed, and told to stop where nobody waits for it any more.

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
    sign::Opened,
    transport::Message,
    wire::{self, Notice, Outcome, Refusal, Reply, Request},
};

/// How long a worker may be silent until it counts as lost; it says that it is alive each second.
const SILENCE: Duration = Duration::from_secs(5);

/// How long a worker may take to say that it has a call that waits to begin: it can be asked for again.
const TAKEN: Duration = Duration::from_secs(2);

/// How much of that time is for what was said while we stood still ourselves.
const MEANWHILE: Duration = Duration::from_secs(1);

/// How an attempt ended.
pub(super) enum Ending {
    /// With what came of the call.
    Answered(Result<ToolOutput, ToolError>),
    /// It was refused: it did not run.
    Refused(Refusal),
    /// Nobody was there: it did not run.
    Nobody,
    /// Nobody has said to have it, so that nobody was told to begin: it did not run, and never will.
    Untaken,
    /// Nobody knows.
    Lost(Lost),
}

/// What was heard of a call.
enum Heard {
    /// What a worker says, and where it hears what is said to it.
    Answer(Bytes, Option<String>),
    /// Nobody listens there.
    Nobody,
    /// Nothing that may be believed; if something else came, why that may be.
    Silence(Option<Refusal>),
}

/// Why nobody knows what became of a call.
pub(super) enum Lost {
    /// Nobody said that it has the call.
    Untaken { group: String },
    /// Whoever had it went silent.
    Silent { group: String, worker: String },
    /// What came of it cannot be had.
    Unread { group: String, error: Error },
}

impl fmt::Display for Lost {
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
    /// Sends the call there, and follows it to its end.
    pub(super) async fn attempt(
        &self,
        subject: String,
        request: &Request,
        payload: Bytes,
        cx: &CallContext,
    ) -> Ending {
        let cluster = self.group.cluster();
        let mut waiting = self.group.replies().wait();
        let mut notice = Cancel::unless_over(cluster, self.group.name(), request.call);
        let address = waiting.address.clone();
        let payload = cluster.signer().sign(Purpose::Request, &[&subject, &address], &payload);
        let sent = cluster.publish(subject, Some(address), payload).await;
        if let Err(error) = sent {
            notice.over();
            let text = format!("Tool '{}' could not be sent to a worker", self.spec.name);
            let error = ToolError::new(ErrorKind::Unavailable, text).caused_by(error);
            return Ending::Answered(Err(error));
        }
        let ending = self.follow(&mut waiting, &mut notice, request.waits, cx).await;
        if !matches!(ending, Ending::Lost(_) | Ending::Untaken) {
            notice.over();
        }
        ending
    }

    async fn follow(
        &self,
        waiting: &mut ReplyReceiver,
        notice: &mut Cancel,
        waits: bool,
        cx: &CallContext,
    ) -> Ending {
        let mut node = None;
        loop {
            let is_certain = waits && notice.worker.is_none();
            let patience = if is_certain { TAKEN } else { SILENCE };
            let (body, reply) = match self.next(waiting, patience, &mut node).await {
                Heard::Answer(body, reply) => (body, reply),
                Heard::Nobody => return Ending::Nobody,
                // Nobody of this cluster has said to have the call.
                Heard::Silence(Some(refusal)) if notice.worker.is_none() => {
                    return Ending::Refused(refusal);
                }
                Heard::Silence(_) if is_certain => return Ending::Untaken,
                Heard::Silence(_) => return Ending::Lost(self.silent(notice.worker.clone())),
            };
            match wire::read("an answer", &body) {
                // It is told to begin once: whoever else says to have it has it from somebody who repeats what we said.
                Ok(Reply::Accepted { .. }) if notice.worker.is_some() => {}
                Ok(Reply::Accepted { worker }) => {
                    notice.worker = Some(worker);
                    if let (true, Some(to)) = (waits, reply) {
                        let (cluster, go) = (self.group.cluster(), Bytes::from_static(wire::GO));
                        let go = cluster.signer().sign(Purpose::Word, &[&to], &go);
                        // Whoever does not hear it refuses the call after a while.
                        _ = cluster.publish(to, None, go).await;
                    }
                }
                Ok(Reply::Refused(refusal)) => return Ending::Refused(refusal),
                Ok(Reply::Progress(step)) => cx.progress.report(step.into()),
                Ok(Reply::Alive) => {}
                Ok(Reply::Result(outcome)) => return Ending::Answered(outcome.into_result()),
                Ok(Reply::Large(place)) => return self.pick_up(&place).await,
                Err(error) => return Ending::Lost(self.unread(error)),
            }
        }
    }

    /// The next answer of a worker of this cluster: of any, until one has said to have the call, and then of that one. What
    /// others say is passed over, and does not count as a sign of life.
    async fn next(
        &self,
        waiting: &mut ReplyReceiver,
        patience: Duration,
        node: &mut Option<String>,
    ) -> Heard {
        let (cluster, end) = (self.group.cluster(), Instant::now() + patience);
        let mut refusal = None;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let Some(message) = hear(waiting, left).await else { return Heard::Silence(refusal) };
            if message.no_responders && node.is_none() {
                return Heard::Nobody;
            }
            match replies::open(cluster, &message) {
                Ok(Opened { body, signed: None }) => return Heard::Answer(body, message.reply),
                Ok(Opened { body, signed: Some(signed) }) => {
                    let expected = node.get_or_insert_with(|| signed.node.clone());
                    if *expected == signed.node {
                        return Heard::Answer(body, message.reply);
                    }
                }
                Err(error) => {
                    cluster.signer().refused(Purpose::Reply, &self.spec.name, &error);
                    // Whoever says it may not be believed; it only chooses the words.
                    refusal = Some(match wire::read("an answer", &message.payload) {
                        Ok(Reply::Refused(Refusal::Stale)) => Refusal::Stale,
                        _ => Refusal::Unsigned,
                    });
                }
            }
            if Instant::now() >= end {
                return Heard::Silence(refusal);
            }
        }
    }

    async fn pick_up(&self, place: &str) -> Ending {
        let cluster = self.group.cluster();
        let bytes = cluster.pick_up(place).await;
        let (owned, away) = (cluster.clone(), place.to_owned());
        // Nobody has to wait for that.
        tokio::spawn(async move { owned.take_away(&away).await });
        match bytes.and_then(|bytes| wire::read::<Outcome>("a result", &bytes)) {
            Ok(outcome) => Ending::Answered(outcome.into_result()),
            Err(error) => Ending::Lost(self.unread(error)),
        }
    }

    fn silent(&self, worker: Option<String>) -> Lost {
        let group = self.group.name().to_string();
        match worker {
            Some(worker) => Lost::Silent { group, worker },
            None => Lost::Untaken { group },
        }
    }

    fn unread(&self, error: Error) -> Lost {
        Lost::Unread { group: self.group.name().to_string(), error }
    }
}

/// The next answer, unless there is none for so long.
async fn hear(waiting: &mut ReplyReceiver, patience: Duration) -> Option<Message> {
    // Where it is us who stood still, what was said meanwhile is still to come.
    for part in [patience.saturating_sub(MEANWHILE), MEANWHILE.min(patience)] {
        if let Ok(message) = timeout(part, waiting.answers.recv()).await {
            return message;
        }
    }
    None
}

/// Tells whoever has the call that nobody waits for it, when dropped before it is over.
struct Cancel {
    cluster: Cluster,
    group: String,
    call: CallId,
    /// Who has it, as soon as that is known.
    worker: Option<String>,
    is_over: bool,
}

impl Cancel {
    fn unless_over(cluster: &Cluster, group: &str, call: CallId) -> Self {
        let (cluster, group) = (cluster.clone(), group.to_owned());
        Self { cluster, group, call, worker: None, is_over: false }
    }

    fn over(&mut self) {
        self.is_over = true;
    }
}

impl Drop for Cancel {
    fn drop(&mut self) {
        let (false, Ok(runtime)) = (self.is_over, Handle::try_current()) else { return };
        let names = self.cluster.names();
        let subject = match &self.worker {
            Some(worker) => names.worker(worker),
            None => names.group(&self.group),
        };
        let notice = Notice::Cancel(self.call);
        let notice = self.cluster.signer().write(Purpose::Notice, &[&subject], &notice);
        let cluster = self.cluster.clone();
        runtime.spawn(async move {
            if let Ok(notice) = notice {
                _ = cluster.publish(subject, None, notice).await;
            }
        });
    }
}
