//! Receives requests: calls of the worker's tools, and cancellations.

use std::{
    collections::HashMap,
    sync::{Arc, atomic::Ordering},
};

use bytes::Bytes;
use futures_util::StreamExt;
use switchboard_toolcall::CallId;
use tokio_util::{
    sync::CancellationToken,
    task::{AbortOnDropHandle, TaskTracker},
};

use super::WorkerInner;
use crate::{
    Error, Purpose,
    transport::{ClusterMessage, Subscription},
    wire::{self, WorkerNotice, WorkerReply},
};

/// What a worker subscribes to.
pub(super) struct WorkerSubscriptions {
    /// The tools with a subscription.
    tools: HashMap<String, CancellationToken>,
    /// Fires when no more calls are taken.
    drain: CancellationToken,
    /// The tasks that take calls.
    takers: TaskTracker,
    _notices: Vec<AbortOnDropHandle<()>>,
}

impl WorkerSubscriptions {
    /// Subscribes to the worker's own subjects.
    pub(super) async fn start(shared: &Arc<WorkerInner>) -> Result<Self, Error> {
        let names = shared.cluster.names();
        let (own, all) = (names.worker(&shared.id), names.group(&shared.group));
        let mut notices = Vec::new();
        for subject in [own, all] {
            let messages = subscribe(shared, subject, None).await?;
            notices.push(spawn(hear_notices(messages, shared.clone())));
        }
        let messages = subscribe(shared, format!("{}.*", shared.inbox), None).await?;
        notices.push(spawn(hear_callers(messages, shared.clone())));
        let drain = CancellationToken::new();
        let direct = subscribe(shared, names.calls_to(&shared.id), None).await?;
        let takers = TaskTracker::new();
        takers.spawn(hear_calls(direct, shared.clone(), drain.clone()));
        Ok(Self { tools: HashMap::new(), drain, takers, _notices: notices })
    }

    /// Subscribes to calls of exactly the tools that are offered now.
    pub(super) async fn adjust(&mut self, shared: &Arc<WorkerInner>) -> Result<(), Error> {
        let offer = shared.offer();
        let names = shared.cluster.names();
        self.tools.retain(|name, ended| {
            let stays = offer.tools.iter().any(|tool| tool.name == *name);
            if !stays {
                ended.cancel();
            }
            stays
        });
        for tool in &offer.tools {
            if self.tools.contains_key(&tool.name) {
                continue;
            }
            let subject = names.calls(&shared.group, &tool.name);
            let calls = subscribe(shared, subject, Some(&shared.group)).await?;
            let ended = self.drain.child_token();
            self.takers.spawn(hear_calls(calls, shared.clone(), ended.clone()));
            self.tools.insert(tool.name.clone(), ended);
        }
        Ok(())
    }

    /// Takes no more calls.
    pub(super) fn drain(&self) {
        self.drain.cancel();
        self.takers.close();
    }

    /// Waits until messages that were already sent have been handled.
    pub(super) async fn drained(&self) {
        self.takers.wait().await;
    }
}

impl Drop for WorkerSubscriptions {
    fn drop(&mut self) {
        self.drain.cancel();
    }
}

fn spawn(work: impl Future<Output = ()> + Send + 'static) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(work))
}

async fn subscribe(
    shared: &WorkerInner,
    subject: String,
    queue: Option<&str>,
) -> Result<Box<dyn Subscription>, Error> {
    let refused = Error::refused(format!("let us listen to `{subject}`"));
    shared.cluster.subscribe(subject, queue).await.map_err(refused)
}

async fn hear_calls(
    mut calls: Box<dyn Subscription>,
    shared: Arc<WorkerInner>,
    ended: CancellationToken,
) {
    loop {
        tokio::select! {
            message = calls.next() => match message {
                Some(message) => shared.take(message).await,
                None => return,
            },
            () = ended.cancelled() => break,
        }
    }
    // Messages that were already sent still arrive, and are handled.
    if calls.drain().await.is_ok() {
        while let Some(message) = calls.next().await {
            shared.take(message).await;
        }
    }
}

async fn hear_notices(mut messages: Box<dyn Subscription>, shared: Arc<WorkerInner>) {
    while let Some(message) = messages.next().await {
        let Some(body) = opened(&shared, Purpose::Notice, &message) else { continue };
        match wire::read("a notice", &body) {
            Ok(WorkerNotice::Cancel(call)) => shared.running.cancel(call),
            Ok(WorkerNotice::Report) => {
                if let Some(reply) = &message.reply {
                    shared.say(reply, &WorkerReply::Alive).await;
                }
            }
            Ok(WorkerNotice::Announce) => {
                shared.announces_again.store(true, Ordering::Release);
                shared.bell.notify_one();
            }
            Ok(WorkerNotice::Watched(is_watched)) => shared.set_watched(is_watched),
            Err(error) => tracing::debug!("{error}"),
        }
    }
}

/// Receives that a call may start, or that nobody waits for it: from NATS, if nobody subscribes to the reply subject,
/// or from the gateway.
async fn hear_callers(mut messages: Box<dyn Subscription>, shared: Arc<WorkerInner>) {
    while let Some(message) = messages.next().await {
        let Some(call) = call_of(&message) else { continue };
        if message.no_responders {
            shared.running.strike(call);
            continue;
        }
        match opened(&shared, Purpose::Word, &message) {
            Some(body) if *body == *wire::GO => shared.running.go(call),
            Some(_) => shared.running.cancel(call),
            None => {}
        }
    }
}

/// Returns a gateway's message, if it is signed by this cluster.
fn opened(shared: &WorkerInner, purpose: Purpose, message: &ClusterMessage) -> Option<Bytes> {
    let signer = shared.cluster.signer();
    let opened = signer.open(purpose, &[&message.subject], &message.payload);
    let opened = opened.inspect_err(|error| signer.refused(purpose, &message.subject, error));
    opened.ok().map(|opened| opened.body)
}

fn call_of(message: &ClusterMessage) -> Option<CallId> {
    CallId::parse(message.subject.rsplit('.').next()?)
}
