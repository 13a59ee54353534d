//! Clients that only do OAuth, before the binary as their authorization server: each with its own OAuth, unattended (SPEC AU-4).
//!
//! The person before the browser is `oauth/browser.py`, and once Chromium. Afterwards nothing that was secret is found in the state folder or in the log.

mod recorder;

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread,
};

use serde_json::{Value, json};
use switchboard_testkit::secrets;

use recorder::TrafficRecorder;

use crate::serving::{Ending, free_port, part, program, switchboard};

pub(crate) const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real/oauth");

/// A gateway that demands a token of everybody, and writes a log.
struct OAuthGateway {
    folder: tempfile::TempDir,
    process: Ending,
    /// Before it: clients and browsers know no other address.
    recorder: TrafficRecorder,
    /// With `http://`.
    url: String,
    /// The token of the person.
    token: String,
}

impl OAuthGateway {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = "[serve]\nrequire_token = true\naccess_log = true\n[serve.oauth]\naccess_token = '3s'\n";
        fs::write(folder.path().join("switchboard.toml"), config).unwrap();
        let new = switchboard(folder.path(), &["token", "new", "--name", "ada"]).output().unwrap();
        let token = String::from_utf8(new.stdout).unwrap().trim().to_owned();
        let log = fs::File::create(folder.path().join("log")).unwrap();
        let words = ["serve", "--json", "--listen", "127.0.0.1:0"];
        let mut command = switchboard(folder.path(), &words);
        command.env("RUST_LOG", "trace").env("TMPDIR", folder.path().join("state"));
        command.stdout(Stdio::piped()).stderr(log);
        let mut process = Ending(command.spawn().unwrap());
        let mut line = String::new();
        BufReader::new(process.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let told: Value = serde_json::from_str(&line).unwrap();
        let address = told["address"].as_str().unwrap().replace("http://", "");
        let recorder = TrafficRecorder::before(&address);
        let url = format!("http://{}", recorder.address);
        Self { folder, process, recorder, url, token }
    }

    fn mcp(&self) -> String {
        format!("{}/mcp", self.url)
    }

    /// A program of the person.
    fn program(&self, path: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = program(path, self.folder.path());
        command.env("TOKEN", &self.token).env("HOME", self.folder.path().join("home"));
        command.env("SWITCHBOARD_PARTS", part("."));
        // The inspector opens a browser without a terminal only if it is told to.
        command.env("MCP_AUTO_OPEN_ENABLED", "true");
        command
    }

    /// Opens the address of the gateway that a program shows in this line, if it shows one.
    fn opens(&self) -> impl Fn(&str) + Send + 'static {
        let (start, token) = (format!("{}/oauth/authorize?", self.url), self.token.clone());
        move |line| {
            let Some(at) = line.find(&start) else { return };
            let address = line[at..].split_whitespace().next().unwrap();
            let mut browser = Command::new(python());
            browser.env("TOKEN", &token).arg(format!("{FOLDER}/browser.py"));
            said(browser.args(["--visit", address]));
        }
    }

    /// Checks that the client stands among the tokens, and ends it.
    fn revoke(&self, name: &str) {
        let list = switchboard(self.folder.path(), &["token", "list"]).output().unwrap();
        let list = String::from_utf8(list.stdout).unwrap();
        let line = list
            .lines()
            .find(|line| line.starts_with(&format!("{name}  ")))
            .unwrap_or_else(|| panic!("{list}"));
        assert!(line.contains("for ada") && line.contains("OAuth client"), "{line}");
        let revoked = switchboard(self.folder.path(), &["token", "revoke", name]).status().unwrap();
        assert!(revoked.success());
    }

    /// Checks that clients got a code, an access token and a refresh token.
    fn has_given_tokens(&self) {
        let passed = self.recorder.secrets();
        for kind in ["sb_code_", "sb_at_", "sb_rt_"] {
            assert!(passed.iter().any(|secret| secret.starts_with(kind)), "{kind}: {passed:?}");
        }
    }

    /// Ends it, and checks that none of the secrets, nor any other that has passed, was written.
    fn leaves_nothing(mut self, secrets: &[String]) {
        let pid = self.process.0.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        self.process.0.wait().unwrap();
        let passed = self.recorder.secrets();
        assert!(passed.iter().any(|secret| secret.starts_with("sb_code_")), "{passed:?}");
        let known = secrets.iter().chain(&passed).chain([&self.token]);
        let known: Vec<_> = known.map(String::as_str).collect();
        let log = fs::read(self.folder.path().join("log")).unwrap();
        assert!(!log.is_empty());
        assert_eq!(secrets::scan_text(&String::from_utf8_lossy(&log), "the log", &known), []);
        secrets::assert_none(&self.folder.path().join("state"), &[], &known);
    }
}

fn files_of(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files_of(&path, found),
            false if path.is_file() => found.push(path),
            false => {}
        }
    }
}

pub(crate) fn python() -> PathBuf {
    part("mcp-python/venv/bin/python")
}

fn node() -> PathBuf {
    part("mcp-node/node_modules/.bin/node")
}

/// What a program prints.
pub(crate) fn said(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let (said, errors) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?}\n{said}\n{errors}");
    said.into_owned()
}

/// Checks what an SDK saw. Returns the secrets that it had.
pub(crate) fn used_tools(said: &str) -> Vec<String> {
    let seen: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    assert_eq!(seen["texts"], Value::from(vec![r#"{"result":42}"#; 3]), "{seen}");
    assert_eq!((&seen["pages"], &seen["rotated"]), (&Value::from(1), &Value::from(true)), "{seen}");
    let code = seen["went_to"].as_str().unwrap().split(['=', '&']).nth(1).unwrap();
    let secrets = seen["secrets"].as_array().unwrap().iter().filter_map(Value::as_str);
    secrets.chain([code]).map(str::to_owned).collect()
}

// AU-4
#[test]
fn the_python_sdk_signs_in() {
    let gateway = OAuthGateway::start();
    let mut secrets = Vec::new();
    for mode in ["legacy", "auto", "2026-07-28"] {
        let mut command = gateway.program(python());
        command.args([
            &format!("{FOLDER}/client.py"),
            mode,
            &gateway.mcp(),
            &format!("{FOLDER}/browser.py"),
        ]);
        secrets.extend(used_tools(&said(&mut command)));
        gateway.revoke("oauth:python-sdk");
    }
    gateway.leaves_nothing(&secrets);
}

// AU-4
#[test]
fn the_typescript_sdk_signs_in() {
    let gateway = OAuthGateway::start();
    let mut secrets = Vec::new();
    for mode in ["legacy", "auto", "2026-07-28"] {
        let mut command = gateway.program(node());
        command.arg(format!("{FOLDER}/client.mjs")).arg(part("mcp-clients/node_modules"));
        command.args([mode, &gateway.mcp()]).arg(python()).arg(format!("{FOLDER}/browser.py"));
        secrets.extend(used_tools(&said(&mut command)));
        gateway.revoke("oauth:typescript-sdk");
    }
    gateway.leaves_nothing(&secrets);
}

// AU-4
#[test]
fn the_rust_sdk_signs_in() {
    let gateway = OAuthGateway::start();
    let mut secrets = Vec::new();
    for mode in ["legacy", "auto", "2026-07-28"] {
        let mut command = gateway.program(part("rmcp-client/target/debug/rmcp-client"));
        command.args([mode, &gateway.mcp()]).arg(python()).arg(format!("{FOLDER}/browser.py"));
        secrets.extend(used_tools(&said(&mut command)));
        gateway.revoke("oauth:rust-sdk");
    }
    gateway.leaves_nothing(&secrets);
}

// AU-4
#[test]
fn chromium_lets_a_client_in() {
    let gateway = OAuthGateway::start();
    let mut command = gateway.program("node");
    let said = said(command.arg(format!("{FOLDER}/chromium.mjs")).arg(&gateway.url));
    let codes: Vec<String> = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    gateway.leaves_nothing(&codes);
}

/// Runs a program that shows an address of the gateway, which the person then opens. Returns what it says.
fn with_a_person(gateway: &OAuthGateway, program: &Path, words: &[&str]) -> String {
    let mut command = gateway.program("sh");
    command.args(["-c", "exec \"$@\" 2>&1", "sh"]).arg(program).args(words);
    let mut running = Ending(command.stdout(Stdio::piped()).spawn().unwrap());
    let (mut whole, open) = (String::new(), gateway.opens());
    let lines = BufReader::new(running.0.stdout.take().unwrap()).lines();
    for line in lines.map_while(Result::ok) {
        open(&line);
        whole.push_str(&line);
        whole.push('\n');
    }
    assert!(running.0.wait().unwrap().success(), "{whole}");
    whole
}

/// Leaves what the suite said to `cargo xtask conformance`, where that has asked for it.
fn keep(run: &str, said: &str) {
    if let Some(folder) = std::env::var_os("SWITCHBOARD_CONFORMANCE") {
        fs::write(Path::new(&folder).join(format!("{run}.txt")), said).unwrap();
    }
}

// AU-4
#[test]
fn the_conformance_suite_accepts_the_authorization_server() {
    let gateway = OAuthGateway::start();
    let port = free_port();
    let redirect = format!("http://127.0.0.1:{port}/callback");
    let metadata = json!({"client_name": "Suite", "redirect_uris": [redirect]});
    let address = gateway.url.replace("http://", "");
    let head = "Content-Type: application/json\r\n";
    let client =
        crate::serving::http(&address, "POST", "/oauth/register", head, &metadata.to_string());
    let client: Value = serde_json::from_str(&client).unwrap();
    let suite = part("mcp-node/node_modules/.bin/conformance");
    let (suite, mcp, port) = (suite.to_str().unwrap(), gateway.mcp(), port.to_string());
    for version in ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] {
        let words = [suite, "authorization", "--url", &gateway.url, "--resource", &mcp];
        let client = ["--client-id", client["client_id"].as_str().unwrap(), "--port", &port];
        let words = [&words[..], &client, &["--spec-version", version]].concat();
        let said = with_a_person(&gateway, &node(), &words);
        keep(&format!("authorization-{version}"), &said);
        // Each revision has both scenarios, and nothing in them warns or is left out.
        assert!(said.contains("authorization-code-grant: 1 passed, 0 failed"), "{said}");
        assert!(!["WARNING", "SKIPPED", "⚠"].iter().any(|word| said.contains(word)), "{said}");
    }
    gateway.has_given_tokens();
    gateway.leaves_nothing(&[]);
}

// AU-4
#[test]
fn the_inspector_signs_in() {
    let gateway = OAuthGateway::start();
    let callback = format!("http://127.0.0.1:{}/oauth/callback", free_port());
    let inspector = part("mcp-clients/node_modules/.bin/mcp-inspector");
    let mcp = gateway.mcp();
    let words = [inspector.to_str().unwrap(), "--cli", &mcp, "--callback-url", &callback];
    let call =
        ["--method", "tools/call", "--tool-name", "math_eval", "--tool-arg", "expression=6*7"];
    let said = with_a_person(&gateway, &node(), &[&words[..], &call].concat());
    assert!(said.contains("42"), "{said}");
    gateway.has_given_tokens();
    gateway.leaves_nothing(&[]);
}

// AU-4
#[test]
fn mcp_remote_signs_in() {
    let gateway = OAuthGateway::start();
    let mut command = gateway.program(node());
    command.arg(part("mcp-remote/node_modules/.bin/mcp-remote")).arg(gateway.mcp());
    command.arg("--allow-http").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut running = Ending(command.stderr(Stdio::piped()).spawn().unwrap());
    let (told, open) = (running.0.stderr.take().unwrap(), gateway.opens());
    thread::spawn(move || {
        BufReader::new(told).lines().map_while(Result::ok).for_each(|line| open(&line))
    });
    let mut sent = running.0.stdin.take().unwrap();
    let mut lines = BufReader::new(running.0.stdout.take().unwrap()).lines();
    let mut ask = |message: Value, is_answered: bool| -> Value {
        writeln!(sent, "{message}").unwrap();
        if !is_answered {
            return Value::Null;
        }
        serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap()
    };
    let who = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let started =
        ask(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": who}), true);
    assert_eq!(started["result"]["serverInfo"]["name"], "switchboard", "{started}");
    ask(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}), false);
    let call = json!({"name": "math_eval", "arguments": {"expression": "6*7"}});
    let called =
        ask(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}), true);
    assert_eq!(called["result"]["structuredContent"]["result"], 42, "{called}");
    drop((running, sent));
    // It keeps its tokens in a file, so they are known.
    let mut kept = Vec::new();
    files_of(&gateway.folder.path().join("home/.mcp-auth"), &mut kept);
    let tokens = kept.iter().find(|file| file.to_string_lossy().ends_with("tokens.json")).unwrap();
    let tokens: Value = serde_json::from_slice(&fs::read(tokens).unwrap()).unwrap();
    let secret = |name: &str| tokens[name].as_str().unwrap().to_owned();
    gateway.leaves_nothing(&[secret("access_token"), secret("refresh_token")]);
}
