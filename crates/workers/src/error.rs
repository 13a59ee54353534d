//! Errors of the cluster.

use switchboard_toolcall::BoxError;

/// An error of the cluster.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting is invalid.
    #[error("`cluster.{key}`: {reason}")]
    Setting {
        /// The setting.
        key: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A setting of a worker is invalid.
    #[error("`worker.{key}`: {reason}")]
    Worker {
        /// The setting.
        key: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The servers cannot be reached, or reject us.
    #[error("NATS at {address} could not be reached")]
    Unreachable {
        /// Their addresses, without secrets.
        address: String,
        /// Why.
        #[source]
        reason: BoxError,
    },
    /// An operation at the servers failed.
    #[error("NATS could not {what}")]
    Refused {
        /// The operation.
        what: String,
        /// Why.
        #[source]
        reason: BoxError,
    },
    /// This node divides queued calls into another number of partitions than the cluster does.
    #[error(
        "`cluster.jobs.partitions` is {config} here and {cluster} in the cluster, and has to be the same on all nodes; to change it, let \
         the queue run empty, stop all nodes, delete the stream `{stream}`, and start them with the new number"
    )]
    Partitions {
        /// The number in the config.
        config: u32,
        /// The number in the cluster.
        cluster: u32,
        /// The stream that says so.
        stream: String,
    },
    /// A question would have to read more records than it may.
    #[error(
        "more than {most} records would have to be read: ask for a shorter time, or for fewer calls"
    )]
    TooManyRecords {
        /// How many it may read.
        most: u64,
    },
    /// The queue has as many calls of a tool as it may have.
    #[error("too many calls of this tool are queued")]
    QueueFull,
    /// A message was not signed by a node of this cluster, or was signed for another subject.
    #[error("{what} is not signed with this cluster's key")]
    Unsigned {
        /// The kind of message.
        what: &'static str,
    },
    /// A message was signed too long ago, or by a clock that is ahead of ours.
    #[error("{what} was signed {seconds} s before or after this moment")]
    Stale {
        /// The kind of message.
        what: &'static str,
        /// How far the clocks, or the times, are apart.
        seconds: u64,
    },
    /// A message was received before.
    #[error("{what} was sent a second time")]
    Repeated {
        /// The kind of message.
        what: &'static str,
    },
    /// A message cannot be parsed.
    #[error("{what} cannot be parsed")]
    Garbled {
        /// The kind of message.
        what: &'static str,
        /// Why.
        #[source]
        reason: BoxError,
    },
}

impl Error {
    /// Returns a function that makes the error of a failed operation.
    pub fn refused(what: impl Into<String>) -> impl FnOnce(BoxError) -> Self {
        let what = what.into();
        move |reason| Self::Refused { what, reason }
    }
}
