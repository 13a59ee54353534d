//! A connection to a service: in time, and with failures in words.

use std::sync::Arc;

use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    net::TcpStream,
    time::timeout,
};

use super::{
    Place, Service,
    event::{Event, Fault},
};
use crate::SpeechError;

/// How much of what a service says about its trouble is shown.
const SHOWN: usize = 300;

type Half<T> = Box<T>;

/// What we hear from a service.
pub(super) struct Hearing {
    service: Arc<str>,
    stream: BufReader<Half<dyn AsyncRead + Send + Unpin>>,
}

/// What we tell a service.
pub(super) struct Telling {
    service: Arc<str>,
    stream: Half<dyn AsyncWrite + Send + Unpin>,
}

/// Connects, within the service's `connect_timeout`.
///
/// # Errors
/// Nobody is there, or takes too long.
pub(super) async fn connect(service: &Service) -> Result<(Hearing, Telling), SpeechError> {
    let unreachable = |source: switchboard_toolcall::BoxError| SpeechError::Unreachable {
        service: service.name.to_string(),
        source,
    };
    let limit = service.connect_timeout;
    let connected = timeout(limit, open(&service.place)).await;
    let (reader, writer) = connected
        .map_err(|_| unreachable(format!("no connection within {} s", limit.as_secs_f32()).into()))?
        .map_err(|error| unreachable(error.into()))?;
    let hearing = Hearing { service: service.name.clone(), stream: BufReader::new(reader) };
    Ok((hearing, Telling { service: service.name.clone(), stream: writer }))
}

type Halves = (Half<dyn AsyncRead + Send + Unpin>, Half<dyn AsyncWrite + Send + Unpin>);

async fn open(place: &Place) -> std::io::Result<Halves> {
    Ok(match place {
        Place::Tcp(host, port) => {
            let stream = TcpStream::connect((host.as_str(), *port)).await?;
            // Events are small and each of them is waited for.
            stream.set_nodelay(true)?;
            let (reader, writer) = stream.into_split();
            (Box::new(reader), Box::new(writer))
        }
        #[cfg(unix)]
        Place::Unix(path) => {
            let (reader, writer) = tokio::net::UnixStream::connect(path).await?.into_split();
            (Box::new(reader), Box::new(writer))
        }
        #[cfg(not(unix))]
        Place::Unix(_) => return Err(std::io::ErrorKind::Unsupported.into()),
    })
}

impl Hearing {
    /// The next event; an event that tells of trouble is an error. Not cancel safe.
    pub(super) async fn next(&mut self) -> Result<Event, SpeechError> {
        let event = match Event::read(&mut self.stream).await {
            Ok(event) => event,
            Err(Fault::Nonsense(reason)) => return Err(refused(&self.service, reason)),
            Err(Fault::Closed) => {
                return Err(refused(&self.service, "closed the connection before it had answered"));
            }
            Err(Fault::Broken(error)) => return Err(broken(&self.service, error)),
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

    /// The next event of one of these kinds. Others, which newer services may send, are passed over.
    pub(super) async fn next_of(&mut self, kinds: &[&str]) -> Result<Event, SpeechError> {
        loop {
            let event = self.next().await?;
            if kinds.contains(&event.kind.as_str()) {
                return Ok(event);
            }
        }
    }
}

impl Telling {
    /// Tells one thing.
    pub(super) async fn tell(&mut self, event: Event) -> Result<(), SpeechError> {
        let told = async {
            event.write(&mut self.stream).await?;
            self.stream.flush().await
        };
        told.await.map_err(|error| broken(&self.service, error))
    }
}

/// The error of a service that did something wrong: a verb phrase.
pub(super) fn refused(service: &str, reason: impl Into<String>) -> SpeechError {
    SpeechError::Refused { service: service.to_owned(), reason: reason.into() }
}

/// The error of a service that says nothing any more.
pub(super) fn silent(service: &Service) -> SpeechError {
    refused(&service.name, format!("did not answer within {} s", service.timeout.as_secs_f32()))
}

fn broken(service: &str, error: std::io::Error) -> SpeechError {
    refused(service, format!("broke the connection: {error}"))
}
