//! Why the gateways of a fleet cannot know something together.

use switchboard_access::TokensError;
use switchboard_toolcall::BoxError;

/// What was tried, and why it did not work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The cluster cannot be used.
    #[error(transparent)]
    Cluster(#[from] switchboard_workers::Error),
    /// A token cannot be made or revoked.
    #[error(transparent)]
    Token(#[from] TokensError),
    /// NATS did not do what it was asked for.
    #[error("NATS at {address} could not {what}")]
    Refused {
        /// Where, without secrets.
        address: String,
        /// What it was asked for.
        what: &'static str,
        /// Why.
        #[source]
        reason: BoxError,
    },
    /// NATS has not been reached since we started.
    #[error("NATS at {address} has not been reached yet")]
    NotYet {
        /// Where, without secrets.
        address: String,
    },
    /// NATS cannot be reached at the moment.
    #[error("NATS at {address} is away")]
    Away {
        /// Where, without secrets.
        address: String,
    },
    /// What lies there is signed, and we cannot sign.
    #[error("the entries of this cluster are signed: set its `key` in [cluster]")]
    NoKey,
    /// A token is signed with a key that is not one of ours.
    #[error(
        "token '{0}' is signed with another key than `[cluster] key`: revoke it, and make it anew"
    )]
    OtherKey(String),
    /// It is too large for NATS.
    #[error("it has {size} bytes, and NATS takes {most} at most")]
    TooLarge {
        /// How large it is.
        size: usize,
        /// How large it may be.
        most: usize,
    },
}
