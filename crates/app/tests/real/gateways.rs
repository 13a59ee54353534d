//! Two gateways of one cluster behind a balancer, with a real NATS between them: whatever a request needs is known wherever it
//! arrives, and one that is killed takes nothing along.

mod balancer;
mod oauth;
mod sign_ins;

use std::{
    io::{Read, Write},
    net::TcpStream,
    thread,
};

use serde_json::{Value, json};
use switchboard_testkit::{nats::Nats, secrets};
use tempfile::TempDir;

use crate::{
    clients::{client, listed_and_called},
    serving::{Serving, part, switchboard, wait_for},
};

/// A tool about which a person is asked.
const WEATHER: &str = r#"
[[tools]]
name = "weather"
description = "Weather of a city"
parameters = { type = "object", properties = { city = { type = "string" } } }
implementation = { type = "mock", mock_response = { temp = 21 } }
[policy]
ask = ["weather"]
"#;

/// Two gateways, each as on a machine of its own.
struct TestCluster {
    gateways: Vec<Serving>,
    folders: [TempDir; 2],
    balancer: String,
    nats: Nats,
    _kept: TempDir,
}

impl TestCluster {
    fn start(config: &str) -> Self {
        let kept = TempDir::new().unwrap();
        let nats = Nats::start(&part("."), kept.path());
        let config = format!("[cluster]\nnats = '{}'\n{config}", nats.url());
        let folders = [TempDir::new().unwrap(), TempDir::new().unwrap()];
        let start = |folder: &TempDir| Serving::start(folder.path(), &config);
        let gateways: Vec<_> = folders.iter().map(start).collect();
        let addresses = gateways.iter().map(|gateway| gateway.address.clone());
        let balancer = balancer::before(addresses.collect());
        Self { gateways, folders, balancer, nats, _kept: kept }
    }

    /// What a command says on one of the machines.
    fn run(&self, machine: usize, words: &[&str]) -> Value {
        let output = switchboard(self.folders[machine].path(), words).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {errors}");
        serde_json::from_slice(&output.stdout).unwrap_or_default()
    }

    /// Checks that none of the secrets is in a file of a machine or of NATS.
    fn has_none_of(&self, secrets: &[&str]) {
        for folder in self.folders.iter().chain([&self._kept]) {
            secrets::assert_none(folder.path(), &[], secrets);
        }
    }

    /// A token that every gateway knows.
    fn token(&self, name: &str, more: &[&str]) -> String {
        let words = [&["token", "new", "--json", "--name", name], more].concat();
        let secret = self.run(0, &words)["token"].as_str().unwrap().to_owned();
        for gateway in &self.gateways {
            let known =
                || (bearing(&gateway.address, "/api/tools", &secret).status == 200).then_some(());
            wait_for("the token", known);
        }
        secret
    }
}

/// An answer, as it came.
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    /// What a header says.
    fn header(&self, name: &str) -> &str {
        let fields = self.head.lines().filter_map(|line| line.split_once(": "));
        let mut found = fields.filter(|(own, _)| own.eq_ignore_ascii_case(name));
        found.next().unwrap_or_else(|| panic!("no {name}: {}", self.head)).1
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{}", self.body))
    }
}

fn ask(address: &str, method: &str, path: &str, head: &str, body: &str) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n{head}\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer:?}"));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Answer { status: status.unwrap(), head: head.to_owned(), body: body.to_owned() }
}

fn bearing(address: &str, path: &str, secret: &str) -> Answer {
    ask(address, "GET", path, &bearer(secret), "")
}

fn bearer(secret: &str) -> String {
    format!("Authorization: Bearer {secret}\r\n")
}

// GW-2
#[test]
fn a_token_and_its_rate_hold_over_both() {
    let mut cluster = TestCluster::start("[serve]\nrequire_token = true\n");
    // The second is made later: where it is known, the first is.
    let few = cluster.run(0, &["token", "new", "--json", "--name", "few", "--rate", "6/d"]);
    let few = few["token"].as_str().unwrap().to_owned();
    let secret = cluster.token("ada", &["--watch"]);
    assert_eq!(ask(&cluster.balancer, "GET", "/api/tools", "", "").status, 401);
    let asked = || bearing(&cluster.balancer, "/api/tools", &few).status;
    let statuses: Vec<_> = (0..12).map(|_| asked()).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 6, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == 429).count(), 6, "{statuses:?}");
    let listed = cluster.run(1, &["token", "list", "--json"]);
    let names = listed.as_array().unwrap().iter().map(|token| token["name"].clone());
    assert_eq!(names.collect::<Vec<_>>(), ["ada", "few"]);

    // While NATS is away, what is known holds.
    cluster.nats.kill();
    for gateway in &cluster.gateways {
        let ready = || bearing(&gateway.address, "/readyz", &secret).json();
        let degraded = wait_for("it to be noticed", || ready()["degraded"].get(0).cloned());
        assert_eq!(
            (&degraded["server"], &degraded["status"]["state"]),
            (&json!("nats"), &json!("away"))
        );
        assert_eq!(bearing(&gateway.address, "/api/tools", &secret).status, 200);
    }
    cluster.nats.restart();
    for gateway in &cluster.gateways {
        let ready = || ask(&gateway.address, "GET", "/readyz", "", "").json()["status"] == "ready";
        wait_for("it to be back", || ready().then_some(()));
    }

    cluster.run(1, &["token", "revoke", "ada"]);
    for gateway in &cluster.gateways {
        let gone =
            || (bearing(&gateway.address, "/api/tools", &secret).status == 401).then_some(());
        wait_for("the token to be gone", gone);
    }
}

/// What waits for a person, as a gateway lists it.
// RC-2
#[test]
fn either_sums_the_calls_of_both_and_names_who_is_gone() {
    let mut cluster = TestCluster::start("[serve]\nrequire_token = true\n");
    let (ada, eve) = (cluster.token("ada", &[]), cluster.token("eve", &[]));
    let watcher = cluster.token("ops", &["--watch"]);
    for gateway in &cluster.gateways {
        for body in [r#"{"expression": "6*7"}"#, r#"{"expression": "1+1"}"#, "{}"] {
            ask(&gateway.address, "POST", "/api/tools/math_eval/call", &bearer(&ada), body);
        }
    }
    let path = "/api/stats?since=1h&by=caller&cluster=true";
    let stats = |gateway: &Serving, secret: &str| {
        let answer = bearing(&gateway.address, path, secret);
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()
    };
    let sources = |stats: &Value| {
        let nodes = stats["nodes"].as_array().unwrap().iter();
        let mut sources: Vec<_> =
            nodes.map(|node| node["source"].as_str().unwrap().to_owned()).collect();
        sources.sort();
        sources
    };
    for gateway in &cluster.gateways {
        let all = wait_for("the figures of both", || {
            let all = stats(gateway, &watcher);
            (all["total"]["calls"] == 6 && sources(&all) == ["node", "node"]).then_some(all)
        });
        assert_eq!(all["kinds"], json!({"invalid_parameters": 2}));
        assert_eq!(
            (&all["groups"][0]["name"], &all["groups"][0]["calls"]),
            (&json!("ada"), &json!(6))
        );
        let own = stats(gateway, &ada);
        assert_eq!((&own["total"]["calls"], own.get("nodes")), (&json!(6), None));
        assert_eq!(stats(gateway, &eve)["total"]["calls"], 0);
        let alone = bearing(&gateway.address, "/api/stats?since=1h", &watcher).json();
        assert_eq!(alone["total"]["calls"], 3);
    }
    let told = |cluster: &TestCluster| cluster.run(0, &["calls", "stats", "--cluster", "--json"]);
    assert_eq!(
        (&told(&cluster)[0]["tool"], &told(&cluster)[0]["calls"]),
        (&json!("math_eval"), &json!(6))
    );

    // Killed, it cannot answer; what it has shipped counts, and it is named.
    drop(cluster.gateways.remove(1));
    let all = stats(&cluster.gateways[0], &watcher);
    assert_eq!(
        (&all["total"]["calls"], sources(&all)),
        (&json!(6), vec!["node".to_owned(), "shipped".to_owned()])
    );
    let output =
        switchboard(cluster.folders[0].path(), &["calls", "stats", "--cluster"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("did not answer: the calls that it has shipped count"), "{said}");
    assert_eq!(told(&cluster)[0]["calls"], 6);
}

fn waiting(gateway: &Serving, secret: &str) -> Vec<Value> {
    let listed = bearing(&gateway.address, "/api/approvals", secret).json();
    listed["approvals"].as_array().unwrap().clone()
}

#[test]
fn a_call_that_is_held_at_one_is_decided_at_the_other() {
    let mut cluster = TestCluster::start(&format!("{WEATHER}[serve]\nrequire_token = true\n"));
    let secret = cluster.token("ada", &["--approve"]);
    let call = |city: &str| {
        let (address, head) = (cluster.gateways[0].address.clone(), bearer(&secret));
        let body = json!({ "city": city }).to_string();
        thread::spawn(move || ask(&address, "POST", "/api/tools/weather/call", &head, &body))
    };
    let held = |cluster: &TestCluster| {
        let first = || waiting(&cluster.gateways[1], &secret).into_iter().next();
        wait_for("a call to wait", first)["id"].as_str().unwrap().to_owned()
    };
    // Through the other gateway.
    let called = call("Paris");
    let path = format!("/api/approvals/{}", held(&cluster));
    let word = json!({"decision": "allow"}).to_string();
    let decide =
        || ask(&cluster.gateways[1].address, "POST", &path, &bearer(&secret), &word).status;
    assert_eq!(decide(), 200);
    let answer = called.join().unwrap();
    assert_eq!((answer.status, &answer.json()["result"]), (200, &json!({"temp": 21})));
    assert_eq!(decide(), 409, "once and for all");
    // By somebody at another machine's terminal, for good.
    let called = call("Rome");
    let id = held(&cluster);
    let listed = cluster.run(1, &["approve", "--json"]);
    assert_eq!(listed[0]["id"], *id, "{listed}");
    let decided = cluster.run(1, &["approve", &id[..4], "--always", "--json"]);
    assert_eq!(decided["decision"], "allow");
    assert_eq!(called.join().unwrap().status, 200);
    assert_eq!(call("Rome").join().unwrap().status, 200, "nobody is asked again");
    // The gateway where it waits is killed.
    let called = call("Oslo");
    held(&cluster);
    drop(cluster.gateways.remove(0));
    let gone = || waiting(&cluster.gateways[0], &secret).is_empty().then_some(());
    wait_for("the call to be gone", gone);
    assert!(called.join().is_err(), "nobody answered");
}

// GW-2
#[test]
fn whoever_signs_in_at_one_has_signed_in_at_both() {
    let cluster = TestCluster::start("[serve]\nrequire_token = true\n");
    let secret = cluster.token("ada", &[]);
    let own = format!("X-Switchboard: console\r\nOrigin: http://{}\r\n", cluster.balancer);
    let word = json!({ "token": secret }).to_string();
    let opened = ask(&cluster.balancer, "POST", "/api/session", &own, &word);
    assert_eq!(opened.status, 200, "{}", opened.body);
    let cookie = opened.header("set-cookie").split(';').next().unwrap();
    assert!(cookie.starts_with("switchboard_switchboard="), "{cookie}");
    let signed_in = |address: &str| {
        let head = format!("Cookie: {cookie}\r\n");
        ask(address, "GET", "/api/session", &head, "").json()["signed_in"] == true
    };
    for gateway in &cluster.gateways {
        assert!(signed_in(&gateway.address), "at once");
    }
    let head = format!("{own}Cookie: {cookie}\r\n");
    assert_eq!(ask(&cluster.balancer, "DELETE", "/api/session", &head, "").status, 204);
    for gateway in &cluster.gateways {
        wait_for("the session to be over", || (!signed_in(&gateway.address)).then_some(()));
    }
}

/// A session of the legacy era.
struct Session<'a> {
    cluster: &'a TestCluster,
    head: String,
}

impl<'a> Session<'a> {
    fn open(cluster: &'a TestCluster) -> Self {
        let accept = "Accept: application/json, text/event-stream\r\n";
        let params = json!({
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let address = &cluster.gateways[0].address;
        let opened = ask(address, "POST", "/mcp", accept, &body.to_string());
        assert_eq!(opened.status, 200, "{}", opened.body);
        let id = opened.header("mcp-session-id");
        let head = format!("{accept}Mcp-Session-Id: {id}\r\nMcp-Protocol-Version: 2025-06-18\r\n");
        Self { cluster, head }
    }

    /// The status and the text of a call.
    fn call(&self, address: &str) -> (u16, String) {
        let params = json!({"name": "math_eval", "arguments": {"expression": "6*7"}});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let answer = ask(address, "POST", "/mcp", &self.head, &body.to_string());
        (answer.status, answer.body)
    }

    fn end(&self) {
        let ended = ask(&self.cluster.balancer, "DELETE", "/mcp", &self.head, "").status;
        assert!((200..300).contains(&ended), "{ended}");
    }
}

// GW-1
#[test]
fn a_legacy_session_outlives_the_gateway_that_opened_it() {
    let mut cluster = TestCluster::start("");
    let session = Session::open(&cluster);
    for gateway in &cluster.gateways {
        let (status, body) = session.call(&gateway.address);
        assert!(status == 200 && body.contains("42"), "{status}: {body}");
    }
    let ended = Session::open(&cluster);
    ended.end();
    for gateway in &cluster.gateways {
        wait_for("the end of it", || (ended.call(&gateway.address).0 == 404).then_some(()));
    }
    let head = session.head.clone();
    drop(cluster.gateways.remove(0));
    let session = Session { cluster: &cluster, head };
    for _ in 0..4 {
        let (status, body) = session.call(&cluster.balancer);
        assert!(status == 200 && body.contains("42"), "{status}: {body}");
    }
}

// GW-1, GW-3
#[test]
fn the_sdks_go_through_the_balancer_in_each_mode() {
    let server = part("mcp-python/venv/bin/mcp-server-time");
    let cluster = TestCluster::start(&format!(
        "[servers.time]\ncommand = '{}'\nargs = ['--local-timezone', 'UTC']\n",
        server.display()
    ));
    let url = format!("http://{}/mcp", cluster.balancer);
    let modules = part("mcp-clients/node_modules");
    let folder = cluster.folders[0].path();
    for mode in ["legacy", "auto"] {
        let python = part("mcp-python/venv/bin/python");
        listed_and_called(&client(folder, python, "python_client.py", &[mode, &url]));
        let words = [modules.to_str().unwrap(), mode, &url];
        listed_and_called(&client(folder, "node", "typescript_client.mjs", &words));
    }
}
