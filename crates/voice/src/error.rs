//! Errors of the voice pipeline.

use std::path::PathBuf;

use switchboard_mqtt::{BrokerAddressError, PrefixError, TrustError};
use switchboard_toolcall::BoxError;

/// Why a speech service failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpeechError {
    /// The address in the settings cannot be used.
    #[error("'{address}' is not an address of a speech service: {reason}")]
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
    /// The service sent an invalid or an error response.
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
    /// The CA certificates cannot be used.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// No topic can begin with the prefix.
    #[error(transparent)]
    Prefix(#[from] PrefixError),
    /// There is neither speech nor MQTT to receive requests from.
    #[error(
        "there is nothing to listen to; name an MQTT broker (--mqtt URL) or a source of sound (--source mic)"
    )]
    NothingToDo,
    /// MQTT is used as a source or an output, but there is no broker.
    #[error("{what} over MQTT needs a broker; name one with --mqtt URL")]
    NoBroker {
        /// What needs the broker.
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
    /// The sound is not a WAV, or of an unsupported kind.
    #[error("the sound is not a WAV file that can be read")]
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
        // Some libraries include their cause in the message.
        if text.contains(&cause) { text } else { format!("{text}: {cause}") }
    })
}
