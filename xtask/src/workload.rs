//! The work that a profile is taken of: a start, and calls through the gateway to the servers behind it.

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
pub(crate) struct Clients {
    /// How many there are.
    pub(crate) count: u64,
    /// How many calls each of them makes, by every route in turn.
    pub(crate) calls: u64,
}

/// How a call is made, and which way the gateway passes it on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    /// In a session, to a server of the old era.
    Session,
    /// Without a session, to one of the new era.
    Stateless,
    /// In a session, to a server that is a process of ours.
    Process,
    /// By REST, to a server of the new era.
    Rest,
}

impl Route {
    /// All of them.
    const ALL: &[Self] = &[Self::Session, Self::Stateless, Self::Process, Self::Rest];

    const fn tool(self) -> &'static str {
        match self {
            Self::Session => "old__echo",
            Self::Stateless | Self::Rest => "new__echo",
            Self::Process => "own__echo",
        }
    }
}

/// The headers that every message has.
const HEADERS: &str = "Host: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";

/// Starts `gateway` before `server`, both of them the program, in a new `folder`; runs one round after the other, and
/// lets both end by themselves, for profiles are written at the end.
pub(crate) fn run(
    gateway: &mut Command,
    server: &mut Command,
    folder: &Path,
    rounds: &[Clients],
) -> Result<()> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder.join("behind"))?;
    let (behind, before) = (free_port()?, free_port()?);
    let config = config(behind, Path::new(server.get_program()));
    fs::write(folder.join("switchboard.toml"), config)?;
    let mut server = serve(server, &folder.join("behind"), behind)?;
    let mut gateway = serve(gateway, folder, before)?;
    rounds.iter().try_for_each(|clients| all_call(*clients, before))?;
    gateway.end()?;
    server.end()
}

fn all_call(clients: Clients, port: u16) -> Result<()> {
    thread::scope(|scope| {
        let clients: Vec<_> =
            (0..clients.count).map(|_| scope.spawn(|| call(port, clients))).collect();
        clients.into_iter().try_for_each(|client| match client.join() {
            Ok(done) => done,
            Err(_) => bail!("a client crashed"),
        })
    })
}

/// The one server behind, by both protocols; and `program` once more, as a process of the gateway's.
fn config(port: u16, program: &Path) -> String {
    let address = format!("url = \"http://127.0.0.1:{port}/mcp\"\n");
    format!(
        "[policy]\ndeny = [\"*__delete_*\"]\n\
         [servers.old]\nprotocol = \"legacy\"\n{address}\
         [servers.new]\nprotocol = \"2026-07-28\"\n{address}\
         [servers.own]\ncommand = {program:?}\nargs = [\"serve\", \"--stdio\"]\ncwd = \"behind\"\n"
    )
}

/// A port that nobody has now.
pub(crate) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// A program that serves until this is dropped.
pub(crate) struct Serving(Child);

#[expect(clippy::disallowed_methods, reason = "processes live in real time")]
pub(crate) fn serve(command: &mut Command, folder: &Path, port: u16) -> Result<Serving> {
    command.args(["serve", "--listen", &format!("127.0.0.1:{port}")]);
    command.current_dir(folder).env("XDG_STATE_HOME", folder).env("XDG_CONFIG_HOME", folder);
    let config = folder.join("switchboard.toml");
    if config.exists() {
        // One that is only found would have to be trusted.
        command.env("SWITCHBOARD_CONFIG", config);
    }
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
    /// Returns the id of the process.
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// Lets it end by itself.
    fn end(&mut self) -> Result<()> {
        let signalled = Command::new("kill").arg(self.0.id().to_string()).status()?;
        ensure!(signalled.success(), "the program cannot be told to end");
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

/// One client.
fn call(port: u16, clients: Clients) -> Result<()> {
    let mut connection = Connection(BufReader::new(TcpStream::connect(("127.0.0.1", port))?));
    let initialize = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"workload","version":"1"}}}"#;
    let (head, _) = connection.post("/mcp", "", initialize)?;
    let session = head.lines().find(|line| line.starts_with("mcp-session-id:"));
    let session = format!("{}\r\n", session.context("no session was opened")?);
    connection.post(
        "/mcp",
        &session,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    )?;
    connection.post("/mcp", &session, r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)?;
    for (route, id) in Route::ALL.iter().cycle().zip(0..clients.calls) {
        let answer = connection.call(*route, id, &session)?;
        ensure!(answer.contains("say two hundred"), "a call was not answered: {answer}");
    }
    Ok(())
}

/// A connection to the gateway.
struct Connection(BufReader<TcpStream>);

impl Connection {
    /// Makes a call; returns the answer.
    fn call(&mut self, route: Route, id: u64, session: &str) -> Result<String> {
        let text =
            "a text as long as those that tools are given and give back, say two hundred bytes "
                .repeat(2);
        let tool = route.tool();
        let arguments = format!(r#"{{"text":"{text}"}}"#);
        let stateless = format!(
            "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"
        );
        let (headers, meta) = match route {
            Route::Rest => {
                let path = format!("/api/tools/{tool}/call");
                return self.post(&path, "", &arguments).map(|(_, answer)| answer);
            }
            Route::Stateless => (
                &*stateless,
                r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"workload","version":"1"}},"#,
            ),
            Route::Session | Route::Process => (session, ""),
        };
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{{meta}"name":"{tool}","arguments":{arguments}}}}}"#
        );
        self.post("/mcp", headers, &message).map(|(_, answer)| answer)
    }

    /// Posts a message; returns the head of the answer, in small letters, and its body.
    fn post(&mut self, path: &str, headers: &str, body: &str) -> Result<(String, String)> {
        let length = body.len();
        let request = format!(
            "POST {path} HTTP/1.1\r\n{HEADERS}{headers}Content-Length: {length}\r\n\r\n{body}"
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
