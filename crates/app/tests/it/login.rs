//! `switchboard login` and `logout`, with an MCP server that requires OAuth.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt,
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    thread,
};

use serde_json::{Value, json};
use switchboard_testkit::secrets;

use crate::{
    fixture::wait_until,
    pty,
    test_folder::{CommandOutput, TestFolder},
};

const ACCESS: &str = "opaque-access-value-of-ada";
const REFRESH: &str = "opaque-refresh-value-of-ada";
const CODE: &str = "one-time-code-value";
const DEVICE: &str = "device-code-value-of-ada";

/// An MCP server with one tool, which is its own authorization server.
struct SignInServer {
    origin: String,
    received: Arc<Mutex<Received>>,
}

/// What the server saw.
#[derive(Default)]
struct Received {
    /// The paths that were asked for.
    paths: Vec<String>,
    /// Arguments and environments of the program's processes, while it had a code or a token in its hands.
    processes: Vec<String>,
}

impl SignInServer {
    fn start() -> Self {
        Self::start_with("")
    }

    /// One at which people can sign in on another device, if they ever do.
    fn with_devices() -> Self {
        Self::start_with("device")
    }

    fn start_with(flow: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let received = Arc::<Mutex<Received>>::default();
        let (of_thread, told) = (origin.clone(), received.clone());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (origin, told) = (of_thread.clone(), told.clone());
                thread::spawn(move || answer(stream.unwrap(), &origin, flow, &told));
            }
        });
        Self { origin, received }
    }

    fn place(&self) -> TestFolder {
        let url = &self.origin;
        TestFolder::with_config(&format!(
            "[mcp]\nretry_attempts = 1\n[servers.docs]\nurl = \"{url}/mcp\"\nprotocol = \"legacy\"\n\
             [servers.local]\ncommand = \"true\"\nenabled = false\n[servers.plain]\nurl = \"{url}/nothing\"\nenabled = false\n"
        ))
        .variable("BROWSER", "true")
        .with_own_temp()
    }

    fn was_asked(&self, path: &str) -> bool {
        self.received.lock().unwrap().paths.iter().any(|asked| asked == path)
    }
}

/// Answers one request.
fn answer(stream: TcpStream, origin: &str, flow: &str, received: &Mutex<Received>) {
    let mut reader = BufReader::new(stream);
    let (mut first, mut length, mut is_known) = (String::new(), 0, false);
    reader.read_line(&mut first).unwrap();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) <= 2 {
            break;
        }
        let lower = line.to_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        is_known |= line.contains(&format!("Bearer {ACCESS}"));
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let target = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let processes = if path == "/token" || is_known { processes() } else { Vec::new() };
    {
        let mut received = received.lock().unwrap();
        received.paths.push(path.to_owned());
        received.processes.extend(processes);
    }
    let (status, headers, content) = match flow {
        "device" => respond_to_device(path, origin),
        _ => None,
    }
    .unwrap_or_else(|| respond(path, query, &body, is_known, origin));
    let head = format!(
        "HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n",
        content.len()
    );
    _ = reader.get_mut().write_all(format!("{head}{content}").as_bytes());
}

/// Arguments and environment of each process of the program, and of those that it has started.
fn processes() -> Vec<String> {
    let read = |pid: &str, what: &str| fs::read(format!("/proc/{pid}/{what}")).unwrap_or_default();
    let is_program = |pid: &str| {
        let words = read(pid, "cmdline");
        words.split(|byte| *byte == 0).next() == Some(env!("CARGO_BIN_EXE_switchboard").as_bytes())
    };
    let parent = |pid: &str| {
        let status = String::from_utf8_lossy(&read(pid, "status")).into_owned();
        status.lines().find_map(|line| Some(line.strip_prefix("PPid:")?.trim().to_owned()))
    };
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let ours = pids
        .filter(|pid| pid.parse::<u32>().is_ok())
        .filter(|pid| is_program(pid) || parent(pid).is_some_and(|parent| is_program(&parent)));
    let bytes = ours.map(|pid| [read(&pid, "cmdline"), read(&pid, "environ")].concat());
    bytes.map(|bytes| String::from_utf8_lossy(&bytes).replace('\0', "\n")).collect()
}

/// The device flow, of which nobody makes use.
fn respond_to_device(path: &str, origin: &str) -> Option<(&'static str, String, String)> {
    let (status, content) = match path {
        "/.well-known/oauth-authorization-server" => (
            "200 OK",
            json!({
                "issuer": origin, "token_endpoint": format!("{origin}/token"),
                "registration_endpoint": format!("{origin}/register"),
                "device_authorization_endpoint": format!("{origin}/device"),
            }),
        ),
        "/device" => (
            "200 OK",
            json!({
                "device_code": DEVICE, "user_code": "ABCD-EFGH", "verification_uri": format!("{origin}/activate"),
                "expires_in": 600, "interval": 1,
            }),
        ),
        "/token" => ("400 Bad Request", json!({"error": "authorization_pending"})),
        _ => return None,
    };
    Some((status, "Content-Type: application/json\r\n".to_owned(), content.to_string()))
}

fn respond(
    path: &str,
    query: &str,
    body: &[u8],
    is_known: bool,
    origin: &str,
) -> (&'static str, String, String) {
    let json = |value: Value| {
        ("200 OK", "Content-Type: application/json\r\n".to_owned(), value.to_string())
    };
    match path {
        "/.well-known/oauth-protected-resource/mcp" => {
            json(json!({"resource": format!("{origin}/mcp"), "authorization_servers": [origin]}))
        }
        "/.well-known/oauth-authorization-server" => json(json!({
            "issuer": origin, "authorization_endpoint": format!("{origin}/authorize"),
            "token_endpoint": format!("{origin}/token"), "registration_endpoint": format!("{origin}/register"),
            "revocation_endpoint": format!("{origin}/revoke"), "code_challenge_methods_supported": ["S256"],
        })),
        "/register" => json(json!({"client_id": "ours"})),
        "/authorize" => {
            let parameter = |name: &str| {
                let found =
                    query.split('&').find_map(|pair| pair.strip_prefix(&format!("{name}=")));
                found.unwrap().replace("%3A", ":").replace("%2F", "/")
            };
            let to =
                format!("{}?code={CODE}&state={}", parameter("redirect_uri"), parameter("state"));
            ("302 Found", format!("Location: {to}\r\n"), String::new())
        }
        "/token" => json(json!({
            "access_token": ACCESS, "refresh_token": REFRESH, "token_type": "Bearer", "expires_in": 3600, "scope": "read",
        })),
        "/revoke" => json(json!({})),
        "/mcp" if is_known => {
            mcp(body).map_or(("202 Accepted", String::new(), String::new()), json)
        }
        "/mcp" => (
            "401 Unauthorized",
            "WWW-Authenticate: Bearer scope=\"read\"\r\n".to_owned(),
            String::new(),
        ),
        _ => ("404 Not Found", String::new(), String::new()),
    }
}

fn mcp(body: &[u8]) -> Option<Value> {
    let message: Value = serde_json::from_slice(body).ok()?;
    let result = match message["method"].as_str()? {
        "initialize" => json!({
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "docs", "version": "1"},
        }),
        "tools/list" => json!({"tools": [{"name": "read", "inputSchema": {"type": "object"}}]}),
        // A server that tells too much.
        "tools/call" => {
            json!({"content": [{"type": "text", "text": format!("read with {ACCESS}")}]})
        }
        _ => return None,
    };
    Some(json!({"jsonrpc": "2.0", "id": message.get("id")?, "result": result}))
}

/// A GET without more; returns the whole response.
fn get(url: &str) -> String {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

fn location(response: &str) -> String {
    response.lines().find_map(|line| line.strip_prefix("Location: ")).unwrap().trim().to_owned()
}

/// Signs in as a person does: takes the address from stderr into a browser, which ends on our page.
fn sign_in(place: &TestFolder) -> (CommandOutput, String) {
    let mut child = place.command(&["login", "docs"]).stdin(Stdio::null()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut told = String::new();
    while !told.contains("/authorize?") {
        assert!(stderr.read_line(&mut told).unwrap() > 0, "{told}");
    }
    let address = told.lines().last().unwrap().trim().to_owned();
    let page = get(&location(&get(&address)));
    stderr.read_to_string(&mut told).unwrap();
    let mut ran = CommandOutput::of(child.wait_with_output().unwrap());
    ran.stderr = told;
    (ran, page)
}

// AU-1
#[test]
fn a_server_that_wants_a_sign_in_is_used_after_it() {
    let server = SignInServer::start();
    let place = server.place();
    let called = place.call(&["docs__read"]);
    assert_eq!(
        (called["success"].clone(), called["error_kind"].clone()),
        (json!(false), json!("unavailable")),
        "{called}"
    );
    assert!(called.to_string().contains("switchboard login docs"), "{called}");
    let doctor = place.run(&["doctor"]);
    assert!(doctor.stdout.contains("sign in with `switchboard login docs`"), "{doctor:?}");
    let servers = place.run(&["servers"]);
    assert!(servers.stdout.contains("sign in with `switchboard login docs`"), "{servers:?}");

    let (ran, page) = sign_in(&place);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, ""), "{ran:?}");
    assert!(
        ran.stderr.contains(&format!("docs: signed in at {}, scopes read, until ", server.origin)),
        "{ran:?}"
    );
    assert!(page.contains("You can close this page and go back to the terminal."), "{page}");

    let called = place.call(&["docs__read"]);
    assert_eq!(called["success"], true, "{called}");
    let servers = place.run(&["servers"]);
    assert!(
        servers.stdout.contains("signed in at") && servers.stdout.contains("scopes read"),
        "{servers:?}"
    );
    assert!(!servers.stdout.contains("sign in with"), "{servers:?}");
    let doctor = place.run(&["doctor"]);
    assert!(doctor.stdout.contains(", then renewed"), "{doctor:?}");
    // The config is trusted by name; nothing of the sign-in is anywhere, although the server repeats its token.
    secrets::assert_none(place.path(), &[], &[ACCESS, REFRESH, CODE]);
    // Nor did any other user of the machine see it.
    let processes = server.received.lock().unwrap().processes.join("\n");
    assert!(processes.contains("\nlogin\ndocs\n"), "{processes}");
    let leaks =
        secrets::scan_text(&processes, "arguments or environment", &[ACCESS, REFRESH, CODE]);
    assert_eq!(leaks, []);

    let out = place.run(&["logout", "docs"]);
    assert_eq!(out.stderr, format!("docs: signed out, and revoked at {}\n", server.origin));
    assert!(server.was_asked("/revoke"));
    assert!(place.error(&["docs__read"]).contains("sign-in required"));
    assert_eq!(place.run(&["logout", "docs"]).stderr, "docs: nobody is signed in\n");
}

// AU-1
#[test]
fn the_address_can_be_pasted_and_a_wrong_one_is_refused() {
    let place = SignInServer::start().place();
    let mut child =
        place.command(&["login", "docs", "--paste"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut told = String::new();
    while !told.contains("/authorize?") {
        assert!(stderr.read_line(&mut told).unwrap() > 0, "{told}");
    }
    let ended_on = location(&get(told.lines().last().unwrap().trim()));
    writeln!(child.stdin.take().unwrap(), "{ended_on}").unwrap();
    assert!(child.wait().unwrap().success());
    let wrong = place.run_with_stdin(&["login", "docs", "--paste"], ended_on.as_bytes());
    assert!(
        wrong.status == 1
            && wrong.stderr.contains("not signed in: the response of the browser was refused"),
        "{wrong:?}"
    );
}

// AU-1: Ctrl-C leaves nothing open: no port, no process, no file.
#[test]
fn an_interrupted_sign_in_leaves_nothing_open() {
    let server = SignInServer::start();
    for how in [&["login", "docs"][..], &["login", "docs", "--paste"]] {
        let place = server.place();
        let mut child = place.command(how).stdin(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut told = String::new();
        while !told.contains("/authorize?") {
            assert!(stderr.read_line(&mut told).unwrap() > 0, "{told}");
        }
        let (_, rest) = told.split_once("redirect_uri=http%3A%2F%2F127.0.0.1%3A").unwrap();
        let port: u16 = rest[..rest.find('%').unwrap()].parse().unwrap();
        assert!(TcpStream::connect(("127.0.0.1", port)).is_ok());
        let pid = child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        assert!(!child.wait().unwrap().success());
        assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "the port is open");
        let state = place.path().join("state/switchboard");
        assert!(!state.join("vault").exists());
        assert!(place.run(&["logout", "docs"]).stderr.contains("nobody is signed in"));
        // And the next one works.
        assert_eq!(sign_in(&place).0.status, 0);
    }
}

// AU-1: nor while it waits for another device.
#[test]
fn an_interrupted_device_flow_leaves_nothing_open() {
    let server = SignInServer::with_devices();
    let place = server.place();
    let mut child =
        place.command(&["login", "docs", "--device"]).stdin(Stdio::null()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut told = String::new();
    while !told.contains("ABCD-EFGH") {
        assert!(stderr.read_line(&mut told).unwrap() > 0, "{told}");
    }
    wait_until("it asks whether the person is done", || server.was_asked("/token"));
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert!(!child.wait().unwrap().success());
    stderr.read_to_string(&mut told).unwrap();
    // Whatever it had started would hold stderr open, and has ended too.
    assert!(!place.path().join("state/switchboard/vault").exists());
    assert!(place.run(&["logout", "docs"]).stderr.contains("nobody is signed in"));
    assert_eq!(secrets::scan_text(&told, "what was printed", &[DEVICE]), []);
    secrets::assert_none(place.path(), &[], &[DEVICE]);
}

// AU-1: 1 for what is refused, 2 for what is not there.
#[test]
fn what_cannot_be_signed_in_to_is_told() {
    let place = SignInServer::start().place();
    assert!(place.refusal(&["login", "dosc"]).contains("no server `dosc`; did you mean `docs`?"));
    assert!(place.refusal(&["logout", "nobody"]).contains("no server `nobody`"));
    assert!(
        place.refusal(&["login", "local"]).contains("only servers with a `url` are signed in to")
    );
    let plain = place.run(&["login", "docs", "--device"]);
    assert!(plain.status == 1 && plain.stderr.contains("has no device flow"), "{plain:?}");
    let dead = TestFolder::with_config("[servers.docs]\nurl = \"http://127.0.0.1:9/mcp\"\n");
    let dead = dead.run(&["login", "docs"]);
    assert!(
        dead.status == 1 && dead.stderr.starts_with("not signed in: failed to reach the server"),
        "{dead:?}"
    );
}

// AU-1
#[test]
fn adding_a_server_that_wants_a_sign_in_says_so() {
    let server = SignInServer::start();
    let place = TestFolder::new();
    let home = place.path().join("config").display().to_string();
    let place = place.variable("XDG_CONFIG_HOME", &home);
    let added = place.run(&["add", "docs", &format!("{}/mcp", server.origin)]);
    assert_eq!(added.status, 0, "{added:?}");
    assert!(added.stdout.contains("sign-in required: switchboard login docs"), "{added:?}");
}

/// A proxy that answers requests for a server of the public internet itself: with a challenge that names `document`. Returns its
/// port, and the targets of its requests.
fn proxy(document: &'static str) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let told = asked.clone();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut reader = BufReader::new(stream.unwrap());
            let (mut first, mut line) = (String::new(), String::new());
            reader.read_line(&mut first).unwrap();
            while reader.read_line(&mut line).unwrap() > 2 {
                line.clear();
            }
            told.lock().unwrap().push(first.trim().to_owned());
            let answer = match first.starts_with("CONNECT") {
                true => "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n".to_owned(),
                false => format!(
                    "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer resource_metadata=\"{document}\"\r\n\
                     Content-Length: 0\r\nConnection: close\r\n\r\n"
                ),
            };
            _ = reader.get_mut().write_all(answer.as_bytes());
        }
    });
    (port, asked)
}

// AU-1: the proxy resolves names, so what a server of the public internet names is looked up before.
#[test]
fn a_proxy_is_asked_for_nothing_private() {
    let config = "[servers.docs]\nurl = \"http://1.1.1.1/mcp\"\n";
    for (host, document, asked_for) in [
        ("localhost", "https://1.1.1.1/metadata", Some("CONNECT 1.1.1.1:443 HTTP/1.1")),
        ("localhost", "https://localhost/metadata", None),
        ("127.0.0.1", "https://localhost/metadata", None),
        ("127.0.0.1", "https://10.0.0.1/metadata", None),
    ] {
        let (port, asked) = proxy(document);
        // The proxy's own host may well be private.
        let at = format!("http://{host}:{port}");
        let place = TestFolder::with_config(config).variable("HTTP_PROXY", &at);
        let place = place.variable("HTTPS_PROXY", &at);
        let login = place.run(&["login", "docs"]);
        assert_eq!(login.status, 1, "{login:?}");
        let is_private = login.stderr.contains("is in a private network");
        assert_eq!(is_private, asked_for.is_none(), "{login:?}");
        let asked = asked.lock().unwrap();
        let tunnels = asked.iter().filter(|line| line.starts_with("CONNECT"));
        assert_eq!(tunnels.map(String::as_str).collect::<Vec<_>>(), Vec::from_iter(asked_for));
    }
}

// AU-1: on a terminal, `add` of a server that wants a sign-in leads into it.
#[test]
fn add_leads_into_the_sign_in_on_a_terminal() {
    let server = SignInServer::start();
    let script = "#!/bin/sh\nprintf '%s' \"$1\" > opened.part\nmv opened.part opened\n";
    let place = server.place().file("browser", script);
    let browser = place.path().join("browser");
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).unwrap();
    let place = place.variable("BROWSER", browser.to_str().unwrap());
    let terminal = pty::start(place.command(&["add", "mail", &format!("{}/mcp", server.origin)]));
    let opened = place.path().join("opened");
    wait_until("the browser is opened", || opened.exists());
    let page = get(&location(&get(&fs::read_to_string(&opened).unwrap())));
    assert!(page.contains("You can close this page and go back to the terminal."), "{page}");
    let shown = terminal.ended();
    assert!(shown.status == 0 && shown.text.contains("mail: signed in at"), "{shown:?}");
    assert_eq!(place.call(&["mail__read"])["success"], true);
}
