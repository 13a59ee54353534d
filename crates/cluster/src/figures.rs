//! Figures of the cluster for metrics: collected in the background, so that reading them never waits for NATS.

mod workers;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError, atomic::AtomicU64, atomic::Ordering},
    time::Duration,
};

use prometheus_client::{
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::{Registry, Unit},
};
use switchboard_audit::ShippingProgress;
use switchboard_workers::{Cluster, Groups, groups::GroupTotals, jobs};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};
use tracing::debug;

pub use workers::present;

/// How often the figures are collected.
const EVERY: Duration = Duration::from_secs(5);
/// How long the servers may take.
const PATIENCE: Duration = Duration::from_secs(4);

type OfGroup<T> = Family<[(&'static str, String); 1], T>;

/// Collects the figures until it is dropped.
pub struct FiguresTask(JoinHandle<()>);

impl FiguresTask {
    /// Starts to collect; the figures are in the returned registry. The workers are those that `groups` has in memory.
    pub fn start(groups: Arc<Groups>, progress: Option<ShippingProgress>) -> (Self, Registry) {
        let mut registry = Registry::with_prefix("switchboard");
        let figures = Figures::new(&mut registry);
        let task = tokio::spawn(async move {
            let mut looked = None;
            loop {
                figures.look_here(groups.cluster(), progress.as_ref());
                if figures.look_there(&groups).await {
                    looked = Some(Instant::now());
                }
                let age = looked.map_or(-1.0, |looked| looked.elapsed().as_secs_f64());
                figures.age.set(age);
                sleep(EVERY).await;
            }
        });
        (Self(task), registry)
    }
}

impl Drop for FiguresTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// All figures.
#[derive(Default)]
struct Figures {
    connected: Gauge,
    connections: Counter,
    shipped: Counter,
    failures: Counter,
    behind: Gauge,
    age: Gauge<f64, AtomicU64>,
    workers: OfGroup<Gauge>,
    capacity: OfGroup<Gauge>,
    running: OfGroup<Gauge>,
    waiting: OfGroup<Gauge>,
    taken: OfGroup<Gauge>,
    oldest: OfGroup<Gauge<f64, AtomicU64>>,
    redelivered: OfGroup<Gauge>,
    dead: OfGroup<Gauge>,
    /// The groups that were seen.
    groups: Mutex<BTreeSet<String>>,
}

impl Figures {
    fn new(registry: &mut Registry) -> Self {
        let figures = Self::default();
        let help = "Whether NATS can be reached";
        registry.register("nats_connected", help, figures.connected.clone());
        let help = "How often a connection to NATS was made";
        registry.register("nats_connections", help, figures.connections.clone());
        let help = "Lines of the journal that were shipped to the cluster";
        registry.register("records_shipped", help, figures.shipped.clone());
        let help = "How often records could not be shipped and were tried again";
        registry.register("records_ship_failures", help, figures.failures.clone());
        let help = "How much of the journal is still to be shipped";
        let behind = figures.behind.clone();
        registry.register_with_unit("records_unshipped", help, Unit::Bytes, behind);
        let help = "How long ago the figures of groups were looked up, -1 for never";
        let age = figures.age.clone();
        registry.register_with_unit("cluster_figures_age", help, Unit::Seconds, age);
        let help = "Workers that are there, by group";
        registry.register("workers", help, figures.workers.clone());
        let help = "How many calls the workers of a group run at once";
        registry.register("worker_capacity", help, figures.capacity.clone());
        let help = "How many calls the workers of a group run now";
        registry.register("worker_calls_running", help, figures.running.clone());
        let help = "Durable calls that no worker has started, by group";
        registry.register("queue_waiting", help, figures.waiting.clone());
        let help = "Durable calls that are with a worker, or wait for their next attempt";
        registry.register("queue_taken", help, figures.taken.clone());
        let help = "How long the oldest durable call that has not ended is in the queue";
        registry.register_with_unit("queue_oldest", help, Unit::Seconds, figures.oldest.clone());
        let help = "Durable calls in the queue that were given out more than once";
        registry.register("queue_redelivered", help, figures.redelivered.clone());
        let help = "Durable calls that failed: dead letters";
        registry.register("dead_letters", help, figures.dead.clone());
        figures
    }

    /// Updates the figures that this process knows itself.
    fn look_here(&self, cluster: &Cluster, progress: Option<&ShippingProgress>) {
        self.connected.set(i64::from(cluster.is_connected()));
        let connections = *cluster.connections().borrow();
        self.connections.inner().store(connections, Ordering::Relaxed);
        if let Some(progress) = progress {
            self.shipped.inner().store(progress.shipped(), Ordering::Relaxed);
            self.failures.inner().store(progress.failures(), Ordering::Relaxed);
            self.behind.set(i64::try_from(progress.behind()).unwrap_or(i64::MAX));
        }
    }

    /// Updates the figures. Returns `false` if the servers cannot be reached.
    async fn look_there(&self, groups: &Groups) -> bool {
        let Some(present) = groups.totals().filter(|_| groups.cluster().is_connected()) else {
            return false;
        };
        let queues = match timeout(PATIENCE, groups.jobs().figures()).await {
            Ok(Ok(queues)) => queues,
            Ok(Err(error)) => {
                debug!(%error, "the figures of the cluster could not be looked up");
                return false;
            }
            Err(_) => return false,
        };
        self.show(&present, &queues);
        true
    }

    fn show(&self, present: &BTreeMap<Arc<str>, GroupTotals>, queues: &[jobs::QueueFigures]) {
        let mut groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        groups.extend(present.keys().map(|group| group.to_string()));
        // A group without workers is known by its escaped name in subjects.
        let is_known = |queue: &&jobs::QueueFigures| groups.iter().any(|group| queue.is_of(group));
        let unknown = queues.iter().filter(|queue| !is_known(queue));
        let unknown: Vec<_> = unknown.map(|queue| queue.group.clone()).collect();
        groups.extend(unknown);
        // A group whose workers have all left is shown with 0 workers, and is not forgotten.
        for group in &*groups {
            let totals = present.get(group.as_str()).copied().unwrap_or_default();
            let labels = [("group", group.clone())];
            let number = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
            self.workers.get_or_create(&labels).set(number(totals.workers));
            self.capacity.get_or_create(&labels).set(number(totals.capacity));
            self.running.get_or_create(&labels).set(number(totals.running));
            let queue = queues.iter().find(|queue| queue.group == *group || queue.is_of(group));
            let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
            let jobs::QueueFigures { waiting, taken, oldest, redelivered, dead, .. } =
                queue.cloned().unwrap_or_default();
            self.waiting.get_or_create(&labels).set(number(waiting));
            self.taken.get_or_create(&labels).set(number(taken));
            self.oldest.get_or_create(&labels).set(oldest.unwrap_or_default().as_secs_f64());
            self.redelivered.get_or_create(&labels).set(number(redelivered));
            self.dead.get_or_create(&labels).set(number(dead));
        }
    }
}
