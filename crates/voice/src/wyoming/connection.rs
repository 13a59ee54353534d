//! A connection to a service, with timeouts and readable errors.

use std::sync::Arc;

use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    net::TcpStream,
    time::timeout,
};

use super::{
    WyomingAddress, WyomingService,
    event::{WyomingError, WyomingEvent},
};
use crate::SpeechError;

/// How much of a service's error message is shown.
const SHOWN: usize = 300;

type Half<T> = Box<T>;

/// What we receive from a service.
pub(super) struct EventReader {
    service: Arc<str>,
    stream: BufReader<Half<dyn AsyncRead + Send + Unpin>>,
}

/// What we send to a service.
pub(super) struct EventWriter {
    service: Arc<str>,
    stream: Half<dyn AsyncWrite + Send + Unpin>,
}

/// Connects, within the service's `connect_timeout`.
///
/// # Errors
/// The service is not there, or takes too long.
pub(super) async fn connect(
    service: &WyomingService,
) -> Result<(EventReader, EventWriter), SpeechError> {
    let unreachable = |source: switchboard_toolcall::BoxError| SpeechError::Unreachable {
        service: service.name.to_string(),
        source,
    };
    let limit = service.connect_timeout;
    let connected = timeout(limit, open(&service.place)).await;
    let (reader, writer) = connected
        .map_err(|_| unreachable(format!("no connection within {} s", limit.as_secs_f32()).into()))?
        .map_err(|error| unreachable(error.into()))?;
    let reader = EventReader { service: service.name.clone(), stream: BufReader::new(reader) };
    Ok((reader, EventWriter { service: service.name.clone(), stream: writer }))
}

type Halves = (Half<dyn AsyncRead + Send + Unpin>, Half<dyn AsyncWrite + Send + Unpin>);

async fn open(place: &WyomingAddress) -> std::io::Result<Halves> {
    Ok(match place {
        WyomingAddress::Tcp(host, port) => {
            let stream = TcpStream::connect((host.as_str(), *port)).await?;
            // Events are small and each of them is waited for.
            stream.set_nodelay(true)?;
            let (reader, writer) = stream.into_split();
            (Box::new(reader), Box::new(writer))
        }
        #[cfg(unix)]
        WyomingAddress::Unix(path) => {
            let (reader, writer) = tokio::net::UnixStream::connect(path).await?.into_split();
            (Box::new(reader), Box::new(writer))
        }
        #[cfg(not(unix))]
        WyomingAddress::Unix(_) => return Err(std::io::ErrorKind::Unsupported.into()),
    })
}

impl EventReader {
    /// Returns the next event; an error event is an error. Not cancel safe.
    pub(super) async fn next(&mut self) -> Result<WyomingEvent, SpeechError> {
        let event = match WyomingEvent::read(&mut self.stream).await {
            Ok(event) => event,
            Err(WyomingError::Nonsense(reason)) => return Err(refused(&self.service, reason)),
            Err(WyomingError::Closed) => {
                return Err(refused(&self.service, "closed the connection before it had answered"));
            }
            Err(WyomingError::Broken(error)) => return Err(broken(&self.service, error)),
        };
        if event.kind != "error" {
            return Ok(event);
        }
        // Piper's text for a voice that it does not have is only the voice; its code says the rest.
        let said = match (event.text("text"), event.text("code")) {
            (Some(text), Some(code)) => format!("{text} ({code})"),
            (text, code) => text.or(code).unwrap_or("no reason given").to_owned(),
        };
        let said: String = said.chars().take(SHOWN).collect();
        Err(refused(&self.service, format!("answered with an error: {said}")))
    }

    /// Returns the next event of one of these kinds. Others, which newer services may send, are skipped.
    pub(super) async fn next_of(&mut self, kinds: &[&str]) -> Result<WyomingEvent, SpeechError> {
        loop {
            let event = self.next().await?;
            if kinds.contains(&event.kind.as_str()) {
                return Ok(event);
            }
        }
    }
}

impl EventWriter {
    /// Sends one event.
    pub(super) async fn send(&mut self, event: WyomingEvent) -> Result<(), SpeechError> {
        let sent = async {
            event.write(&mut self.stream).await?;
            self.stream.flush().await
        };
        sent.await.map_err(|error| broken(&self.service, error))
    }
}

/// Creates the error of a service that sent something invalid: `reason` is a verb phrase.
pub(super) fn refused(service: &str, reason: impl Into<String>) -> SpeechError {
    SpeechError::Refused { service: service.to_owned(), reason: reason.into() }
}

/// Creates the error of a service that timed out.
pub(super) fn silent(service: &WyomingService) -> SpeechError {
    refused(&service.name, format!("did not answer within {} s", service.timeout.as_secs_f32()))
}

fn broken(service: &str, error: std::io::Error) -> SpeechError {
    refused(service, format!("broke the connection: {error}"))
}
