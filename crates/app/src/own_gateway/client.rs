//! HTTP over the socket.

use anyhow::{Context, anyhow, bail};
use http::{Method, Request, Response, header};
use http_body_util::{BodyExt, Full};
use hyper::{
    body::{Bytes, Incoming},
    client::conn::http1,
};
use hyper_util::rt::TokioIo;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use switchboard_access::PROFILE_HEADER;
use switchboard_toolcall::sse::{SseEvent, SseParser};
use tokio::net::UnixStream;
use tokio_util::task::AbortOnDropHandle;

use super::{OwnGateway, socket::check_peer};
use crate::terminal::CommandFailed;

/// How large one event may be.
const MOST_EVENT: usize = 64 << 20;

/// An answer; dropping it closes the connection, which cancels what runs for it.
pub(crate) struct Reply {
    response: Response<Incoming>,
    _connection: AbortOnDropHandle<()>,
}

/// The part of a path that stands for `name`.
pub(crate) fn path(name: &str) -> String {
    utf8_percent_encode(name, NON_ALPHANUMERIC).to_string()
}

impl OwnGateway {
    /// Sends a request and returns its answer, whatever the status.
    ///
    /// # Errors
    /// The gateway cannot be reached, or a header cannot be sent.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, String)],
        body: Vec<u8>,
    ) -> anyhow::Result<Reply> {
        let stream = UnixStream::connect(&self.socket).await?;
        check_peer(stream.peer_cred().map(|peer| peer.uid()))?;
        let (mut requests, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // An error of the connection is also returned by the request.
        let connection = tokio::spawn(async move { _ = connection.await });
        let connection = AbortOnDropHandle::new(connection);
        let mut request = Request::builder().method(method).uri(path);
        request = request.header(header::HOST, "localhost");
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let request = request.body(Full::new(Bytes::from(body)))?;
        let response = requests.send_request(request).await?;
        Ok(Reply { response, _connection: connection })
    }

    /// Returns the JSON that a path has.
    ///
    /// # Errors
    /// The gateway cannot be reached, or refuses.
    pub(crate) async fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.get_in(None, path).await
    }

    /// Returns the JSON that a path has in a profile.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub(crate) async fn get_in(&self, profile: Option<&str>, path: &str) -> anyhow::Result<Value> {
        let header = profile.map(|name| (PROFILE_HEADER, name.to_owned()));
        let reply = self.send(Method::GET, path, header.as_slice(), Vec::new()).await?;
        reply.successful().await
    }

    /// Returns the events that a path has, as they come.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub(crate) async fn follow(&self, path: &str) -> anyhow::Result<Events> {
        let reply = self.send(Method::GET, path, &[], Vec::new()).await?;
        match reply.is_events() {
            true => Ok(reply.events()),
            false => Err(match reply.successful().await {
                Ok(_) => anyhow!("the gateway sends no events"),
                Err(refused) => refused,
            }),
        }
    }

    /// As [`get`](Self::get), for what changes something.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub(crate) async fn post(&self, path: &str) -> anyhow::Result<Value> {
        self.send(Method::POST, path, &[], Vec::new()).await?.successful().await
    }
}

impl Reply {
    /// Whether the body is a stream of events.
    pub(crate) fn is_events(&self) -> bool {
        let kind = self.response.headers().get(header::CONTENT_TYPE);
        kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
    }

    /// The whole body.
    ///
    /// # Errors
    /// The connection broke.
    pub(crate) async fn bytes(self) -> anyhow::Result<Bytes> {
        let body = self.response.into_body().collect().await;
        Ok(body.context(CommandFailed("the gateway went away".to_owned()))?.to_bytes())
    }

    /// The body as JSON, unless the status says that it is a refusal.
    ///
    /// # Errors
    /// The gateway refuses, with its words; or the connection broke.
    pub(crate) async fn successful(self) -> anyhow::Result<Value> {
        let status = self.response.status();
        let body = self.bytes().await?;
        let value: Value = serde_json::from_slice(&body).unwrap_or_default();
        if status.is_success() {
            return Ok(value);
        }
        match value["error"].as_str() {
            Some(error) => bail!(CommandFailed(error.to_owned())),
            None => bail!(CommandFailed(format!("the gateway answered with status {status}"))),
        }
    }

    /// The events of the body.
    pub(crate) fn events(self) -> Events {
        Events { reply: self, parser: SseParser::new(MOST_EVENT), ready: Vec::new() }
    }
}

/// Events as they come.
pub(crate) struct Events {
    reply: Reply,
    parser: SseParser,
    ready: Vec<SseEvent>,
}

impl Events {
    /// Returns the next event; `None` at the end.
    ///
    /// # Errors
    /// The connection broke, or an event is too large.
    pub(crate) async fn next(&mut self) -> anyhow::Result<Option<(String, Value)>> {
        loop {
            if !self.ready.is_empty() {
                let event = self.ready.remove(0);
                let value = serde_json::from_slice(&event.data).unwrap_or_default();
                return Ok(Some((event.name, value)));
            }
            let frame = match self.reply.response.body_mut().frame().await {
                None => return Ok(None),
                Some(frame) => frame.context(CommandFailed("the gateway went away".to_owned()))?,
            };
            if let Some(piece) = frame.data_ref() {
                let fed = self.parser.feed(piece, &mut self.ready);
                fed.map_err(|_| anyhow!("the gateway sent an event that is too large"))?;
            }
        }
    }
}
