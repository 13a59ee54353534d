//! Sends batches over HTTP, and logs failures once.

use std::{
    fmt,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use opentelemetry_http::{HttpClient, HttpError};
use reqwest::{Client, ClientBuilder, redirect};
use tokio::runtime::{self, Runtime};

/// How long a receiver has to take a batch.
const ANSWER: Duration = Duration::from_secs(10);
const CONNECT: Duration = Duration::from_secs(3);

/// An HTTP client for threads that no runtime drives, as those of the exporters.
pub(crate) struct Sender {
    /// For messages; without a path, so that it is one for spans and metrics.
    address: String,
    client: OnceLock<Client>,
    runtime: Option<Runtime>,
    /// Whether the last batch was not taken.
    away: AtomicBool,
}

impl Sender {
    pub(crate) fn new(address: String) -> std::io::Result<Self> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let (client, away) = (OnceLock::new(), AtomicBool::new(false));
        Ok(Self { address, client, runtime: Some(runtime), away })
    }

    /// Sends one request. Blocks: must not run on a runtime.
    fn post(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let Some(runtime) = &self.runtime else { return Err("telemetry has ended".into()) };
        let answer = runtime.block_on(self.send(request));
        match &answer {
            Ok(answer) if answer.status().is_success() => self.was_taken(),
            Ok(answer) => self.was_not_taken(&format!("it answered {}", answer.status())),
            Err(error) => self.was_not_taken(&root_of(&**error)),
        }
        answer
    }

    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (head, body) = request.into_parts();
        let request = self.client()?.request(head.method, head.uri.to_string());
        let answer = request.headers(head.headers).body(body).send().await?;
        let mut response = Response::builder().status(answer.status());
        if let Some(headers) = response.headers_mut() {
            headers.clone_from(answer.headers());
        }
        Ok(response.body(answer.bytes().await?)?)
    }

    /// The client, made for the first batch: loading certificates takes longer than starting up should.
    fn client(&self) -> Result<&Client, HttpError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        // The runtime only runs while we send, so that a closed idle connection would go unnoticed.
        let client = client().pool_max_idle_per_host(0).build()?;
        Ok(self.client.get_or_init(|| client))
    }

    fn was_taken(&self) {
        if self.away.swap(false, Ordering::Relaxed) {
            tracing::info!("telemetry reaches {} again", self.address);
        }
    }

    fn was_not_taken(&self, why: &str) {
        if !self.away.swap(true, Ordering::Relaxed) {
            tracing::warn!("telemetry does not reach {}: {why}; retrying", self.address);
        }
    }
}

#[async_trait]
impl HttpClient for Sender {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        self.post(request)
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        // The last owner may be on a runtime, where dropping another runtime panics.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Returns what makes clients for a receiver.
pub(crate) fn client() -> ClientBuilder {
    // Fails if the host has installed a provider already, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .user_agent(concat!("switchboard/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        .timeout(ANSWER)
        // A redirect must not leak the key.
        .redirect(redirect::Policy::none())
}

/// Returns the root cause of an error: the layers above it only say that something failed.
fn root_of(error: &(dyn std::error::Error + 'static)) -> String {
    let mut root = error;
    while let Some(source) = root.source() {
        root = source;
    }
    root.to_string()
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::TcpListener,
        thread,
    };

    use switchboard_testkit::Logs;
    use tracing::Level;

    use super::*;

    /// Answers as many requests as there are statuses.
    fn receiver(listener: TcpListener, statuses: &'static [&'static str]) {
        thread::spawn(move || {
            for status in statuses {
                let (mut stream, _) = listener.accept().unwrap();
                let mut head = [0; 4096];
                _ = stream.read(&mut head).unwrap();
                let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
    }

    #[test]
    fn a_receiver_that_is_away_is_one_warning() {
        let logs = Logs::collect(Level::INFO);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let sender = Sender::new(address.clone()).unwrap();
        let post = || {
            let request = Request::post(format!("{address}/v1/traces"));
            sender.post(request.body(Bytes::from_static(b"spans")).unwrap())
        };
        // Nobody says that a port is free again at once, so the receiver first says no.
        receiver(listener, &["401 Unauthorized", "503 Service Unavailable", "200 OK", "200 OK"]);
        assert_eq!(post().unwrap().status(), 401);
        assert_eq!(post().unwrap().status(), 503);
        assert_eq!(post().unwrap().status(), 200);
        assert_eq!(post().unwrap().status(), 200);
        // The receiver has gone.
        assert!(post().is_err() && post().is_err());
        let lines = logs.lines();
        let about: Vec<_> = lines.iter().filter(|line| line.contains("telemetry")).collect();
        assert_eq!(about.len(), 3, "{lines:#?}");
        assert!(about[0].contains("it answered 401"), "{lines:#?}");
        assert!(about[1].starts_with("INFO") && about[1].contains("again"), "{lines:#?}");
        assert!(about[2].starts_with("WARN") && about[2].contains("refused"), "{lines:#?}");
    }

    #[test]
    fn it_can_be_dropped_on_a_runtime() {
        let runtime = runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async { drop(Sender::new("http://127.0.0.1:1".to_owned()).unwrap()) });
    }
}
