use std::sync::{Arc, Mutex};

use serde_json::json;
use switchboard_runtime::ToolExecutor;
use switchboard_toolcall::CallId;
use tempfile::TempDir;
use tokio::sync::watch;

use super::*;
use crate::{CallStage, Config, Store};

/// Keeps what it is sent; fails as often as it is told to, after it has taken a part.
#[derive(Clone)]
struct FakeDestination {
    target: ExportTarget,
    failures: Arc<Mutex<usize>>,
    sent: watch::Sender<Vec<(CallId, CallStage)>>,
}

impl FakeDestination {
    fn new(target: ExportTarget, failures: usize) -> Self {
        Self { target, failures: Arc::new(Mutex::new(failures)), sent: watch::Sender::default() }
    }

    /// Waits until so many different updates were sent; returns all of them.
    async fn until(&self, count: usize) -> Vec<(CallId, CallStage)> {
        let mut sent = self.sent.subscribe();
        sent.wait_for(|sent| once(sent).len() >= count).await.unwrap().clone()
    }
}

impl RecordDestination for FakeDestination {
    fn target(&self) -> ExportTarget {
        self.target
    }

    fn name(&self) -> String {
        "a fake".to_owned()
    }

    fn open<'a>(
        &'a self,
        _: &'a StoreNode,
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Box<dyn Send>, BoxError>> {
        Box::pin(async { Ok(Box::new(()) as Box<dyn Send>) })
    }

    fn send<'a>(&'a self, updates: &'a [CallUpdate]) -> BoxFuture<'a, Result<(), BoxError>> {
        let mut failures = self.failures.lock().unwrap();
        let fails = *failures > 0;
        *failures = failures.saturating_sub(1);
        let taken = if fails { updates.len() / 2 } else { updates.len() };
        let taken = updates[..taken].iter().map(|update| (update.id, update.stage));
        self.sent.send_modify(|sent| sent.extend(taken));
        Box::pin(async move { if fails { Err("it is away".into()) } else { Ok(()) } })
    }
}

/// The updates without duplicates, in the order in which they came first.
fn once(sent: &[(CallId, CallStage)]) -> Vec<(CallId, CallStage)> {
    let mut once = Vec::new();
    for update in sent {
        if !once.contains(update) {
            once.push(*update);
        }
    }
    once
}

/// Makes calls; returns the updates that they are.
async fn calls(folder: &TempDir, count: usize) -> Vec<(CallId, CallStage)> {
    let store = Arc::new(Store::open(Config::default(), folder.path()));
    let executor = ToolExecutor::builder().store(store).build();
    let mut updates = Vec::new();
    for _ in 0..count {
        let id = executor.call("nobody", json!({})).await.call_id;
        updates.extend([(id, CallStage::Started), (id, CallStage::Ended)]);
    }
    updates
}

// RC-1: what was not acknowledged is sent again, and nothing is left out.
#[tokio::test(start_paused = true)]
async fn what_a_destination_has_not_taken_is_sent_again() {
    let folder = TempDir::new().unwrap();
    let mut expected = calls(&folder, 5).await;
    let destination = FakeDestination::new(ExportTarget::Otlp, 3);
    let task = ShippingTask::start(destination.clone(), folder.path().to_owned());
    let sent = destination.until(10).await;
    assert_eq!(once(&sent), expected);
    assert!(sent.len() > expected.len(), "a part was sent twice");
    assert_eq!(task.progress().failures(), 3);
    expected.extend(calls(&folder, 2).await);
    task.finish(Duration::from_secs(60)).await;
    assert_eq!(once(&destination.until(14).await), expected);

    // The next process goes on where this one stopped.
    let next = FakeDestination::new(ExportTarget::Otlp, 0);
    ship_once(next.clone(), folder.path().to_owned()).await.unwrap();
    assert_eq!(next.until(0).await, []);
    let more = calls(&folder, 1).await;
    ship_once(next.clone(), folder.path().to_owned()).await.unwrap();
    assert_eq!(next.until(2).await, more);
}

// RC-1: each destination has a cursor of its own, and neither waits for the other.
#[tokio::test(start_paused = true)]
async fn a_destination_that_is_away_keeps_back_no_other() {
    let folder = TempDir::new().unwrap();
    let expected = calls(&folder, 3).await;
    let away = FakeDestination::new(ExportTarget::Otlp, usize::MAX);
    let there = FakeDestination::new(ExportTarget::Cluster, 0);
    let [_away, task] = [&away, &there]
        .map(|destination| ShippingTask::start(destination.clone(), folder.path().to_owned()));
    assert_eq!(there.until(6).await, expected);
    task.finish(Duration::from_secs(60)).await;
}
