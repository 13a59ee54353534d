//! `http` tools against a real HTTP server in a process of its own (TK-2).

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    time::Duration,
};

use switchboard_local::{Handlers, ToolDefinition};
use switchboard_toolcall::{
    CallContext, ErrorKind, ToolError, ToolOutput,
    serde_json::{self, Value, json},
};

/// Python's own HTTP server, at two ports; ends with the test.
struct Server {
    process: Child,
    ports: Vec<String>,
}

impl Server {
    fn start() -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real/http_server.py");
        let mut process =
            Command::new("python3").arg(script).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { process, ports: line.split_whitespace().map(str::to_owned).collect() }
    }

    /// Calls a tool whose request is this, in TOML, to the path.
    async fn call(&self, path: &str, more: &str, args: Value) -> Result<ToolOutput, ToolError> {
        let definition = format!(
            "name = 'tried'\ndescription = 'd'\n[parameters]\nproperties = {{ id = {{}}, text = {{}} }}\n\
             [implementation]\ntype = 'http'\nurl = 'http://127.0.0.1:{}{path}'\n{more}",
            self.ports[0]
        );
        let definition: ToolDefinition = toml::from_str(&definition).unwrap();
        let tool = definition.into_tool(&Handlers::new()).unwrap();
        tool.call(args, &CallContext::default()).await
    }

    async fn get(&self, path: &str) -> Result<String, (ErrorKind, String)> {
        let headers = "headers = { Authorization = 'Bearer s3cret' }";
        let output = self.call(path, headers, json!({})).await;
        output.map(|output| output.text()).map_err(|error| (error.kind, error.for_model))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

// TK-2
#[tokio::test]
async fn requests_arrive_as_the_config_says() {
    let server = Server::start();
    let echo = |more: &'static str, args: Value| server.call("/echo", more, args);
    let said = echo(
        "json = { t = '{text}', n = '{id}' }\nquery = { q = '{text}', m = '{id}' }",
        json!({"text": "ü&"}),
    );
    let said: Value = serde_json::from_str(&said.await.unwrap().text()).unwrap();
    assert_eq!(
        said,
        json!({"method": "POST", "query": "q=%C3%BC%26", "body": r#"{"t":"ü&"}"#, "type": "application/json"})
    );
    let said = echo(
        "method = 'PUT'\nform = { a = '{text}', b = '{id}' }",
        json!({"text": "1 2", "id": [3, 4]}),
    );
    let said: Value = serde_json::from_str(&said.await.unwrap().text()).unwrap();
    assert_eq!(said["body"], "a=1+2&b=3&b=4");
    assert_eq!(said["method"], "PUT");
}

// TK-2: redirects only within the origin, and nothing that the request carries goes elsewhere.
#[tokio::test]
async fn redirects_stay_within_the_origin() {
    let server = Server::start();
    let port = &server.ports[0];
    assert!(server.get("/stay").await.unwrap().contains(r#""query":"moved=1""#));
    let posted = server.call("/keep", "text = 'kept'", json!({})).await.unwrap().text();
    assert!(
        posted.contains(r#""method":"POST""#) && posted.contains(r#""body":"kept""#),
        "{posted}"
    );
    for (path, to, code) in [
        ("/other-port", format!("http://127.0.0.1:{}", server.ports[1]), 302),
        ("/other-host", format!("http://localhost:{port}"), 307),
        ("/other-scheme", format!("https://127.0.0.1:{port}"), 301),
    ] {
        let text = format!(
            "127.0.0.1:{port} redirects to {to} ({code}); only redirects within its origin are followed"
        );
        assert_eq!(server.get(path).await, Err((ErrorKind::ToolError, text)));
    }
    let loops = format!("127.0.0.1:{port} redirects more than 5 times");
    assert_eq!(server.get("/loop").await, Err((ErrorKind::ToolError, loops)));
    let seen = server.get("/seen").await.unwrap();
    assert!(!seen.contains(&format!("\"{} ", server.ports[1])), "{seen}");
    assert!(seen.contains("/echo Bearer s3cret"), "{seen}");
}

// TK-2, RS-4
#[tokio::test]
async fn what_servers_do_wrong_is_told() {
    let server = Server::start();
    let port = &server.ports[0];
    let busy = format!(
        "127.0.0.1:{port} answered 429 Too Many Requests (Retry-After: Wed, 21 Oct 2026 07:28:00 GMT): slow down"
    );
    assert_eq!(server.get("/busy").await, Err((ErrorKind::ToolError, busy)));
    let missing = format!("127.0.0.1:{port} answered 404 Not Found: {{\"path\": \"/nowhere\"}}");
    assert_eq!(server.get("/nowhere").await, Err((ErrorKind::ToolError, missing)));
    for path in ["/early", "/chunks"] {
        let (kind, text) = server.get(path).await.unwrap_err();
        assert_eq!(kind, ErrorKind::Unavailable, "{path}");
        assert!(text.contains("broke off its answer"), "{path}: {text}");
    }
    // A body that does not come to its end is ended with the call.
    let slow = tokio::time::timeout(Duration::from_secs(2), server.get("/slow")).await;
    assert!(slow.is_err(), "{slow:?}");
    drop(server);
}

// TK-2, RS-6
#[tokio::test]
async fn texts_and_files_are_what_they_are() {
    let server = Server::start();
    assert_eq!(server.get("/sjis").await.unwrap(), "日本語");
    assert_eq!(server.get("/latin1").await.unwrap(), "Straße");
    let image = server.call("/image", "", json!({})).await.unwrap();
    let ToolOutput::Content(content) = image else { panic!("{image:?}") };
    assert_eq!(content.parts[0].as_binary().unwrap().media_type, "image/png");
    assert_eq!(server.call("/echo", "method = 'HEAD'", json!({})).await.unwrap().text(), "");
}
