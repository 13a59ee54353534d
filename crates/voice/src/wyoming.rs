//! Wyoming, the protocol that Home Assistant's speech services speak over TCP.
//!
//! An event is a line of JSON, then as much data (JSON as well) and payload (samples) as the line says. A connection carries one
//! request: a transcription, a text to speak, or a wake word detection. `event.rs` has the format, `connection.rs` timeouts and
//! errors, and each of the others one kind of service.

mod event;
mod connection;
mod recogniser;
mod synthesiser;
mod wake_word;

use std::{sync::Arc, time::Duration};

pub(crate) use recogniser::WyomingRecogniser;
pub(crate) use synthesiser::WyomingSynthesiser;
pub(crate) use wake_word::WyomingWakeWord;

/// Where a service listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WyomingAddress {
    /// A host and a port.
    Tcp(String, u16),
    /// A socket in the file system.
    Unix(String),
}

/// A service and how long it may take.
#[derive(Clone, Debug)]
pub(crate) struct WyomingService {
    /// For people: `Wyoming tcp://127.0.0.1:10300`.
    pub(crate) name: Arc<str>,
    pub(crate) place: WyomingAddress,
    pub(crate) connect_timeout: Duration,
    pub(crate) timeout: Duration,
}

#[cfg(test)]
mod scripted;
#[cfg(test)]
mod tests;
