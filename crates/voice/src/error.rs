//! What can go wrong between a sound and its words.

use switchboard_toolcall::BoxError;

/// Why a speech service gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum SpeechError {
    /// The address in the settings cannot be used.
    #[error("'{address}' is no address of a speech service: {reason}")]
    Address {
        /// The address as it was given.
        address: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The service could not be reached.
    #[error("{service} could not be reached")]
    Unreachable {
        /// The service with its address.
        service: String,
        /// The cause.
        source: BoxError,
    },
    /// The service answered, but not as it should.
    #[error("{service} {reason}")]
    Refused {
        /// The service with its address.
        service: String,
        /// What it did, as a verb phrase: `answered 404: no such model`.
        reason: String,
    },
}
