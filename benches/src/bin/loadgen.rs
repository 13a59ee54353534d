//! Load generator for MCP servers and gateways: raw JSON-RPC, one keep-alive connection and one MCP
//! session per worker, closed loop. Prints one JSON object.
//!
//! ```text
//! loadgen http  --url http://127.0.0.1:9100/mcp [--concurrency 16] [--secs 4 | --calls N]
//!               [--method tools/call|tools/list] [--tool echo] [--arg-bytes 200] [--args JSON]
//!               [--header 'Authorization: Bearer x']... [--warm 0.5] [--protocol 2025-11-25]
//! loadgen stdio [same options] -- COMMAND ARGS...        (concurrency = requests in flight)
//! loadgen ready --url URL [--timeout 60]                 (waits for the first good tools/list)
//! loadgen rmcp-http --url URL | rmcp-stdio -- COMMAND    (the rmcp client instead of raw JSON-RPC)
//! ```
//!
//! A reply counts only when it carries the request's id, a `result`, no `isError: true` and (for
//! echo) the text that was sent, which is different for each call.

#![expect(clippy::disallowed_methods, reason = "it measures real time")]

use std::{
    process::Stdio,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, client::conn::http1::SendRequest, header};
use hyper_util::rt::TokioIo;
use rmcp::{ServiceExt, model::CallToolRequestParams};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

type Error = Box<dyn std::error::Error + Send + Sync>;

#[derive(Clone)]
struct Options {
    url: String,
    concurrency: usize,
    secs: f64,
    calls: Option<usize>,
    warm: f64,
    method: String,
    tool: String,
    arg_bytes: usize,
    args: Option<Value>,
    headers: Vec<(String, String)>,
    protocol: String,
    timeout: f64,
    command: Vec<String>,
}

fn parse() -> Result<(String, Options), Error> {
    let mut o = Options {
        url: "http://127.0.0.1:9100/mcp".into(),
        concurrency: 1,
        secs: 4.0,
        calls: None,
        warm: 0.5,
        method: "tools/call".into(),
        tool: "echo".into(),
        arg_bytes: 200,
        args: None,
        headers: vec![],
        protocol: "2025-11-25".into(),
        timeout: 60.0,
        command: vec![],
    };
    let mut it = std::env::args().skip(1);
    let mode = it.next().ok_or("usage: loadgen http|stdio|ready|rmcp-http|rmcp-stdio ...")?;
    while let Some(flag) = it.next() {
        if flag == "--" {
            o.command = it.by_ref().collect();
            break;
        }
        let v = it.next().ok_or_else(|| format!("{flag} needs a value"))?;
        match flag.as_str() {
            "--url" => o.url = v,
            "--concurrency" => o.concurrency = v.parse()?,
            "--secs" => o.secs = v.parse()?,
            "--calls" => o.calls = Some(v.parse()?),
            "--warm" => o.warm = v.parse()?,
            "--method" => o.method = v,
            "--tool" => o.tool = v,
            "--arg-bytes" => o.arg_bytes = v.parse()?,
            "--args" => o.args = Some(serde_json::from_str(&v)?),
            "--header" => {
                let (k, val) = v.split_once(':').ok_or("--header wants 'Name: value'")?;
                o.headers.push((k.trim().into(), val.trim().into()));
            }
            "--protocol" => o.protocol = v,
            "--timeout" => o.timeout = v.parse()?,
            _ => return Err(format!("unknown option {flag}").into()),
        }
    }
    Ok((mode, o))
}

impl Options {
    /// The body of request `id` of `worker`, and the text its reply must contain.
    fn request(&self, worker: usize, id: u64) -> (String, String) {
        if self.method != "tools/call" {
            let body = json!({"jsonrpc":"2.0","id":id,"method":self.method,"params":{}});
            return (body.to_string(), String::new());
        }
        let nonce = format!("n{worker}-{id}-");
        let (args, expect) = match &self.args {
            Some(args) => (args.clone(), String::new()),
            None => {
                let mut text = nonce.clone();
                while text.len() < self.arg_bytes {
                    text.push((b'a' + (text.len() % 26) as u8) as char);
                }
                (json!({"text":text}), nonce)
            }
        };
        let body = json!({"jsonrpc":"2.0","id":id,"method":"tools/call","params":{"name":self.tool,"arguments":args}});
        (body.to_string(), expect)
    }

    fn initialize(&self) -> String {
        json!({"jsonrpc":"2.0","id":0,"method":"initialize","params":{
            "protocolVersion":self.protocol,"capabilities":{},
            "clientInfo":{"name":"loadgen","version":"0.1.0"}}})
        .to_string()
    }
}

fn check(reply: &[u8], id: u64, expect: &str) -> Result<(), String> {
    let v: Value = serde_json::from_slice(reply).map_err(|e| format!("not JSON: {e}"))?;
    if v.get("id").and_then(Value::as_u64) != Some(id) {
        return Err(format!("wrong id: {}", cut(reply)));
    }
    let Some(result) = v.get("result") else { return Err(format!("no result: {}", cut(reply))) };
    if result.get("isError").and_then(Value::as_bool) == Some(true) {
        return Err(format!("isError: {}", cut(reply)));
    }
    if !expect.is_empty() && !reply.windows(expect.len()).any(|w| w == expect.as_bytes()) {
        return Err(format!("reply lacks the text sent: {}", cut(reply)));
    }
    Ok(())
}

fn cut(b: &[u8]) -> String {
    String::from_utf8_lossy(&b[..b.len().min(300)]).into_owned()
}

struct Http {
    send: SendRequest<Full<Bytes>>,
    host: String,
    path: String,
    session: Option<String>,
    options: Options,
}

impl Http {
    async fn connect(options: &Options) -> Result<Self, Error> {
        let rest = options.url.strip_prefix("http://").ok_or("only http:// URLs")?;
        let (host, path) =
            rest.split_once('/').map_or((rest, String::new()), |(h, p)| (h, p.to_string()));
        let stream = tokio::net::TcpStream::connect(host).await?;
        stream.set_nodelay(true)?;
        let (send, conn) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(conn);
        Ok(Http {
            send,
            host: host.into(),
            path: format!("/{path}"),
            session: None,
            options: options.clone(),
        })
    }

    /// Connects and does the MCP handshake.
    async fn open(options: &Options) -> Result<Self, Error> {
        let mut h = Http::connect(options).await?;
        let reply = h.post(options.initialize(), Some(0)).await?;
        check(&reply, 0, "")?;
        h.post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.into(), None).await?;
        Ok(h)
    }

    async fn post(&mut self, body: String, id: Option<u64>) -> Result<Vec<u8>, Error> {
        if self.send.ready().await.is_err() {
            let session = self.session.take();
            *self = Http { session, ..Http::connect(&self.options.clone()).await? };
            self.send.ready().await?;
        }
        let mut req = Request::post(&self.path)
            .header(header::HOST, &self.host)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json, text/event-stream");
        if let Some(s) = &self.session {
            req = req.header("mcp-session-id", s);
        }
        if id != Some(0) {
            req = req.header("mcp-protocol-version", &self.options.protocol);
        }
        for (k, v) in &self.options.headers {
            req = req.header(k, v);
        }
        let res = self.send.send_request(req.body(Full::new(Bytes::from(body)))?).await?;
        let status = res.status();
        if let Some(s) = res.headers().get("mcp-session-id").and_then(|v| v.to_str().ok()) {
            self.session = Some(s.into());
        }
        let sse = res
            .headers()
            .get(header::CONTENT_TYPE)
            .and_then(|v| v.to_str().ok())
            .is_some_and(|v| v.starts_with("text/event-stream"));
        let raw = res.into_body().collect().await?.to_bytes();
        if !status.is_success() {
            return Err(format!("HTTP {status}: {}", cut(&raw)).into());
        }
        if !sse {
            return Ok(raw.to_vec());
        }
        // The reply is the last `data:` line that is a JSON-RPC response.
        let mut last = None;
        for line in raw.split(|b| *b == b'\n') {
            if let Some(d) = line.strip_prefix(b"data:") {
                let d = d.trim_ascii();
                let has = |k: &[u8]| d.windows(k.len()).any(|w| w == k);
                if !d.is_empty() && (has(b"\"result\"") || has(b"\"error\"")) {
                    last = Some(d.to_vec());
                }
            }
        }
        last.ok_or_else(|| format!("no reply in the event stream: {}", cut(&raw)).into())
    }
}

#[derive(Default)]
struct Tally {
    micros: Vec<u32>,
    errors: usize,
    first_error: Option<String>,
    bytes: u64,
}

impl Tally {
    fn fail(&mut self, e: String) {
        self.errors += 1;
        self.first_error.get_or_insert(e);
    }

    fn merge(&mut self, o: Tally) {
        self.micros.extend(o.micros);
        self.errors += o.errors;
        self.bytes += o.bytes;
        if let Some(e) = o.first_error {
            self.first_error.get_or_insert(e);
        }
    }

    fn print(mut self, secs: f64, extra: Value) {
        self.micros.sort_unstable();
        let n = self.micros.len();
        let q = |p: f64| if n == 0 { 0 } else { self.micros[((n as f64 * p) as usize).min(n - 1)] };
        let sum: u64 = self.micros.iter().map(|m| *m as u64).sum();
        let mut out = json!({
            "calls": n, "errors": self.errors, "secs": secs, "rps": n as f64 / secs,
            "mean_us": if n == 0 { 0.0 } else { sum as f64 / n as f64 },
            "p50_us": q(0.50), "p90_us": q(0.90), "p99_us": q(0.99), "max_us": q(1.0),
            "bytes_per_reply": if n == 0 { 0 } else { self.bytes / n as u64 },
            "first_error": self.first_error,
        });
        if let (Some(o), Value::Object(e)) = (out.as_object_mut(), extra) {
            o.extend(e);
        }
        println!("{out}");
    }
}

async fn run_http(o: Options) -> Result<(), Error> {
    let mut opened = Vec::new();
    let mut tally = Tally::default();
    for _ in 0..o.concurrency {
        match tokio::time::timeout(Duration::from_secs(30), Http::open(&o)).await {
            Ok(Ok(h)) => opened.push(h),
            Ok(Err(e)) => tally.fail(format!("open: {e}")),
            Err(_) => tally.fail("open: timed out".into()),
        }
    }
    let opened_n = opened.len();
    // Printed as wall-clock times: the caller reads the CPU the server used between these two marks.
    let (origin, unix) = (
        Instant::now(),
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_secs_f64(),
    );
    let begin = Instant::now() + Duration::from_secs_f64(o.warm);
    let end = begin + Duration::from_secs_f64(o.secs);
    let budget = o.calls.map(|c| c / o.concurrency.max(1));
    let mut tasks = Vec::new();
    for (w, mut h) in opened.into_iter().enumerate() {
        let o = o.clone();
        tasks.push(tokio::spawn(async move {
            let mut t = Tally::default();
            let mut id = 0u64;
            let mut counted = 0usize;
            loop {
                let now = Instant::now();
                if now >= end || budget.is_some_and(|b| counted >= b) {
                    break;
                }
                id += 1;
                let (body, expect) = o.request(w, id);
                let start = Instant::now();
                let r = match tokio::time::timeout(Duration::from_secs(30), h.post(body, Some(id)))
                    .await
                {
                    Ok(r) => r,
                    Err(_) => Err("timed out".into()),
                };
                let took = start.elapsed();
                let done = Instant::now();
                // Counted: what completes inside the measured window, whenever it was sent. So a slow
                // target at high concurrency is not robbed of the calls under way at the window's edges.
                match r
                    .map_err(|e| e.to_string())
                    .and_then(|b| check(&b, id, &expect).map(|()| b.len()))
                {
                    Ok(n) if done >= begin && done <= end => {
                        counted += 1;
                        t.micros.push(took.as_micros() as u32);
                        t.bytes += n as u64;
                    }
                    Ok(_) => {}
                    Err(e) => {
                        t.fail(e);
                        if t.errors > 50 {
                            break;
                        }
                    }
                }
            }
            t
        }));
    }
    for t in tasks {
        tally.merge(t.await?);
    }
    let secs = Instant::now().min(end).duration_since(begin).as_secs_f64();
    let at = |i: Instant| unix + i.duration_since(origin).as_secs_f64();
    tally.print(
        secs,
        json!({"concurrency": o.concurrency, "opened": opened_n, "begin_unix": at(begin),
                             "end_unix": at(Instant::now().min(end))}),
    );
    Ok(())
}

async fn run_stdio(o: Options) -> Result<(), Error> {
    let (program, rest) = o.command.split_first().ok_or("stdio wants -- COMMAND")?;
    let mut child = tokio::process::Command::new(program)
        .args(rest)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    let mut stdin = child.stdin.take().ok_or("no stdin")?;
    let mut lines =
        BufReader::with_capacity(1 << 16, child.stdout.take().ok_or("no stdout")?).lines();
    stdin.write_all(format!("{}\n", o.initialize()).as_bytes()).await?;
    let first = lines.next_line().await?.ok_or("closed at initialize")?;
    check(first.as_bytes(), 0, "")?;
    stdin.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n").await?;

    let mut tally = Tally::default();
    let mut pending = std::collections::HashMap::new();
    let mut id = 0u64;
    let begin = Instant::now() + Duration::from_secs_f64(o.warm);
    let end = begin + Duration::from_secs_f64(o.secs);
    loop {
        let stop = Instant::now() >= end || o.calls.is_some_and(|c| tally.micros.len() >= c);
        if stop && pending.is_empty() {
            break;
        }
        if !stop {
            let mut out = String::new();
            while pending.len() < o.concurrency {
                id += 1;
                let (body, expect) = o.request(0, id);
                pending.insert(id, (Instant::now(), expect));
                out.push_str(&body);
                out.push('\n');
            }
            if !out.is_empty() {
                stdin.write_all(out.as_bytes()).await?;
            }
        }
        let line = lines.next_line().await?.ok_or("closed")?;
        let v: Value = serde_json::from_str(&line)?;
        let Some(got) = v.get("id").and_then(Value::as_u64) else { continue };
        let Some((start, expect)) = pending.remove(&got) else { continue };
        if start < begin {
            continue;
        }
        match check(line.as_bytes(), got, &expect) {
            Ok(()) => {
                tally.micros.push(start.elapsed().as_micros() as u32);
                tally.bytes += line.len() as u64;
            }
            Err(e) => tally.fail(e),
        }
    }
    tally.print(begin.elapsed().as_secs_f64(), json!({"concurrency": o.concurrency}));
    Ok(())
}

async fn ready(o: Options) -> Result<(), Error> {
    let begin = Instant::now();
    let mut o = o;
    o.method = "tools/list".into();
    let mut last = String::new();
    while begin.elapsed().as_secs_f64() < o.timeout {
        let attempt = async {
            let mut h = Http::open(&o).await?;
            let b = h.post(o.request(0, 1).0, Some(1)).await?;
            check(&b, 1, "")?;
            let v: Value = serde_json::from_slice(&b)?;
            let tools = v["result"]["tools"].as_array().map_or(0, Vec::len);
            if tools == 0 {
                return Err::<_, Error>("no tools yet".into());
            }
            Ok((
                tools,
                v["result"]["tools"][0]["name"].clone(),
                v["result"].get("nextCursor").is_some(),
            ))
        };
        match tokio::time::timeout(Duration::from_secs(10), attempt).await {
            Ok(Ok((tools, name, more))) => {
                println!(
                    "{}",
                    json!({"ready_s": begin.elapsed().as_secs_f64(), "tools": tools, "first": name, "paged": more})
                );
                return Ok(());
            }
            Ok(Err(e)) => last = e.to_string(),
            Err(_) => last = "timed out".into(),
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Err(format!("not ready: {last}").into())
}

async fn rmcp_loop<S: rmcp::Service<rmcp::RoleClient>>(
    client: rmcp::service::RunningService<rmcp::RoleClient, S>,
    o: Options,
) -> Result<(), Error> {
    let mut tally = Tally::default();
    let begin = Instant::now() + Duration::from_secs_f64(o.warm);
    let end = begin + Duration::from_secs_f64(o.secs);
    let mut id = 0u64;
    while Instant::now() < end && o.calls.is_none_or(|c| tally.micros.len() < c) {
        id += 1;
        let (body, expect) = o.request(0, id);
        let v: Value = serde_json::from_str(&body)?;
        let args = v["params"]["arguments"].as_object().cloned().unwrap_or_default();
        let start = Instant::now();
        let r =
            client.call_tool(CallToolRequestParams::new(o.tool.clone()).with_arguments(args)).await;
        if start < begin {
            continue;
        }
        match r {
            Ok(res) => {
                let took = start.elapsed();
                let got = res
                    .content
                    .first()
                    .and_then(|c| c.as_text())
                    .is_some_and(|t| t.text.starts_with(&expect));
                if got {
                    tally.micros.push(took.as_micros() as u32)
                } else {
                    tally.fail("reply lacks the text sent".into())
                }
            }
            Err(e) => tally.fail(e.to_string()),
        }
    }
    tally.print(begin.elapsed().as_secs_f64(), json!({"client": "rmcp"}));
    client.cancel().await.ok();
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let (mode, o) = parse()?;
    match mode.as_str() {
        "http" => run_http(o).await,
        "stdio" => run_stdio(o).await,
        "ready" => ready(o).await,
        "rmcp-http" => {
            let t = rmcp::transport::StreamableHttpClientTransport::from_uri(o.url.clone());
            rmcp_loop(().serve(t).await?, o).await
        }
        "rmcp-stdio" => {
            let (program, rest) = o.command.split_first().ok_or("rmcp-stdio wants -- COMMAND")?;
            let mut c = tokio::process::Command::new(program);
            c.args(rest);
            let t = rmcp::transport::TokioChildProcess::new(c)?;
            rmcp_loop(().serve(t).await?, o).await
        }
        _ => Err(format!("unknown mode {mode}").into()),
    }
}
