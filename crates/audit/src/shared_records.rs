//! The trait for the records of all nodes of a cluster, by which a gateway reads them without knowing where they are.

use switchboard_toolcall::{BoxError, BoxFuture, CallId};

use crate::{
    error::Error,
    export::{CallStage, StoreNode},
    filter::Filter,
    reader::{FigureQuery, FigureSums},
    record::{CallDetail, Record},
};

/// The records of all nodes of a cluster.
pub trait SharedRecords: Send + Sync {
    /// Returns the calls that match the filter and pass the test, newest first: at most the filter's `limit`. Words are
    /// searched in names and arguments.
    ///
    /// # Errors
    /// The records cannot be read, or too many would have to be.
    fn list<'a>(
        &'a self,
        filter: &'a Filter,
        passes: RecordTest<'a>,
    ) -> BoxFuture<'a, Result<Vec<Record>, SharedRecordsError>>;

    /// Returns the details of a call; `None` if no node has shipped it.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    fn show(&self, id: CallId) -> BoxFuture<'_, Result<Option<CallDetail>, SharedRecordsError>>;

    /// Returns the sums of the calls that match, over all nodes: each sums its own.
    ///
    /// # Errors
    /// No node can be asked, or a pattern is invalid.
    fn figures<'a>(
        &'a self,
        query: &'a FigureQuery,
    ) -> BoxFuture<'a, Result<SharedFigures, SharedRecordsError>>;

    /// Follows the calls that begin or end from now on.
    ///
    /// # Errors
    /// The records cannot be read.
    fn follow(&self) -> BoxFuture<'_, Result<Box<dyn SharedCallFollower>, SharedRecordsError>>;
}

/// Figures over all nodes.
#[derive(Clone, Debug)]
pub struct SharedFigures {
    /// Of the nodes whose calls are known.
    pub sums: FigureSums,
    /// The nodes that have such calls, or may have.
    pub nodes: Vec<NodeFigures>,
}

/// A node, and where the figures of its calls are from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeFigures {
    /// The node.
    pub node: StoreNode,
    /// Where they are from.
    pub source: FigureSource,
}

/// Where the figures of a node's calls are from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureSource {
    /// The node itself, which has all its calls.
    Node,
    /// The records that it has shipped: it did not answer.
    Shipped,
    /// Nowhere: it did not answer, and has shipped more than may be read. Its calls are not in the sums.
    Missing,
}

/// Why the records of all nodes could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SharedRecordsError {
    /// So many would have to be read that it is refused.
    #[error("{0}")]
    TooMany(BoxError),
    /// A pattern of the filter is invalid.
    #[error(transparent)]
    Filter(#[from] Error),
    /// They are out of reach.
    #[error("the records of the cluster cannot be read")]
    Unavailable(#[source] BoxError),
}

/// Decides which records are returned.
pub type RecordTest<'a> = &'a (dyn Fn(&Record) -> bool + Send + Sync);

/// Follows the calls of all nodes.
pub trait SharedCallFollower: Send {
    /// Waits for the next call that begins or ends on any node.
    ///
    /// # Cancel safety
    /// Nothing is lost: a call that was not returned is returned next time.
    fn next(&mut self) -> BoxFuture<'_, (CallStage, CallDetail)>;
}
