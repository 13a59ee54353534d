//! `switchboard zwave`, before a zwave-js-server made of code.

use std::{
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    process::{Child, ChildStdin, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use tungstenite::{Message, WebSocket};

use crate::{fixture::wait_until, serve::Serving, test_folder::TestFolder};

/// A server with one switch.
#[derive(Clone, Default)]
struct Switch {
    /// What was written to it.
    writes: Arc<Mutex<Vec<Value>>>,
    is_on: Arc<AtomicBool>,
    /// Whether it breaks the connection when it is written to.
    breaks: Arc<AtomicBool>,
    port: u16,
}

impl Switch {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let switch = Self { port: listener.local_addr().unwrap().port(), ..Self::default() };
        let own = switch.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let own = own.clone();
                thread::spawn(move || own.speak(stream.unwrap()));
            }
        });
        switch
    }

    fn url(&self) -> String {
        format!("ws://127.0.0.1:{}", self.port)
    }

    fn speak(&self, stream: TcpStream) -> Option<()> {
        let mut socket = tungstenite::accept(stream).ok()?;
        let hello = json!({"type": "version", "driverVersion": "15", "maxSchemaVersion": 40});
        say(&mut socket, &hello)?;
        loop {
            let Message::Text(text) = socket.read().ok()? else { continue };
            let asked: Value = serde_json::from_str(&text).unwrap();
            let result = match asked["command"].as_str().unwrap() {
                "start_listening" => json!({"state": {"nodes": [self.node()]}}),
                "node.set_value" => {
                    self.writes.lock().unwrap().push(asked.clone());
                    if self.breaks.load(Ordering::SeqCst) {
                        return None;
                    }
                    self.is_on.store(asked["value"] == true, Ordering::SeqCst);
                    json!({"result": {"status": 255}})
                }
                "node.poll_value" => json!({"value": self.is_on.load(Ordering::SeqCst)}),
                _ => json!({}),
            };
            let id = &asked["messageId"];
            say(
                &mut socket,
                &json!({"type": "result", "success": true, "messageId": id, "result": result}),
            )?;
        }
    }

    fn node(&self) -> Value {
        let value = self.is_on.load(Ordering::SeqCst);
        let state = json!({"commandClass": 37, "endpoint": 0, "property": "currentValue", "value": value,
            "metadata": {"label": "Current value", "readable": true}});
        json!({"nodeId": 2, "name": "Switch One", "location": "Demo", "status": 4, "ready": true, "values": [state]})
    }
}

fn say(socket: &mut WebSocket<TcpStream>, message: &Value) -> Option<()> {
    socket.send(Message::text(message.to_string())).ok()
}

// HM-1, AN-3: what a model says reaches the device under the names that the server knows.
#[test]
fn a_models_words_switch_the_light_on() {
    let switch = Switch::start();
    let binary = env!("CARGO_BIN_EXE_switchboard");
    let url = switch.url();
    // The server reads the same config, and does not trip over a variable that it does not see.
    let config = format!(
        "[servers.zwave]\ncommand = \"{binary}\"\nargs = [\"zwave\"]\n\n[zwave]\nserver = \"{url}\"\n\n\
         [servers.docs]\nurl = \"http://127.0.0.1:1/mcp\"\nheaders = {{ Authorization = \"${{TOKEN}}\" }}\nenabled = false\n"
    );
    let place =
        TestFolder::with_config(&config).variable("TOKEN", "x").variable("RUST_LOG", "debug");
    let said = r#"{"device_name":"Switch One","command":"on"}"#;
    let ran = place.run(&["call", "zwave__control_zwave_device", said, "--json"]);
    let envelope = ran.json();
    assert_eq!(envelope["result"]["structuredContent"]["confirmed"], true, "{envelope}");
    assert!(switch.is_on.load(Ordering::SeqCst));
    let sent = r#"→ {"deviceName":"Switch One","action":"on"}"#;
    assert!(ran.stderr.replace('\\', "").contains(sent), "{}", ran.stderr);
    let calls = place.run(&["calls", "--json"]).json();
    // The server keeps no records of its own.
    assert_eq!(calls.as_array().unwrap().len(), 1, "{calls}");

    let refused = place
        .error(&["zwave__control_zwave_device", r#"{"device_name":"Swich One","command":"on"}"#]);
    assert!(refused.contains("Did you mean: Demo/Switch One?"), "{refused}");
    let tools = place.run(&["tools", "zwave__*", "--json"]).json();
    assert_eq!(tools.as_array().unwrap().len(), 6, "{tools}");
}

// HM-1: also where the config is not where the server would look for it.
#[test]
fn the_server_reads_the_config_that_names_it() {
    let switch = Switch::start();
    let config = format!(
        "[servers.zwave]\ncommand = \"{}\"\nargs = [\"zwave\"]\n[zwave]\nserver = \"{}\"\n",
        env!("CARGO_BIN_EXE_switchboard"),
        switch.url()
    );
    let place = TestFolder::new().file("etc/home.toml", &config);
    let call = ["call", "zwave__verify_device", "deviceName=Switch One", "--json"];
    let by_flag = place.run(&[&call[..], &["--config", "etc/home.toml"]].concat()).json();
    assert_eq!(by_flag["success"], true, "{by_flag}");
    let place = place.variable("SWITCHBOARD_CONFIG", "etc/home.toml");
    let by_variable = place.run(&call).json();
    assert_eq!(by_variable["success"], true, "{by_variable}");
}

// HM-1, RS-2, GW-1: an outage is one for programs, too, however many Switchboards are in between.
#[test]
fn outages_are_unavailable_through_call_and_serve() {
    let binary = env!("CARGO_BIN_EXE_switchboard");
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let nobody = format!("mqtt://127.0.0.1:{free}");
    let zwave = format!(
        "[servers.zwave]\ncommand = \"{binary}\"\nargs = [\"zwave\"]\n[zwave]\nmqtt = \"{nobody}\"\n"
    );
    let place = TestFolder::with_config(&zwave).file("inner.toml", &zwave);
    let inner = place.path().join("inner.toml");
    let outer = format!(
        "[servers.home]\ncommand = \"{binary}\"\nargs = [\"serve\", \"--stdio\", \"--config\", \"{}\"]\n",
        inner.display()
    );
    let place = place.file("outer.toml", &outer);
    let check = |envelope: &Value| {
        let text = envelope["error"].as_str().unwrap_or_else(|| panic!("{envelope}"));
        assert_eq!(envelope["error_kind"], "unavailable", "{envelope}");
        let begins = format!(
            "Tool 'list_devices' is unavailable: the MQTT broker {nobody} could not be reached"
        );
        assert!(text.starts_with(&begins), "{text}");
    };
    check(&place.run(&["call", "zwave__list_devices", "--json"]).json());
    let serving = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    let (status, envelope) = serving.ask("POST", "/api/tools/zwave__list_devices/call", "", "{}");
    assert_eq!(status, 503, "{envelope}");
    check(&envelope);
    let chained = Serving::start(&place, &["--listen", "127.0.0.1:0", "--config", "outer.toml"]);
    let path = "/api/tools/home__zwave__list_devices/call";
    let ask = || chained.ask("POST", path, "", "{}");
    wait_until("both servers have listed their tools", || ask().0 != 404);
    let (status, envelope) = ask();
    assert_eq!(status, 503, "{envelope}");
    check(&envelope);
    // A mistake in the arguments is one, too.
    let wrong = r#"{"deviceName":"x","action":"dim"}"#;
    let path = "/api/tools/zwave__control_zwave_device/call";
    let (status, envelope) = serving.ask("POST", path, "", wrong);
    assert_eq!(
        (status, &envelope["error_kind"]),
        (422, &json!("invalid_parameters")),
        "{envelope}"
    );
}

/// `switchboard zwave` as an MCP client sees it; every byte of its stdout is looked at.
struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: mpsc::Receiver<String>,
    last: u64,
}

impl Client {
    fn start(place: &TestFolder, arguments: &[&str]) -> Self {
        let mut command = place.command(&[&["zwave"], arguments].concat());
        let log = std::fs::File::create(place.path().join("log")).unwrap();
        let mut child = command.stdin(Stdio::piped()).stderr(log).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                sender.send(line.unwrap()).unwrap();
            }
        });
        let mut client = Self { child, stdin: Some(stdin), lines, last: 0 };
        client.ask(
            "initialize",
            json!({"protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"}}),
        );
        client
    }

    /// The answer to a request; whatever else there is must be JSON-RPC, too.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let request =
            json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params});
        writeln!(self.stdin.as_ref().unwrap(), "{request}").unwrap();
        loop {
            let line = self.lines.recv_timeout(Duration::from_secs(30)).expect("an answer");
            let message: Value = serde_json::from_str(&line).expect("only JSON-RPC");
            assert_eq!(message["jsonrpc"], "2.0", "{line}");
            if message["id"] == self.last {
                return message["result"].clone();
            }
        }
    }

    /// Whether a call failed, and its text.
    fn call(&mut self, tool: &str, arguments: Value) -> (bool, String) {
        let result = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        let text = result["content"][0]["text"].as_str().unwrap().to_owned();
        (result["isError"] == true, text)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

// HM-1, EX-6: at every level, while servers come and go, stdout is nothing but the protocol.
#[test]
fn stdout_is_pure_while_the_server_is_down_breaks_and_comes_back() {
    for level in ["off", "error", "warn", "info", "debug", "trace"] {
        stdout_is_pure(level);
    }
}

fn stdout_is_pure(level: &str) {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let place = TestFolder::new().variable("RUST_LOG", level);
    let nobody = format!("mqtt://127.0.0.1:{free}");
    let mut client = Client::start(&place, &["--mqtt", &nobody]);
    let (failed, text) = client.call("list_devices", json!({}));
    assert!(failed && text.contains("is unavailable: the MQTT broker"), "{text}");
    assert!(text.contains("Check: is the MQTT broker running"), "{text}");
    let (failed, text) = client.call("check_zwave_health", json!({}));
    assert!(!failed && text.contains("broker: down"), "{text}");
    drop(client);

    let switch = Switch::start();
    switch.breaks.store(true, Ordering::SeqCst);
    let mut client = Client::start(&place, &["--server", &switch.url()]);
    let on = json!({"deviceName": "switch one", "action": "on"});
    let (failed, text) = client.call("control_zwave_device", on.clone());
    assert!(failed && text.contains("sent, not confirmed"), "{text}");
    switch.breaks.store(false, Ordering::SeqCst);
    let mut answer = client.call("control_zwave_device", on.clone());
    // It is being connected to again.
    for _ in 0..50 {
        if !answer.0 {
            break;
        }
        thread::sleep(Duration::from_millis(100));
        answer = client.call("control_zwave_device", on.clone());
    }
    assert!(answer.1.contains("Demo/Switch One is on, confirmed"), "{answer:?}");
    assert!(switch.writes.lock().unwrap().len() >= 2);
    let log = std::fs::read_to_string(place.path().join("log")).unwrap();
    let is_told = log.contains("no connection to the zwave-js-server");
    assert_eq!(is_told, !["off", "error"].contains(&level), "{log}");
}

// HM-1: without a client it ends.
#[test]
fn it_ends_with_its_client() {
    let place = TestFolder::new();
    let mut client = Client::start(&place, &["--server", "ws://127.0.0.1:1"]);
    client.stdin = None;
    assert_eq!(client.child.wait().unwrap().code(), Some(0));
}

// HM-1
#[test]
fn settings_that_make_no_sense_are_told() {
    let both = "[zwave]\nmqtt = \"mqtt://a\"\nserver = \"ws://b\"\n";
    let cases: [(&str, &[&str], &str); 6] = [
        ("", &["--mqtt", "http://a"], "is not an address of an MQTT broker"),
        ("", &["--server", "http://a"], "is not an address of a zwave-js-server"),
        ("", &["--prefix", "a/#"], "cannot begin an MQTT topic"),
        ("", &["--mqtt", "mqtt://a", "--server", "ws://b"], "cannot be used with"),
        (both, &[], "only one of them can be set"),
        ("[zwave]\nprefx = \"a\"\n", &[], "did you mean `prefix`?"),
    ];
    for (config, flags, words) in cases {
        let refusal = TestFolder::with_config(config).refusal(&[&["zwave"], flags].concat());
        assert!(refusal.contains(words), "{flags:?}: {refusal}");
    }
}
