//! One call at a worker: taken or refused, run through its own executor, answered.

use std::{pin::pin, sync::Arc, time::Duration};

use bytes::Bytes;
use serde_json::{Map, Value};
use switchboard_toolcall::{CallId, ErrorKind, Progress, ToolCall, ToolError};
use tokio::{
    sync::{OwnedSemaphorePermit, mpsc},
    task::yield_now,
    time::sleep,
};

use super::{Shared, running::RunningCall};
use crate::{
    Error, Purpose,
    clock::now_ms,
    transport::Message,
    wire::{self, Outcome, Refusal, Reply, Request, Step},
};

/// How long a worker waits until it is told to begin.
const TOLD: Duration = Duration::from_secs(5);

/// How much longer than whoever asks a worker waits for its tool, so that the end of the call is told once, there.
const LONGER: Duration = Duration::from_millis(500);

impl Shared {
    /// Takes a call, or says why not.
    pub(super) async fn take(self: &Arc<Self>, message: Message) {
        // Without an address for answers nobody would hear what came of it.
        let Some(reply) = message.reply.clone() else { return };
        let body = match self.open(&message, &reply) {
            Ok(Some(body)) => body,
            Ok(None) => return,
            Err(refusal) => return self.refuse_unsigned(reply, refusal).await,
        };
        let request: Request = match wire::read("a call", &body) {
            Ok(request) => request,
            Err(error) => {
                let error = ToolError::new(ErrorKind::Internal, error.to_string());
                return self.say(&reply, &Reply::Result(Outcome::Failure((&error).into()))).await;
            }
        };
        match self.slot_for(&request) {
            Ok(permit) => {
                // It counts as running before anybody can ask whether something does.
                let begun = self.running.begin(request.call, &reply);
                let shared = self.clone();
                tokio::spawn(async move { shared.run(request, reply, begun, permit).await });
            }
            Err(refusal) => self.say(&reply, &Reply::Refused(refusal)).await,
        }
    }

    /// Returns what is asked, if it is signed for us, now, and for the first time; `None` if it was asked before.
    fn open(&self, message: &Message, reply: &str) -> Result<Option<Bytes>, Refusal> {
        let (signer, subject) = (self.cluster.signer(), &message.subject);
        let place = [subject.as_str(), reply];
        let opened = signer.open_fresh(Purpose::Request, &place, &message.payload, now_ms());
        let opened = opened.map_err(|error| {
            signer.refused(Purpose::Request, subject, &error);
            match error {
                Error::Stale { .. } => Refusal::Stale,
                _ => Refusal::Unsigned,
            }
        })?;
        match opened.signed {
            // Nobody is told: whoever made the call would take it for the end of the first request.
            Some(signed) if !self.seen.is_new(signed.id) => {
                let error = Error::Repeated { what: "the request" };
                signer.refused(Purpose::Request, subject, &error);
                Ok(None)
            }
            _ => Ok(Some(opened.body)),
        }
    }

    /// Refuses a request that nobody of this cluster has signed. That is not signed either: whoever sent it chose where this
    /// goes, and may have chosen the address of another call.
    async fn refuse_unsigned(&self, reply: String, refusal: Refusal) {
        if let Ok(bytes) = wire::write(&Reply::Refused(refusal)) {
            _ = self.cluster.publish(reply, None, bytes).await;
        }
    }

    fn slot_for(&self, request: &Request) -> Result<OwnedSemaphorePermit, Refusal> {
        if self.is_leaving() {
            return Err(Refusal::Leaving);
        }
        if !self.offer().tools.iter().any(|tool| tool.name == request.tool) {
            return Err(Refusal::Unknown);
        }
        self.slots.clone().try_acquire_owned().map_err(|_| Refusal::Busy)
    }

    async fn run(
        &self,
        request: Request,
        reply: String,
        begun: RunningCall,
        permit: OwnedSemaphorePermit,
    ) {
        let accepted = Reply::Accepted { worker: self.id.clone() };
        self.ask(&reply, request.call, &accepted).await;
        // It is on its way before the call computes anything.
        yield_now().await;
        if request.waits && !is_told(&begun).await {
            return self.say(&reply, &Reply::Refused(Refusal::Untold)).await;
        }
        let (steps, mut reported) = mpsc::unbounded_channel();
        let mut work = pin!(self.answer(request, &reply, &begun, steps));
        let answer = loop {
            tokio::select! {
                biased;
                Some(step) = reported.recv() => self.say(&reply, &Reply::Progress(step)).await,
                answer = &mut work => break answer,
            }
        };
        while let Ok(step) = reported.try_recv() {
            self.say(&reply, &Reply::Progress(step)).await;
        }
        self.send(&reply, answer).await;
        // Whoever waits for us to be idle waits for the answer too, and so for `begun`.
        drop(permit);
    }

    /// Runs the call as any other of this executor, and returns the message that says what came of it.
    async fn answer(
        &self,
        request: Request,
        reply: &str,
        begun: &RunningCall,
        steps: mpsc::UnboundedSender<Step>,
    ) -> Bytes {
        let mut cx = request.context();
        cx.cancel = begun.cancel.clone();
        cx.timeout = cx.timeout.map(|left| left.saturating_add(LONGER));
        if request.wants_progress {
            cx.progress = Progress::to(move |update| {
                // Nobody reads on when the call is over.
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
        self.written(reply, &Outcome::from(&result)).await
    }

    async fn arguments(&self, request: Request) -> Result<Map<String, Value>, Error> {
        match request.large_args {
            None => Ok(request.args),
            Some(place) => wire::read("arguments", &self.cluster.pick_up(&place).await?),
        }
    }

    /// What came of a call as a message; what is too large for one is laid down elsewhere.
    async fn written(&self, to: &str, outcome: &Outcome) -> Bytes {
        let whole = async {
            let bytes = wire::write(outcome)?;
            if self.cluster.is_large(bytes.len()) {
                return self.signed(to, "", &Reply::Large(self.cluster.lay_down(&bytes).await?));
            }
            self.signed(to, "", &Reply::Result(outcome.clone()))
        };
        match whole.await {
            Ok(bytes) => bytes,
            Err(error) => {
                let text =
                    format!("the tool has run, but its result could not be passed on: {error}");
                let error = ToolError::new(ErrorKind::Internal, text);
                let reply = Reply::Result(Outcome::Failure((&error).into()));
                self.signed(to, "", &reply).unwrap_or_default()
            }
        }
    }

    /// A reply for an address, signed with where we hear what is said to it.
    fn signed(&self, to: &str, callers: &str, reply: &Reply) -> Result<Bytes, Error> {
        self.cluster.signer().write(Purpose::Reply, &[to, callers], reply)
    }

    async fn say(&self, to: &str, reply: &Reply) {
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

    /// Says something in a way that tells us if nobody hears it.
    pub(super) async fn ask(&self, to: &str, call: CallId, reply: &Reply) {
        let callers = format!("{}.{call}", self.inbox);
        if let Ok(bytes) = self.signed(to, &callers, reply) {
            _ = self.cluster.publish(to, Some(callers), bytes).await;
        }
    }
}

/// Waits until a call may begin; not for ever.
async fn is_told(begun: &RunningCall) -> bool {
    tokio::select! {
        biased;
        () = begun.cancel.cancelled() => false,
        () = begun.go.cancelled() => true,
        () = sleep(TOLD) => false,
    }
}
