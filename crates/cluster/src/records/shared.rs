//! The records of all nodes, as a gateway shows them to its callers.

use std::sync::Arc;

use switchboard_audit::{
    CallDetail, CallStage, FigureQuery, Filter, Record, RecordTest, SharedCallFollower,
    SharedFigures, SharedRecords, SharedRecordsError,
};
use switchboard_toolcall::{BoxFuture, CallId};
use switchboard_workers::{Cluster, Error};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::{follow::ClusterFollower, list::Records};

/// How many messages a question may read: a caller must not keep a gateway busy for minutes.
const MOST_READ: u64 = 200_000;
/// How many questions are answered at once.
const AT_ONCE: usize = 2;

/// The records of all nodes for the callers of a gateway: no question reads without end, and few read at once.
pub struct CallerRecords {
    records: Records,
    cluster: Cluster,
    turns: Arc<Semaphore>,
}

impl CallerRecords {
    /// Creates the records of a cluster.
    pub fn new(cluster: &Cluster) -> Self {
        Self {
            records: Records::new(cluster.clone()).reading_at_most(MOST_READ),
            cluster: cluster.clone(),
            turns: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }

    async fn turn(&self) -> Result<SemaphorePermit<'_>, SharedRecordsError> {
        if !self.cluster.is_connected() {
            let away = format!("NATS at {} is away", self.cluster.address());
            return Err(SharedRecordsError::Unavailable(away.into()));
        }
        let turn = self.turns.acquire().await;
        turn.map_err(|closed| SharedRecordsError::Unavailable(closed.into()))
    }
}

fn failed(error: Error) -> SharedRecordsError {
    match error {
        Error::TooManyRecords { .. } => SharedRecordsError::TooMany(error.into()),
        other => SharedRecordsError::Unavailable(other.into()),
    }
}

impl SharedRecords for CallerRecords {
    fn list<'a>(
        &'a self,
        filter: &'a Filter,
        passes: RecordTest<'a>,
    ) -> BoxFuture<'a, Result<Vec<Record>, SharedRecordsError>> {
        Box::pin(async move {
            let matches = filter.matcher()?;
            let passes = |record: &Record| matches(record) && passes(record);
            let _turn = self.turn().await?;
            self.records.list(filter, &passes, |_| {}).await.map_err(failed)
        })
    }

    fn show(&self, id: CallId) -> BoxFuture<'_, Result<Option<CallDetail>, SharedRecordsError>> {
        Box::pin(async move {
            let _turn = self.turn().await?;
            let found = self.records.show(&id.to_string(), 1).await.map_err(failed)?;
            Ok(found.into_iter().next())
        })
    }

    fn figures<'a>(
        &'a self,
        query: &'a FigureQuery,
    ) -> BoxFuture<'a, Result<SharedFigures, SharedRecordsError>> {
        Box::pin(async move {
            let passes = query.filter().matcher()?;
            let _turn = self.turn().await?;
            self.records.figures(query, &passes, |_| {}).await.map_err(failed)
        })
    }

    fn follow(&self) -> BoxFuture<'_, Result<Box<dyn SharedCallFollower>, SharedRecordsError>> {
        Box::pin(async move {
            let follower = ClusterFollower::new(self.cluster.clone(), &CallStage::ALL);
            let follower = follower.await.map_err(failed)?;
            Ok(Box::new(follower) as Box<dyn SharedCallFollower>)
        })
    }
}

impl SharedCallFollower for ClusterFollower {
    fn next(&mut self) -> BoxFuture<'_, (CallStage, CallDetail)> {
        Box::pin(self.next_update())
    }
}
