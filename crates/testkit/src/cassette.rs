//! What a real endpoint said, kept in a file and said again.
//!
//! [`Cassette::record`] stands between a client and an endpoint and writes down each exchange; [`Cassette::replay`] answers
//! from that file, byte for byte and in the same pieces. Keys never reach the disk: headers of requests are not kept at
//! all, and what is known or looks like a key is masked everywhere else (`scrub.rs`).

mod scrub;
mod record;
mod replay;
mod difference;

use std::{
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::{net::TcpListener, task::AbortHandle};

pub use scrub::Scrub;

/// A server on this machine that records or replays; stopped when dropped.
#[derive(Debug)]
pub struct Cassette {
    address: SocketAddr,
    state: Arc<Mutex<CassetteState>>,
    task: AbortHandle,
}

/// Why a cassette cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CassetteError {
    /// The file cannot be read.
    #[error("failed to read cassette `{}`", .0.display())]
    Read(PathBuf, #[source] io::Error),
    /// The file is something else.
    #[error("`{}` is not a cassette", .0.display())]
    Parse(PathBuf, #[source] serde_json::Error),
    /// There is no port to listen on, or no way out.
    #[error("failed to start the cassette's server")]
    Start(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// A question and its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedExchange {
    /// What was asked.
    pub request: RecordedRequest,
    /// What was answered.
    pub response: RecordedResponse,
}

/// What was asked; its headers are not kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedRequest {
    /// Such as `POST`.
    pub method: String,
    /// The path and what follows it.
    pub path: String,
    /// The body; text if it is not JSON.
    pub body: Value,
}

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedResponse {
    /// The status.
    pub status: u16,
    /// The headers that are about the answer and not about the connection.
    pub headers: Vec<(String, String)>,
    /// The body in the pieces in which it came.
    pub chunks: Vec<Chunk>,
    /// Whether the connection ended before the body did.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// A piece of a body. Text if possible, so that people can read it; a piece can end in the middle of a character.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Chunk {
    /// Text.
    Text(String),
    /// Anything else.
    Bytes {
        /// The bytes in base64.
        base64: String,
    },
}

impl Chunk {
    fn new(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Bytes { base64: BASE64_STANDARD.encode(bytes) },
        }
    }

    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Text(text) => text.clone().into_bytes(),
            Self::Bytes { base64 } => BASE64_STANDARD.decode(base64).unwrap_or_default(),
        }
    }
}

/// The content of a cassette file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct CassetteFile {
    exchanges: Vec<RecordedExchange>,
}

impl CassetteFile {
    fn read(path: &Path) -> Result<Self, CassetteError> {
        let text = fs::read_to_string(path)
            .map_err(|error| CassetteError::Read(path.to_owned(), error))?;
        serde_json::from_str(&text).map_err(|error| CassetteError::Parse(path.to_owned(), error))
    }

    fn write(&self, path: &Path) -> io::Result<()> {
        fs::write(path, serde_json::to_string_pretty(self)? + "\n")
    }
}

#[derive(Debug, Default)]
struct CassetteState {
    /// In the order in which they were asked; `None` if the answer has not ended, or was played.
    exchanges: Vec<Option<RecordedExchange>>,
    mismatches: Vec<String>,
    /// Recording: how many exchanges are under way.
    open: usize,
}

impl Cassette {
    /// Stands before the endpoint at `upstream` and keeps every exchange in `file`, keys masked.
    ///
    /// # Errors
    /// There is no free port.
    pub async fn record(
        upstream: &str,
        file: impl Into<PathBuf>,
        scrub: Scrub,
    ) -> Result<Self, CassetteError> {
        let state = Arc::<Mutex<CassetteState>>::default();
        let recorder = record::RecordingProxy::new(upstream, file.into(), scrub, state.clone())?;
        Self::serve(state, recorder).await
    }

    /// Answers from `file`: a request gets the first answer to one like it that was not given yet. `scrub` is what it
    /// was when the file was recorded.
    ///
    /// # Errors
    /// The file is not there or no cassette, or there is no free port.
    pub async fn replay(file: impl Into<PathBuf>, scrub: Scrub) -> Result<Self, CassetteError> {
        let path = file.into();
        let exchanges = CassetteFile::read(&path)?.exchanges.into_iter().map(Some).collect();
        let state = Arc::new(Mutex::new(CassetteState { exchanges, ..CassetteState::default() }));
        let player = replay::CassettePlayer::new(path, scrub, state.clone());
        Self::serve(state, player).await
    }

    /// The root: `http://127.0.0.1:port`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Recording: what was exchanged so far. Replaying: what was not asked for yet.
    pub fn exchanges(&self) -> Vec<RecordedExchange> {
        lock(&self.state).exchanges.iter().flatten().cloned().collect()
    }

    /// Recording: waits until every exchange that has begun is kept. A client that has read the last message of a stream
    /// does not wait for the end of its body.
    pub async fn settled(&self) -> Vec<RecordedExchange> {
        while lock(&self.state).open > 0 {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        self.exchanges()
    }

    /// Replaying: how requests differed from what was recorded.
    pub fn mismatches(&self) -> Vec<String> {
        lock(&self.state).mismatches.clone()
    }

    async fn serve(
        state: Arc<Mutex<CassetteState>>,
        answerer: impl RecordedAnswers,
    ) -> Result<Self, CassetteError> {
        let started = |error: io::Error| CassetteError::Start(Box::new(error));
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(started)?;
        let address = listener.local_addr().map_err(started)?;
        let answerer = Arc::new(answerer);
        let task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let answerer = answerer.clone();
                tokio::spawn(async move {
                    // A client that walks away is no failure of the server.
                    let _ = answerer.answer(&mut stream).await;
                });
            }
        });
        Ok(Self { address, state, task: task.abort_handle() })
    }
}

impl Drop for Cassette {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What answers a connection.
trait RecordedAnswers: Send + Sync + 'static {
    fn answer(
        &self,
        stream: &mut tokio::net::TcpStream,
    ) -> impl Future<Output = io::Result<()>> + Send;
}

fn lock(state: &Mutex<CassetteState>) -> std::sync::MutexGuard<'_, CassetteState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Converts a body for the file: to JSON if possible, so that key order and white space do not matter.
fn body_value(bytes: &[u8]) -> Value {
    if bytes.is_empty() {
        return Value::Null;
    }
    serde_json::from_slice(bytes)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(bytes).into_owned()))
}
