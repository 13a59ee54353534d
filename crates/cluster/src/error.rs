//! Errors of the state that gateways share.

use switchboard_access::TokensError;
use switchboard_toolcall::BoxError;

/// An error of the cluster's state.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The cluster cannot be used.
    #[error(transparent)]
    Cluster(#[from] switchboard_workers::Error),
    /// A token cannot be made or revoked.
    #[error(transparent)]
    Token(#[from] TokensError),
    /// An operation of NATS failed.
    #[error("NATS at {address} could not {what}")]
    Refused {
        /// The address, without secrets.
        address: String,
        /// The operation.
        what: &'static str,
        /// The cause.
        #[source]
        reason: BoxError,
    },
    /// NATS has not been reached since we started.
    #[error("NATS at {address} has not been reached yet")]
    NotYet {
        /// The address, without secrets.
        address: String,
    },
    /// NATS cannot be reached at the moment.
    #[error("NATS at {address} is away")]
    Away {
        /// The address, without secrets.
        address: String,
    },
    /// The entries are signed, and we have no key.
    #[error("the entries of this cluster are signed: set its `key` in [cluster]")]
    NoKey,
    /// A token is signed with a key that is not one of ours.
    #[error(
        "token '{0}' is signed with another key than `[cluster] key`: revoke it, and make it again"
    )]
    OtherKey(String),
    /// A stored sign-in does not open.
    #[error("it is sealed with another key than `[cluster] key`, or damaged")]
    Sealed,
    /// Another process has taken the lock of a sign-in over.
    #[error("another process is renewing it")]
    LockLost,
    /// The secret of MCP sessions is derived from the key of the cluster.
    #[error(
        "the secret of MCP sessions is derived from `[cluster] key`: to replace it, replace the key"
    )]
    DerivedSecret,
    /// The secret of MCP sessions was replaced too often in a day.
    #[error("it was rotated too often in a day: wait, or forget the old secrets")]
    RotatedTooOften,
    /// The system has no randomness.
    #[error("the system has no random numbers")]
    Random,
    /// The entry is too large for NATS.
    #[error("it has {size} bytes, and NATS takes {most} at most")]
    TooLarge {
        /// How large it is.
        size: usize,
        /// How large it may be.
        most: usize,
    },
}
