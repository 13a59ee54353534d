//! An Ollama without a model: its routes, its rules and its messages, for machines that cannot run a real one.
//!
//! Shapes and texts are those of real builds (`crates/models/tests/recordings`). What its model says is simple: it calls
//! `get_weather` if asked for the weather, makes the calls that a test lists ([`OllamaModel::calling`]), repeats what a tool
//! answered, counts slowly, and otherwise says what it heard.

mod chat;

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{
    net::{TcpListener, TcpStream},
    task::AbortHandle,
};

use crate::{
    CapturedRequest,
    http::{self, write_chunk, write_end, write_head},
};

/// How long it thinks about each word of a slow answer.
const SLOW: Duration = Duration::from_millis(30);

/// A model that is installed.
#[derive(Clone, Debug)]
pub struct OllamaModel {
    /// With its tag, such as `home:latest`.
    pub name: String,
    /// Such as `completion`, `tools`, `vision` and `thinking`.
    pub capabilities: Vec<&'static str>,
    /// What it calls, in the order in which it decides.
    habits: Vec<CallHabit>,
}

/// A call that the model makes if it hears certain words and is offered the tool.
#[derive(Clone, Debug)]
struct CallHabit {
    words: &'static str,
    tool: &'static str,
    arguments: Value,
}

impl OllamaModel {
    /// A model of this name that has these capabilities.
    pub fn new(name: &str, capabilities: &[&'static str]) -> Self {
        let (name, capabilities) = (name.to_owned(), capabilities.to_vec());
        Self { name, capabilities, habits: Vec::new() }
    }

    /// The same model, which calls `tool` if it is offered and the user's message contains `words`, in any case.
    #[must_use]
    pub fn calling(mut self, words: &'static str, tool: &'static str, arguments: Value) -> Self {
        self.habits.push(CallHabit { words, tool, arguments });
        self
    }

    fn can(&self, capability: &str) -> bool {
        self.capabilities.contains(&capability)
    }
}

/// What the server answers to one request.
enum OllamaAnswer {
    /// One object.
    Whole(u16, Value),
    /// Lines of JSON, with a pause after each.
    Lines(Vec<Value>, Duration),
}

#[derive(Debug, Default)]
struct OllamaState {
    models: Vec<OllamaModel>,
    captured: Vec<CapturedRequest>,
    abandoned: usize,
}

/// A server on this machine that ends with its owner.
#[derive(Debug)]
pub struct OllamaServer {
    address: SocketAddr,
    state: Arc<Mutex<OllamaState>>,
    task: AbortHandle,
}

impl OllamaServer {
    /// Starts a server that has these models.
    ///
    /// # Panics
    /// There is no free port.
    pub async fn start(models: impl IntoIterator<Item = OllamaModel>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let models = models.into_iter().collect();
        let state = Arc::new(Mutex::new(OllamaState { models, ..OllamaState::default() }));
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let state = Arc::clone(&shared);
                tokio::spawn(async move { serve(stream, &state).await });
            }
        });
        Self { address, state, task: task.abort_handle() }
    }

    /// The root: `http://127.0.0.1:port`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it was asked so far.
    pub fn captured(&self) -> Vec<CapturedRequest> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).captured.clone()
    }

    /// The bodies of all chats so far.
    pub fn chats(&self) -> Vec<Value> {
        let chats = self.captured().into_iter().filter(|asked| asked.path == "/api/chat");
        chats.map(|asked| asked.body).collect()
    }

    /// How many answers were not read to their end.
    pub fn abandoned(&self) -> usize {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).abandoned
    }
}

impl Drop for OllamaServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, state: &Mutex<OllamaState>) {
    let Ok(received) = http::read(&mut stream).await else { return };
    let asked = CapturedRequest::from(received);
    let answer = {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        state.captured.push(asked.clone());
        answer(&asked, &state.models)
    };
    if write(&mut stream, answer).await.is_err() {
        state.lock().unwrap_or_else(PoisonError::into_inner).abandoned += 1;
    }
}

async fn write(stream: &mut TcpStream, answer: OllamaAnswer) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let headers = |kind: &str| [("content-type".to_owned(), kind.to_owned())];
    match answer {
        OllamaAnswer::Whole(status, body) => {
            write_head(stream, status, &headers("application/json; charset=utf-8")).await?;
            write_chunk(stream, body.to_string().as_bytes()).await?;
        }
        OllamaAnswer::Lines(lines, pause) => {
            write_head(stream, 200, &headers("application/x-ndjson")).await?;
            for line in lines {
                write_chunk(stream, format!("{line}\n").as_bytes()).await?;
                tokio::time::sleep(pause).await;
            }
        }
    }
    write_end(stream).await
}

fn answer(asked: &CapturedRequest, models: &[OllamaModel]) -> OllamaAnswer {
    let find = |name: &str| {
        let tagged = if name.contains(':') { name.to_owned() } else { format!("{name}:latest") };
        models.iter().find(|model| model.name == tagged)
    };
    let name = asked.body["model"].as_str().unwrap_or_default();
    let missing = || refusal(404, &format!("model '{name}' not found"));
    match (asked.path.as_str(), find(name)) {
        ("/api/version", _) => OllamaAnswer::Whole(200, json!({"version": "0.32.0"})),
        ("/api/tags", _) => {
            let models: Vec<_> = models.iter().map(listed).collect();
            OllamaAnswer::Whole(200, json!({"models": models}))
        }
        ("/api/show", Some(model)) => OllamaAnswer::Whole(200, listed(model)),
        ("/api/chat", Some(model)) => chat::answer(&asked.body, model),
        ("/api/show" | "/api/chat", None) => missing(),
        _ => refusal(404, "404 page not found"),
    }
}

fn listed(model: &OllamaModel) -> Value {
    let OllamaModel { name, capabilities, .. } = model;
    json!({"name": name, "model": name, "size": 98_364_048, "capabilities": capabilities,
        "details": {"format": "gguf", "family": "llama", "context_length": 8192}})
}

fn refusal(status: u16, text: &str) -> OllamaAnswer {
    OllamaAnswer::Whole(status, json!({"error": text}))
}
