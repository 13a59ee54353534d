//! Our side of the tests.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::value::RawValue;
use switchboard_mcp_client::{
    Failure, HttpConfig, HttpTransport, Inbox, Transport, TransportRequest,
};
use switchboard_mcp_wire::{Era, IncomingMessage};
use tokio::time::sleep;

use super::server::Server;

/// Keeps what the server said, in its order.
#[derive(Default)]
pub(crate) struct RecordingInbox(Mutex<Vec<String>>);

impl Inbox for RecordingInbox {
    fn take(&self, message: IncomingMessage) {
        let params = |params: Option<Box<RawValue>>| {
            params.map_or(String::new(), |raw| raw.get().to_owned())
        };
        let text = match message {
            IncomingMessage::Notification { method, params: raw } => {
                format!("{method} {}", params(raw))
            }
            IncomingMessage::Request { id, method, params: raw } => {
                format!("{id}: {method} {}", params(raw))
            }
            IncomingMessage::Response { .. } => panic!("an answer came to the inbox"),
        };
        self.0.lock().unwrap().push(text);
    }
}

impl RecordingInbox {
    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    /// Waits until so many messages have come.
    pub(crate) async fn wait_for(&self, count: usize) -> Vec<String> {
        for _ in 0..500 {
            if self.all().len() >= count {
                break;
            }
            sleep(Duration::from_millis(10)).await;
        }
        self.all()
    }
}

pub(crate) fn config(url: &str) -> HttpConfig {
    HttpConfig { url: url.to_owned(), ..HttpConfig::default() }
}

/// A client of the server, in this era if one was agreed on.
pub(crate) fn client(
    server: &Server,
    era: Option<Era>,
) -> (Arc<HttpTransport>, Arc<RecordingInbox>) {
    let heard = Arc::new(RecordingInbox::default());
    let client = HttpTransport::new("docs", &config(&server.url), heard.clone()).unwrap();
    era.into_iter().for_each(|era| client.set_era(era));
    (client, heard)
}

pub(crate) fn legacy() -> Era {
    Era::Legacy("2025-11-25".to_owned())
}

/// A client with session `s1`, whose listening stream the server refuses.
pub(crate) async fn with_session(server: &mut Server) -> (Arc<HttpTransport>, Arc<RecordingInbox>) {
    let (client, heard) = client(server, None);
    open_session(server, &client).await;
    server.next().await.answer("405 Method Not Allowed", "", "").await;
    (client, heard)
}

/// Opens session `s1`, up to `notifications/initialized`.
pub(crate) async fn open_session(server: &mut Server, client: &HttpTransport) {
    let serve = async {
        let head = "content-type: application/json\r\nmcp-session-id: s1\r\n";
        server.next().await.answer("200 OK", head, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).await;
    };
    let (result, ()) = tokio::join!(client.request(initialize(1)), serve);
    assert_eq!(result.unwrap().get(), "{}");
    client.set_era(legacy());
    let (told, ()) = tokio::join!(client.notify("notifications/initialized", None), async {
        server.next().await.accept().await;
    });
    told.unwrap();
}

pub(crate) fn initialize(id: u64) -> TransportRequest<'static> {
    TransportRequest::new(id, "initialize", None)
}

pub(crate) fn call(id: u64) -> TransportRequest<'static> {
    TransportRequest::new(id, "tools/call", None)
}

/// What a request came to, in a line.
pub(crate) fn told(outcome: Result<Box<RawValue>, Failure>) -> String {
    match outcome {
        Ok(result) => result.get().to_owned(),
        Err(Failure::Rpc(error)) => format!("Rpc {} {}", error.code, error.message),
        Err(Failure::Lost(why)) => format!("Lost {why}"),
        Err(Failure::SessionExpired) => "SessionExpired".to_owned(),
        Err(Failure::Http { status, body, error }) => {
            let error =
                error.map_or(String::new(), |error| format!(" [{} {}]", error.code, error.message));
            format!("Http {status}{error} {body}")
        }
        Err(Failure::SignIn(needed)) => format!("SignIn {needed}"),
        Err(Failure::NoToken(reason)) => format!("NoToken {reason}"),
        Err(Failure::Protocol(problem)) => format!("Protocol {problem}"),
        Err(other) => format!("{other:?}"),
    }
}
