//! A call of a tool of an MCP server, not confined and confined.

use std::{
    error::Error,
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    process::{Child, ChildStdin, ChildStdout, Stdio},
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use switchboard_sandbox::{Sandbox, SandboxAllow};

use super::{CALLS, Confinement, confined, ms, now};

/// A server that is running.
struct McpServer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    _sandbox: Option<Sandbox>,
}

/// Measures calls: the tool, its arguments, and the server's program with its arguments.
pub(crate) fn measure(words: &[String]) -> Result<(), Box<dyn Error>> {
    let [tool, arguments, program, args @ ..] = words else {
        return Err("--call TOOL ARGUMENTS PROGRAM…".into());
    };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let _entered = runtime.enter();
    let port = serve_a_page()?;
    let arguments: Value = serde_json::from_str(&arguments.replace("{port}", &port.to_string()))?;
    let call = json!({"method": "tools/call", "params": {"name": tool, "arguments": arguments}});
    let start = |confinement| {
        let connect = vec![format!("127.0.0.1:{port}")];
        McpServer::start(&confinement, program, args, connect)
    };
    let mut servers = [start(Confinement::Nothing)?, start(Confinement::Ours(Vec::new()))?];
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..CALLS {
        for (server, times) in servers.iter_mut().zip(&mut times) {
            times.push(server.call(call.clone())?);
        }
    }
    println!("| sandbox | `{tool}`, median | p95 |\n|---|---|---|");
    for (mut times, name) in times.into_iter().zip(["nothing", "switchboard"]) {
        times.sort();
        let (median, late) = (times[CALLS / 2], times[CALLS * 95 / 100]);
        println!("| {name} | {:.2} ms | {:.2} ms |", ms(median), ms(late));
    }
    Ok(())
}

/// Serves the same page at each path; returns its port.
fn serve_a_page() -> Result<u16, Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\ncontent-length: 4";
    thread::spawn(move || {
        for mut link in listener.incoming().map_while(Result::ok) {
            let _ = link.read(&mut [0; 4096]);
            let _ = link.write_all(format!("{head}\r\n\r\npage").as_bytes());
        }
    });
    Ok(port)
}

impl McpServer {
    fn start(
        confinement: &Confinement,
        program: &str,
        args: &[String],
        connect: Vec<String>,
    ) -> Result<Self, Box<dyn Error>> {
        let allow = SandboxAllow { connect, ..SandboxAllow::default() };
        let (mut command, sandbox) = confined(confinement, program, args, allow)?;
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (input, output) = input.zip(output).ok_or("no pipes")?;
        let mut server = Self { child, input, output: BufReader::new(output), _sandbox: sandbox };
        server.request(json!({"method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "beside", "version": "1"},
        }}))?;
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(server)
    }

    /// Calls the tool; returns how long that took.
    fn call(&mut self, call: Value) -> Result<Duration, Box<dyn Error>> {
        let begin = now();
        let answer = self.request(call)?;
        let took = begin.elapsed();
        match answer.get("result").is_some_and(|result| result["isError"] != true) {
            true => Ok(took),
            false => Err(answer.to_string().into()),
        }
    }

    fn send(&mut self, message: &Value) -> Result<(), Box<dyn Error>> {
        Ok(self.input.write_all(format!("{message}\n").as_bytes())?)
    }

    /// Sends a request and reads until its response; requests follow each other, so all have the same id.
    fn request(&mut self, mut request: Value) -> Result<Value, Box<dyn Error>> {
        request["jsonrpc"] = json!("2.0");
        request["id"] = json!(1);
        self.send(&request)?;
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line)? == 0 {
                return Err("the server ended".into());
            }
            let message: Value = serde_json::from_str(&line)?;
            if message.get("id") == Some(&json!(1)) && message.get("method").is_none() {
                return Ok(message);
            }
        }
    }
}

impl Drop for McpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
