//! HTTP+SSE of 2024-11-05: one stream carries all messages of the server, POSTs carry ours.
//!
//! The stream's first event names the address for the POSTs. When the stream ends, so does the connection.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use http::{HeaderValue, Method, Uri, header};
use serde_json::value::RawValue;
use switchboard_mcp_wire::{Outgoing, RpcError};
use switchboard_toolcall::{BoxFuture, sse};
use tokio::{sync::OnceCell, time::timeout};
use tokio_util::task::AbortOnDropHandle;

use super::{
    http::{
        HttpConfig, HttpConfigError,
        answer::{self, BodyKind, shortened},
        engine::Engine,
        request_headers,
        stream::ResponseEvents,
    },
    transport::{Failure, SharedInbox, Transport, TransportRequest},
};

mod connection;

use connection::{PendingResponse, SseConnection};

/// A server behind the old HTTP+SSE.
pub struct OldSseTransport {
    connection: Arc<SseConnection>,
    /// Where POSTs go; set once the stream is open.
    endpoint: OnceCell<Uri>,
    reader: Mutex<Option<AbortOnDropHandle<()>>>,
    patience: Duration,
}

impl OldSseTransport {
    /// Creates a transport for the server `name`. Opens no connection before the first request.
    ///
    /// # Errors
    /// Fails if the settings are invalid.
    pub fn new(
        name: &str,
        config: &HttpConfig,
        inbox: SharedInbox,
    ) -> Result<Arc<Self>, HttpConfigError> {
        let url = config.url()?;
        let headers = request_headers::configured(
            &url,
            &config.headers,
            "application/json, text/event-stream",
        )?;
        let engine = Engine::new(url, &config.proxies, config.connect_timeout)?
            .signed_in(config.authorizer.clone());
        let connection = SseConnection::new(name, engine, headers, inbox, config.max_message);
        Ok(Arc::new(Self {
            connection: Arc::new(connection),
            endpoint: OnceCell::new(),
            reader: Mutex::default(),
            patience: config.connect_timeout,
        }))
    }

    async fn endpoint(&self) -> Result<&Uri, Failure> {
        self.endpoint.get_or_try_init(|| self.connect()).await
    }

    /// Opens the stream, and waits for its first event, which names the endpoint.
    async fn connect(&self) -> Result<Uri, Failure> {
        let connecting = async {
            let mut events = self.open().await?;
            let endpoint = self.first_event(&mut events).await?;
            Ok((events, endpoint))
        };
        let (events, endpoint) = timeout(self.patience, connecting).await.unwrap_or_else(|_| {
            let text =
                format!("the server named no endpoint within {} s", self.patience.as_secs_f32());
            Err(Failure::Lost(text))
        })?;
        let connection = self.connection.clone();
        let reader = tokio::spawn(async move { connection.follow(events).await });
        *self.reader.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(AbortOnDropHandle::new(reader));
        Ok(endpoint)
    }

    async fn open(&self) -> Result<ResponseEvents, Failure> {
        let connection = &*self.connection;
        let mut headers = connection.headers.clone();
        headers.remove(header::CONTENT_TYPE);
        headers.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
        let uri = connection.engine.uri();
        let response =
            connection.engine.send(Method::GET, uri, &headers, &[], bytes::Bytes::new()).await?;
        if !response.status().is_success() {
            return Err(answer::refused(response, None).await);
        }
        if answer::kind(&response) != BodyKind::Events {
            return Err(Failure::Protocol("the server offers no event stream".to_owned()));
        }
        Ok(ResponseEvents::new(response, sse::SseParser::new(connection.max_message)))
    }

    async fn first_event(&self, events: &mut ResponseEvents) -> Result<Uri, Failure> {
        while let Some(event) = events.next().await? {
            if event.name != "endpoint" {
                continue;
            }
            let reference = String::from_utf8_lossy(&event.data);
            return self.connection.engine.resolve(reference.trim()).ok_or_else(|| {
                let named = shortened(&event.data);
                Failure::Protocol(format!("the server's endpoint is not its own: {named}"))
            });
        }
        Err(Failure::Lost("the stream ended before it named an endpoint".to_owned()))
    }

    async fn ask(&self, request: TransportRequest<'_>) -> Result<Box<RawValue>, Failure> {
        let endpoint = self.endpoint().await?;
        let (mut waiting, mut answer) = PendingResponse::new(&self.connection, endpoint, &request)?;
        let posting = self.connection.post(endpoint, request.message, Some(request.id));
        let answered = tokio::select! {
            biased;
            // The response may arrive on the stream before the POST has ended.
            answered = &mut answer => answered,
            posted = posting => {
                if let Err(failure) = posted {
                    waiting.end();
                    return Err(failure);
                }
                answer.await
            }
        };
        waiting.end();
        self.connection.outcome(answered)
    }

    async fn tell(&self, body: Vec<u8>) -> Result<(), Failure> {
        self.connection.still_there()?;
        let endpoint = self.endpoint().await?;
        self.connection.post(endpoint, body.into(), None).await
    }
}

impl Transport for OldSseTransport {
    fn request<'a>(
        &'a self,
        request: TransportRequest<'a>,
    ) -> BoxFuture<'a, Result<Box<RawValue>, Failure>> {
        Box::pin(self.ask(request))
    }

    fn notify<'a>(
        &'a self,
        method: &'a str,
        params: Option<&'a RawValue>,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(self.tell(Outgoing::notification(method, params).to_bytes()))
    }

    fn respond<'a>(
        &'a self,
        id: &'a RawValue,
        outcome: Result<Box<RawValue>, RpcError>,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(self.tell(Outgoing::response(id, &outcome).to_bytes()))
    }

    fn lost(&self) -> BoxFuture<'_, String> {
        Box::pin(self.connection.lost())
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.connection.end("the connection was closed");
            let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(reader) = reader {
                reader.abort();
                // Aborted or finished, the reader has ended, and the stream with it.
                let _ = reader.await;
            }
        })
    }
}
