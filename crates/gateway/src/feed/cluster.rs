//! The events of all nodes of a cluster: calls as their records are shipped, and what else this gateway tells.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use switchboard_audit::{CallDetail, CallStage, SharedCallFollower, SharedRecords};
use tokio::{
    sync::broadcast::error::RecvError,
    task::JoinHandle,
    time::{interval, sleep},
};

use super::{EventSubscription, Feed, FeedEvent, memory::Memory, messages::NodeCallMessage};

/// How often it is checked whether anybody still listens.
const LOOK: Duration = Duration::from_secs(30);
/// How long to wait before the records are asked for again.
const PAUSE: Duration = Duration::from_secs(1);

/// The events of all nodes. Without subscribers, no records are read.
#[derive(Default)]
pub(super) struct ClusterEvents {
    pub(super) memory: Memory,
    /// The task that reads the records, while there are subscribers.
    task: Mutex<Option<JoinHandle<()>>>,
}

impl ClusterEvents {
    /// Subscribes to events; those since the event with the id `last` come first.
    pub(super) fn watch(
        feed: &Arc<Feed>,
        records: &Arc<dyn SharedRecords>,
        last: Option<&str>,
    ) -> EventSubscription {
        // Locked first: the task ends under this lock, if nobody has subscribed.
        let mut task = feed.cluster.task.lock().unwrap_or_else(PoisonError::into_inner);
        let subscription = feed.cluster.memory.watch(last);
        if task.as_ref().is_none_or(JoinHandle::is_finished) {
            *task = Some(tokio::spawn(follow(feed.clone(), records.clone())));
        }
        subscription
    }

    /// Returns whether there are no subscribers any more; then the task must end.
    fn is_abandoned(&self) -> bool {
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        let is_abandoned = self.memory.is_abandoned();
        if is_abandoned {
            *task = None;
        }
        is_abandoned
    }
}

/// Publishes what happens on all nodes, until nobody listens.
async fn follow(feed: Arc<Feed>, records: Arc<dyn SharedRecords>) {
    let memory = &feed.cluster.memory;
    let calls = async {
        let mut follower = begin(&*records).await;
        loop {
            let (stage, detail) = follower.next().await;
            memory.add(event(stage, &detail));
        }
    };
    // Records say nothing of held calls and of turns, so those are this gateway's own.
    let others = async {
        let mut own = feed.memory.watch(None).live;
        loop {
            match own.recv().await {
                Ok(event) if !event.is_call() => memory.add(FeedEvent::clone(&event)),
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return,
            }
        }
    };
    let watch = async {
        let mut looks = interval(LOOK);
        loop {
            looks.tick().await;
            if feed.cluster.is_abandoned() {
                return;
            }
        }
    };
    tokio::select! {
        () = calls => {}
        () = others => {}
        () = watch => {}
    }
}

/// Returns the follower, as soon as the records can be read.
async fn begin(records: &dyn SharedRecords) -> Box<dyn SharedCallFollower> {
    loop {
        match records.follow().await {
            Ok(follower) => return follower,
            Err(error) => {
                tracing::debug!(
                    error = &error as &dyn std::error::Error,
                    "no events of the cluster"
                );
                sleep(PAUSE).await;
            }
        }
    }
}

fn event(stage: CallStage, detail: &CallDetail) -> FeedEvent {
    let record = &detail.record;
    let text = |text: &Option<String>| text.as_deref().map(Arc::from);
    FeedEvent {
        tool: Some(record.tool.as_str().into()),
        shown_as: text(&record.shown_as),
        profile: text(&record.profile),
        caller: text(&record.caller),
        is_held: false,
        is_private: false,
        json: serde_json::to_string(&NodeCallMessage::new(stage, detail)).unwrap_or_default(),
        number: 0,
    }
}
