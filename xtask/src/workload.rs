//! The work at which the program is watched: a start, and calls of both eras through it to a server behind it.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};

/// Clients that call at the same time.
#[derive(Clone, Copy)]
pub(crate) struct Crowd {
    /// How many there are.
    pub(crate) clients: u64,
    /// How many calls each of them makes: half in a session, half that stand alone.
    pub(crate) calls: u64,
}

impl Crowd {
    /// How many calls of the one era they make together, and how many of the other.
    pub(crate) const fn of_an_era(self) -> u64 {
        self.clients * self.calls / 2
    }
}

/// The headers that every message has.
const HEADERS: &str = "Host: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";

/// Starts `gateway` before `server`, both of them the program, in a `folder` that is made anew; has one crowd after the
/// other call, and both end by themselves, for profiles are written at the end.
pub(crate) fn run(
    gateway: &mut Command,
    server: &mut Command,
    folder: &Path,
    crowds: &[Crowd],
) -> Result<()> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder.join("behind"))?;
    let (behind, before) = (free_port()?, free_port()?);
    fs::write(folder.join("switchboard.toml"), config(behind))?;
    let mut server = serve(server, &folder.join("behind"), behind)?;
    let mut gateway = serve(gateway, folder, before)?;
    crowds.iter().try_for_each(|crowd| all_call(*crowd, before))?;
    gateway.end()?;
    server.end()
}

fn all_call(crowd: Crowd, port: u16) -> Result<()> {
    thread::scope(|scope| {
        let clients: Vec<_> =
            (0..crowd.clients).map(|_| scope.spawn(|| call(port, crowd.calls))).collect();
        clients.into_iter().try_for_each(|client| match client.join() {
            Ok(done) => done,
            Err(_) => bail!("a client crashed"),
        })
    })
}

/// The one server behind, spoken with in both ways.
fn config(port: u16) -> String {
    let address = format!("url = \"http://127.0.0.1:{port}/mcp\"\n");
    format!(
        "[policy]\ndeny = [\"*__delete_*\"]\n\
         [servers.old]\nprotocol = \"legacy\"\n{address}\
         [servers.new]\nprotocol = \"2026-07-28\"\n{address}"
    )
}

/// A port that nobody has now.
fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// A program that serves until this is dropped.
struct Serving(Child);

fn serve(command: &mut Command, folder: &Path, port: u16) -> Result<Serving> {
    command.args(["serve", "--listen", &format!("127.0.0.1:{port}")]);
    command.current_dir(folder).env("XDG_STATE_HOME", folder).env("XDG_CONFIG_HOME", folder);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut serving = Serving(command.spawn().context("failed to start the program")?);
    for _ in 0..600 {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return Ok(serving);
        }
        if let Some(status) = serving.0.try_wait()? {
            bail!("`switchboard serve` ended ({status}) before it listened");
        }
        thread::sleep(Duration::from_millis(100));
    }
    bail!("`switchboard serve` does not listen after a minute")
}

impl Serving {
    /// Lets it end by itself.
    fn end(&mut self) -> Result<()> {
        let asked = Command::new("kill").arg(self.0.id().to_string()).status()?;
        ensure!(asked.success(), "the program cannot be told to end");
        self.0.wait().map(drop).context("the program does not end")
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// One client: half of its calls in a session, half that stand alone.
fn call(port: u16, calls: u64) -> Result<()> {
    let mut line = Line(BufReader::new(TcpStream::connect(("127.0.0.1", port))?));
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"layout","version":"1"}}}"#;
    let (head, _) = line.post("", hello)?;
    let session = head.lines().find(|line| line.starts_with("mcp-session-id:"));
    let session = format!("{}\r\n", session.context("no session was opened")?);
    line.post(&session, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)?;
    line.post(&session, r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)?;
    let modern =
        "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: new__echo\r\n";
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"layout","version":"1"}},"#;
    let text = "a text as long as those that tools are given and give back, say two hundred bytes "
        .repeat(2);
    for id in 0..calls {
        let (headers, meta, era) =
            if id % 2 == 0 { (&*session, "", "old") } else { (modern, meta, "new") };
        let asked = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{{meta}"name":"{era}__echo","arguments":{{"text":"{text}"}}}}}}"#
        );
        let (_, answer) = line.post(headers, &asked)?;
        ensure!(answer.contains("\"result\""), "a call was not answered: {answer}");
    }
    Ok(())
}

/// A connection to the gateway.
struct Line(BufReader<TcpStream>);

impl Line {
    /// Posts a message; returns the head of the answer, in small letters, and its body.
    fn post(&mut self, headers: &str, body: &str) -> Result<(String, String)> {
        let length = body.len();
        let request = format!(
            "POST /mcp HTTP/1.1\r\n{HEADERS}{headers}Content-Length: {length}\r\n\r\n{body}"
        );
        self.0.get_mut().write_all(request.as_bytes())?;
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut header = String::new();
            ensure!(self.0.read_line(&mut header)? > 0, "the gateway closed the connection");
            let header = header.trim_end().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
            head.push_str(&header);
            head.push('\n');
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body)?;
        Ok((head, String::from_utf8_lossy(&body).into_owned()))
    }
}
