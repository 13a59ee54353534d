//! One call at a worker: accepted or refused, run by its executor, replied to.

use std::{pin::pin, sync::Arc, time::Duration};

use bytes::Bytes;
use serde_json::{Map, Value};
use switchboard_toolcall::time::unix_milliseconds;
use switchboard_toolcall::{CallId, ErrorKind, Progress, ToolCall, ToolError};
use tokio::{
    sync::{OwnedSemaphorePermit, mpsc},
    task::yield_now,
    time::sleep,
};

use super::{WorkerInner, worker_calls::WorkerCall};
use crate::{
    Error, Purpose,
    transport::ClusterMessage,
    wire::{self, ProgressStep, WireOutcome, WorkerRefusal, WorkerReply, WorkerRequest},
};

/// How long a worker waits to be told to start.
const TOLD: Duration = Duration::from_secs(5);

/// After how long a call that need not wait is told as accepted: one that ends before needs one message less.
const ACCEPTED: Duration = Duration::from_millis(50);

/// How much longer than the gateway a worker waits for its tool, so that the gateway reports the timeout, once.
const LONGER: Duration = Duration::from_millis(500);

impl WorkerInner {
    /// Accepts a call, or refuses it.
    pub(super) async fn take(self: &Arc<Self>, message: ClusterMessage) {
        // Without a reply subject nobody would get the outcome.
        let Some(reply) = message.reply.clone() else { return };
        let body = match self.open(&message, &reply) {
            Ok(Some(body)) => body,
            Ok(None) => return,
            Err(refusal) => return self.refuse_unsigned(reply, refusal).await,
        };
        let request: WorkerRequest = match wire::read("a call", &body) {
            Ok(request) => request,
            Err(error) => {
                let error = ToolError::new(ErrorKind::Internal, error.to_string());
                return self
                    .say(&reply, &WorkerReply::Result(WireOutcome::Failure((&error).into())))
                    .await;
            }
        };
        match self.slot_for(&request) {
            Ok(permit) => {
                // It counts as running before anybody can check whether something runs.
                let begun = self.running.begin(request.call, &reply);
                let shared = self.clone();
                tokio::spawn(async move { shared.run(request, reply, begun, permit).await });
            }
            Err(refusal) => self.say(&reply, &WorkerReply::Refused(refusal)).await,
        }
    }

    /// Returns the request, if it is signed for us, recent and new. `None` if it was received before.
    fn open(&self, message: &ClusterMessage, reply: &str) -> Result<Option<Bytes>, WorkerRefusal> {
        let (signer, subject) = (self.cluster.signer(), &message.subject);
        let place = [subject.as_str(), reply];
        let opened =
            signer.open_fresh(Purpose::Request, &place, &message.payload, unix_milliseconds());
        let opened = opened.map_err(|error| {
            signer.refused(Purpose::Request, subject, &error);
            match error {
                Error::Stale { .. } => WorkerRefusal::Stale,
                _ => WorkerRefusal::Unsigned,
            }
        })?;
        match opened.signed {
            // No reply: the gateway would take it for the end of the first request.
            Some(signed) if !self.seen.is_new(signed.id) => {
                let error = Error::Repeated { what: "the request" };
                signer.refused(Purpose::Request, subject, &error);
                Ok(None)
            }
            _ => Ok(Some(opened.body)),
        }
    }

    /// Refuses a request that is not signed by this cluster. The refusal is not signed either: the sender chose the
    /// reply subject, which may belong to another call.
    async fn refuse_unsigned(&self, reply: String, refusal: WorkerRefusal) {
        if let Ok(bytes) = wire::write(&WorkerReply::Refused(refusal)) {
            _ = self.cluster.publish(reply, None, bytes).await;
        }
    }

    fn slot_for(&self, request: &WorkerRequest) -> Result<OwnedSemaphorePermit, WorkerRefusal> {
        if self.is_leaving() {
            return Err(WorkerRefusal::Leaving);
        }
        if !self.offer().tools.iter().any(|tool| tool.name == request.tool) {
            return Err(WorkerRefusal::Unknown);
        }
        self.slots.clone().try_acquire_owned().map_err(|_| WorkerRefusal::Busy)
    }

    async fn run(
        &self,
        request: WorkerRequest,
        reply: String,
        begun: WorkerCall,
        permit: OwnedSemaphorePermit,
    ) {
        let call = request.call;
        let mut is_accepted = request.waits;
        if request.waits {
            self.accept(&reply, call).await;
            // It is sent before the call computes anything.
            yield_now().await;
            if !is_told(&begun).await {
                return self.say(&reply, &WorkerReply::Refused(WorkerRefusal::Untold)).await;
            }
        }
        let (steps, mut reported) = mpsc::unbounded_channel();
        let mut work = pin!(self.answer(request, &reply, &begun, steps));
        let mut late = pin!(sleep(ACCEPTED));
        let answer = loop {
            tokio::select! {
                biased;
                () = &mut late, if !is_accepted => {
                    self.accept(&reply, call).await;
                    is_accepted = true;
                }
                Some(step) = reported.recv() => {
                    if !is_accepted {
                        self.accept(&reply, call).await;
                        is_accepted = true;
                    }
                    self.say(&reply, &WorkerReply::Progress(step)).await;
                }
                answer = &mut work => break answer,
            }
        };
        while let Ok(step) = reported.try_recv() {
            self.say(&reply, &WorkerReply::Progress(step)).await;
        }
        self.send(&reply, answer).await;
        // Waiting until the worker is idle includes sending this reply, so `begun` is kept until here.
        drop(permit);
    }

    /// Runs the call by the executor. Returns the reply with its outcome.
    async fn answer(
        &self,
        request: WorkerRequest,
        reply: &str,
        begun: &WorkerCall,
        steps: mpsc::UnboundedSender<ProgressStep>,
    ) -> Bytes {
        let mut cx = request.context();
        cx.cancel = begun.cancel.clone();
        cx.timeout = cx.timeout.map(|left| left.saturating_add(LONGER));
        if request.wants_progress {
            cx.progress = Progress::to(move |update| {
                // Nobody reads progress when the call is over.
                _ = steps.send(update.into());
            });
        }
        let call = ToolCall::new(&request.tool, Map::new());
        let result = match self.arguments(request).await {
            Ok(args) => self.executor.execute(ToolCall { args, ..call }, &cx).await,
            Err(error) => {
                let text = format!("the arguments could not be fetched: {error}");
                let error = ToolError::new(ErrorKind::Unavailable, text).caused_by(error);
                self.executor.refuse(call, error, &cx).await
            }
        };
        self.written(reply, WireOutcome::from(&result)).await
    }

    async fn arguments(&self, request: WorkerRequest) -> Result<Map<String, Value>, Error> {
        match request.large_args {
            None => Ok(request.args),
            Some(place) => wire::read("arguments", &self.cluster.pick_up(&place).await?),
        }
    }

    /// Serializes an outcome; one that is too large for a message is stored as an object.
    async fn written(&self, to: &str, outcome: WireOutcome) -> Bytes {
        let whole = async {
            let reply = WorkerReply::Result(outcome);
            let bytes = self.signed(to, "", &reply)?;
            match reply {
                WorkerReply::Result(outcome) if self.cluster.is_large(bytes.len()) => {
                    let place = self.cluster.lay_down(&wire::write(&outcome)?).await?;
                    self.signed(to, "", &WorkerReply::Large(place))
                }
                _ => Ok(bytes),
            }
        };
        match whole.await {
            Ok(bytes) => bytes,
            Err(error) => {
                let text =
                    format!("the tool has run, but its result could not be passed on: {error}");
                let error = ToolError::new(ErrorKind::Internal, text);
                let reply = WorkerReply::Result(WireOutcome::Failure((&error).into()));
                self.signed(to, "", &reply).unwrap_or_default()
            }
        }
    }

    /// Signs a reply for a subject, with our own subject for responses.
    fn signed(&self, to: &str, callers: &str, reply: &WorkerReply) -> Result<Bytes, Error> {
        self.cluster.signer().write(Purpose::Reply, &[to, callers], reply)
    }

    pub(super) async fn say(&self, to: &str, reply: &WorkerReply) {
        match self.signed(to, "", reply) {
            Ok(bytes) => self.send(to, bytes).await,
            Err(error) => tracing::warn!("{error}"),
        }
    }

    async fn send(&self, to: &str, bytes: Bytes) {
        if let Err(error) = self.cluster.publish(to, None, bytes).await {
            tracing::debug!("an answer could not be sent: {error}");
        }
    }

    /// Tells the gateway which worker has the call.
    async fn accept(&self, to: &str, call: CallId) {
        self.ask(to, call, &WorkerReply::Accepted { worker: self.id.clone() }).await;
    }

    /// Sends a reply such that we are notified if nobody receives it.
    pub(super) async fn ask(&self, to: &str, call: CallId, reply: &WorkerReply) {
        let callers = format!("{}.{call}", self.inbox);
        if let Ok(bytes) = self.signed(to, &callers, reply) {
            _ = self.cluster.publish(to, Some(callers), bytes).await;
        }
    }
}

/// Waits until a call may start, for a limited time.
async fn is_told(begun: &WorkerCall) -> bool {
    tokio::select! {
        biased;
        () = begun.cancel.cancelled() => false,
        () = begun.go.cancelled() => true,
        () = sleep(TOLD) => false,
    }
}
