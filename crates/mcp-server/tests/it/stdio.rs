//! One client on a pipe.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_mcp_server::{Config, McpCaller};
use switchboard_runtime::toolcall::{HumanDuration, HumanSize};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use crate::test_server::{TestServer, request, with_meta};

/// The client's end of a pipe, and what serves the other end.
struct Pipe {
    test: TestServer,
    write: Option<WriteHalf<DuplexStream>>,
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    served: JoinHandle<std::io::Result<()>>,
    stop: CancellationToken,
}

impl Pipe {
    fn new(config: Config) -> Self {
        let test = TestServer::with(config);
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (read, write) = tokio::io::split(ours);
        let (server, stop) = (test.server.clone(), CancellationToken::new());
        let told = stop.clone();
        let served = tokio::spawn(async move {
            let (input, output) = tokio::io::split(theirs);
            server.serve_stdio_until(input, output, McpCaller::default(), &told).await
        });
        Self { test, write: Some(write), lines: BufReader::new(read).lines(), served, stop }
    }

    async fn write(&mut self, line: &str) {
        let line = format!("{line}\n");
        self.write.as_mut().unwrap().write_all(line.as_bytes()).await.unwrap();
    }

    async fn read(&mut self) -> Option<Value> {
        let line = self.lines.next_line().await.unwrap()?;
        Some(serde_json::from_str(&line).unwrap())
    }

    async fn ask(&mut self, id: u64, method: &str, params: Value) -> Value {
        self.write(&request(id, method, params)).await;
        self.read().await.unwrap()
    }

    async fn open(&mut self) {
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}});
        let opened = self.ask(0, "initialize", params).await;
        assert_eq!(opened["result"]["protocolVersion"], "2025-11-25");
        self.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    }

    /// The client has said its last word; returns what still came.
    async fn end(mut self) -> Vec<Value> {
        self.write.take().unwrap().shutdown().await.unwrap();
        let mut rest = Vec::new();
        while let Some(message) = self.read().await {
            rest.push(message);
        }
        self.served.await.unwrap().unwrap();
        rest
    }
}

// GW-1
#[tokio::test]
async fn both_eras_on_one_pipe() {
    let mut pipe = Pipe::new(Config::default());
    assert_eq!(pipe.ask(1, "ping", json!({})).await["result"], json!({}));
    assert_eq!(pipe.ask(2, "tools/list", json!({})).await["error"]["code"], -32600);
    assert_eq!(pipe.ask(3, "server/discover", json!({})).await["error"]["code"], -32602);
    let found = pipe.ask(4, "server/discover", with_meta(json!({}))).await;
    assert_eq!(found["result"]["supportedVersions"][0], "2026-07-28");
    let said = pipe.ask(5, "tools/call", with_meta(json!({"name": "say"}))).await;
    assert_eq!(said["result"]["resultType"], "complete");
    pipe.open().await;
    let said = pipe.ask(6, "tools/call", json!({"name": "say"})).await;
    assert_eq!(said["result"], json!({"content": [{"type": "text", "text": "hello"}]}));
    let again = pipe.ask(7, "initialize", json!({"protocolVersion": "2025-11-25"})).await;
    assert_eq!(again["error"]["code"], -32600);
    assert_eq!(pipe.end().await, [Value::Null; 0]);
}

// GW-7: nothing of a batch runs on a pipe, however small or large it is.
#[tokio::test]
async fn a_batch_on_a_pipe_does_not_run() {
    let mut pipe = Pipe::new(Config::default());
    pipe.open().await;
    let call =
        |id| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "say"}});
    for size in [1, 300] {
        let batch: Value = (0..size).map(call).collect();
        pipe.write(&batch.to_string()).await;
        assert_eq!(pipe.read().await.unwrap()["error"]["code"], -32600, "{size}");
    }
    assert!(pipe.test.executor.history().recent(10).await.unwrap().is_empty());
}

// GW-4
#[tokio::test]
async fn garbage_is_answered_and_survived() {
    let mut pipe = Pipe::new(Config { max_message: HumanSize(1000), ..Config::default() });
    pipe.open().await;
    for (line, code) in [
        ("nonsense", -32700),
        ("{", -32700),
        ("42", -32600),
        ("[]", -32600),
        (r#"{"jsonrpc":"2.0"}"#, -32600),
        (&*"x".repeat(2000), -32600),
    ] {
        pipe.write(line).await;
        let answer = pipe.read().await.unwrap();
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&Value::Null, &json!(code)),
            "{line}"
        );
    }
    pipe.write("").await;
    pipe.write(r#"{"jsonrpc":"2.0","id":99,"result":{}}"#).await;
    pipe.write(r#"{"jsonrpc":"2.0","method":"notifications/nonsense","params":[1]}"#).await;
    let answer = pipe.ask(8, "ping", json!([1])).await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(8), &json!(-32602)));
    assert_eq!(pipe.ask(9, "ping", json!({})).await["result"], json!({}));
}

// EX-4: a cancelled call ends, and is not answered; in both eras.
#[tokio::test(start_paused = true)]
async fn a_client_cancels() {
    for modern in [false, true] {
        let mut pipe = Pipe::new(Config::default());
        pipe.open().await;
        let params = json!({"name": "wait", "arguments": {"secs": 20}});
        let params = if modern { with_meta(params) } else { params };
        pipe.write(&request(5, "tools/call", params)).await;
        pipe.test.witness.saw("begun").await;
        let note = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}});
        pipe.write(&note.to_string()).await;
        pipe.test.witness.saw("dropped and told").await;
        assert_eq!(pipe.ask(6, "ping", json!({})).await["id"], 6);
    }
}

// GW-4: told to stop, it lets what runs finish within the limit, and cancels the rest.
#[tokio::test(start_paused = true)]
async fn what_runs_may_finish_when_we_are_told_to_stop() {
    for (secs, answers, seen) in [(5, 1, "finished"), (50, 0, "dropped and told")] {
        let mut pipe = Pipe::new(Config::default());
        pipe.open().await;
        let params = json!({"name": "wait", "arguments": {"secs": secs}});
        pipe.write(&request(5, "tools/call", params)).await;
        pipe.test.witness.saw("begun").await;
        pipe.stop.cancel();
        let mut rest = Vec::new();
        while let Some(message) = pipe.read().await {
            rest.push(message);
        }
        pipe.served.await.unwrap().unwrap();
        assert_eq!(rest.len(), answers, "{rest:?}");
        pipe.test.witness.saw(seen).await;
    }
}

// GW-1: progress before its answer, and calls side by side.
#[tokio::test]
async fn progress_and_other_calls_in_between() {
    let mut pipe = Pipe::new(Config::default());
    pipe.open().await;
    let slow = json!({"name": "wait", "arguments": {"secs": 0.2}});
    pipe.write(&request(1, "tools/call", slow)).await;
    let counting = json!({"name": "count", "_meta": {"progressToken": "p"}});
    pipe.write(&request(2, "tools/call", counting)).await;
    let mut heard = Vec::new();
    for _ in 0..5 {
        let message = pipe.read().await.unwrap();
        heard.push(message["params"]["progress"].as_u64().or(message["id"].as_u64()).unwrap());
    }
    assert_eq!(heard, [1, 2, 3, 2, 1]);
}

// GW-4: at the end of the input what is under way may end, within its time.
#[tokio::test(start_paused = true)]
async fn the_end_of_the_input_drains() {
    let drain = HumanDuration(Duration::from_secs(5));
    for (secs, answers) in [(2, 1), (20, 0)] {
        let mut pipe = Pipe::new(Config { drain, ..Config::default() });
        pipe.open().await;
        let listen = json!({"notifications": {"toolsListChanged": true}});
        pipe.write(&request(1, "subscriptions/listen", with_meta(listen))).await;
        let acknowledged = pipe.read().await.unwrap();
        assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
        let call = json!({"name": "wait", "arguments": {"secs": secs}});
        pipe.write(&request(2, "tools/call", call)).await;
        let witness = pipe.test.witness.clone();
        let server = pipe.test.server.clone();
        assert_eq!(pipe.end().await.len(), answers, "{secs}");
        assert_eq!(witness.seen().len(), 2);
        assert_eq!(server.sessions(), 0);
    }
}

// GW-1: a change is told to who has a session.
#[tokio::test(start_paused = true)]
async fn changes_are_told() {
    let mut pipe = Pipe::new(Config::default());
    pipe.open().await;
    // The test server has just got its tools, which is announced once the change has settled.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let new = switchboard_testkit::tools::Fake::answers("new", json!(1));
    pipe.test.executor.tools().add(new).unwrap();
    let message = pipe.read().await.unwrap();
    assert_eq!(message["method"], "notifications/tools/list_changed");
}
