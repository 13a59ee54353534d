//! What can go wrong with the cluster.

use switchboard_toolcall::BoxError;

/// What was tried, and why it did not work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting cannot be used.
    #[error("`cluster.{key}`: {reason}")]
    Setting {
        /// Which.
        key: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A setting of a worker cannot be used.
    #[error("`worker.{key}`: {reason}")]
    Worker {
        /// Which.
        key: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The servers cannot be reached, or do not let us in.
    #[error("NATS at {address} could not be reached")]
    Unreachable {
        /// Where, without secrets.
        address: String,
        /// Why.
        #[source]
        reason: BoxError,
    },
    /// The servers did not do what they were asked for.
    #[error("NATS could not {what}")]
    Refused {
        /// What they were asked for.
        what: String,
        /// Why.
        #[source]
        reason: BoxError,
    },
    /// What came was not signed by a node of this cluster, or not for where it came.
    #[error("{what} is not signed with this cluster's key")]
    Unsigned {
        /// What came.
        what: &'static str,
    },
    /// What came was signed too long ago, or by a clock that is ahead of ours.
    #[error("{what} was signed {seconds} s before or after this moment")]
    Stale {
        /// What came.
        what: &'static str,
        /// How far the clocks, or the moments, are apart.
        seconds: u64,
    },
    /// What came has come before.
    #[error("{what} was sent a second time")]
    Repeated {
        /// What came.
        what: &'static str,
    },
    /// What came is not what we say to each other.
    #[error("{what} is not to be understood")]
    Garbled {
        /// What came.
        what: &'static str,
        /// Why.
        #[source]
        reason: BoxError,
    },
}

impl Error {
    /// The servers did not do `what`.
    pub fn refused(what: impl Into<String>) -> impl FnOnce(BoxError) -> Self {
        let what = what.into();
        move |reason| Self::Refused { what, reason }
    }
}
