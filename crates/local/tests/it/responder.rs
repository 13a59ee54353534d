//! A search provider of bytes: it takes one connection after another and answers as it is told.

use std::sync::{Arc, Mutex};

use switchboard_local::{BuiltinsConfig, builtins};
use switchboard_toolcall::{CallContext, Tool, ToolError, serde_json::Value};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// A provider at an address of its own.
pub(crate) struct Responder {
    pub(crate) address: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Responder {
    /// Answers every request with these bytes, then closes the connection.
    pub(crate) async fn answering(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let request = read_request(&mut stream).await;
                seen.lock().unwrap().push(request);
                // The client may hang up on an answer that is too long.
                let _ = stream.write_all(&bytes).await;
            }
        });
        Self { address, requests }
    }

    /// Answers every request with this JSON.
    pub(crate) async fn with_json(body: &str) -> Self {
        Self::answering(response("200 OK", "application/json", body)).await
    }

    /// The requests so far, head and all.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// The request's head; there is no body.
pub(crate) async fn read_request(stream: &mut TcpStream) -> String {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte).await.unwrap() == 0 {
            break;
        }
        request.push(byte[0]);
    }
    String::from_utf8(request).unwrap()
}

/// A whole HTTP response.
pub(crate) fn response(status: &str, content_type: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// The tool as the config (`[builtins]`, in TOML) makes it.
pub(crate) fn search_web(config: &str) -> Arc<dyn Tool> {
    let config: BuiltinsConfig = toml::from_str(config).unwrap();
    builtins::all(&config).swap_remove(1)
}

/// The tool with `provider` at this address.
pub(crate) fn provider_at(provider: &str, address: &str) -> Arc<dyn Tool> {
    let key = if provider == "brave" { "api_key = 'BSA-secret'" } else { "" };
    search_web(&format!("[search_web]\nprovider = '{provider}'\nurl = 'http://{address}'\n{key}"))
}

/// Calls the tool.
pub(crate) async fn call(tool: &Arc<dyn Tool>, args: Value) -> Result<Value, ToolError> {
    let output = tool.call(args, &CallContext::default()).await?;
    Ok(serde_json::from_str(&output.text()).unwrap())
}
