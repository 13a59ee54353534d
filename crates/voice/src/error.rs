//! What can go wrong between a sound and its words.

use std::path::PathBuf;

use switchboard_mqtt::{BrokerAddressError, PrefixError, TrustError};
use switchboard_toolcall::BoxError;

/// Why a speech service gave no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
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

/// Why voice cannot start, or why one of its parts cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The broker's address cannot be used.
    #[error(transparent)]
    Broker(#[from] BrokerAddressError),
    /// Whom to trust cannot be found out.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// No topic can begin with the prefix.
    #[error(transparent)]
    Prefix(#[from] PrefixError),
    /// Nobody could ever ask anything.
    #[error(
        "there is nothing to listen to; name an MQTT broker (--mqtt URL) or a source of sound (--source mic)"
    )]
    NothingToDo,
    /// Something is to come or go over MQTT, and there is no broker.
    #[error("{what} over MQTT needs a broker; name one with --mqtt URL")]
    NoBroker {
        /// What is to come or go.
        what: &'static str,
    },
    /// A sound file cannot be used.
    #[error("failed to {what} `{}`", file.display())]
    File {
        /// What was tried, as a verb phrase.
        what: &'static str,
        /// The file.
        file: PathBuf,
        /// The cause.
        source: hound::Error,
    },
    /// A sound that is no WAV, or one that we do not know.
    #[error("the sound is no WAV that can be read")]
    Wav(#[from] hound::Error),
    /// A source or an output does not work.
    #[error("{part} does not work: {reason}")]
    Device {
        /// Which one.
        part: String,
        /// Why, and what to do.
        reason: String,
    },
}

impl Error {
    /// A part that does not work.
    pub(crate) fn device(part: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Device { part: part.into(), reason: reason.into() }
    }
}

/// An error with its causes, on one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| {
        let cause = cause.to_string();
        // Some libraries tell their cause themselves.
        if text.contains(&cause) { text } else { format!("{text}: {cause}") }
    })
}
