//! An API of bytes: it takes one connection after another and answers as it is told.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use switchboard_apis::{ApiConfig, Description};
use switchboard_toolcall::{CallContext, Tool, ToolError, ToolOutput};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// An API at an address of its own.
pub(crate) struct Responder {
    pub(crate) address: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Responder {
    /// Answers every request with these bytes, then closes the connection.
    pub(crate) async fn answering(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let request = read_request(&mut stream).await;
                seen.lock().unwrap().push(request);
                let _ = stream.write_all(&bytes).await;
            }
        });
        Self { address, requests }
    }

    /// The last request, head and body.
    pub(crate) fn last(&self) -> String {
        self.requests.lock().unwrap().last().cloned().unwrap_or_default()
    }

    /// How many requests there were.
    pub(crate) fn count(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

async fn read_request(stream: &mut TcpStream) -> String {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let count = stream.read(&mut buffer).await.unwrap();
        request.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&request).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            if count == 0 {
                return text;
            }
            continue;
        };
        let length = head
            .lines()
            .find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
        if count == 0 || body.len() >= length.unwrap_or(0) {
            return text;
        }
    }
}

/// A whole HTTP response.
pub(crate) fn response(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

/// A response of JSON.
pub(crate) fn json(body: &str) -> String {
    response("200 OK", "Content-Type: application/json\r\n", body)
}

/// The tools of a description whose requests go to `base`.
pub(crate) fn tools(text: &str, base: &str) -> Description {
    let config = ApiConfig {
        openapi: "x.yaml".to_owned(),
        base_url: Some(base.to_owned()),
        ..ApiConfig::default()
    };
    Description::compile(text, "api", &config, "__", None).unwrap()
}

/// The tool of this name.
pub(crate) fn tool(description: &Description, name: &str) -> Arc<dyn Tool> {
    let named = |tool: &&Arc<dyn Tool>| tool.spec().name == format!("api__{name}");
    description.tools.iter().find(named).unwrap_or_else(|| panic!("{name}")).clone()
}

/// Calls the tool of this name.
pub(crate) async fn call(
    description: &Description,
    name: &str,
    args: Value,
) -> Result<ToolOutput, ToolError> {
    tool(description, name).call(args, &CallContext::default()).await
}
