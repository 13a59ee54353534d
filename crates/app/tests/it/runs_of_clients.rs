//! Runs of requests to `/v1` that clients repeat under the same key (SPEC RN-2).

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use switchboard_toolcall::CallId;

use crate::{fixture::wait_until, serving::Serving, test_folder::TestFolder};

const CONFIG: &str = r#"
[models.m]
provider = "script"
model = "script.json"
[[tools]]
name = "charge"
description = "Charges"
implementation = { type = "command", program = "sh", args = ["-c", "echo charge >> written; echo charged"] }
[[tools]]
name = "slow"
description = "Writes, then waits"
implementation = { type = "command", program = "sh", args = ["-c", "echo slow >> written; if [ -e fast ]; then echo done; else exec sleep 60; fi"] }
[[tools]]
name = "look"
description = "Looks, then waits"
annotations = { read_only = true }
implementation = { type = "command", program = "sh", args = ["-c", "echo look >> written; while [ ! -e fast ]; do sleep 0.02; done; echo seen"] }
"#;

fn place(tools: &[&str]) -> TestFolder {
    let turn = |name: &&str| json!({"tool_calls": [{"id": format!("id_{name}"), "name": name, "args": {}}]});
    let mut turns: Vec<_> = tools.iter().map(turn).collect();
    turns.push(json!({"text": "Paid."}));
    TestFolder::with_config(CONFIG).file("script.json", json!({"turns": turns}).to_string())
}

fn written(place: &TestFolder) -> Vec<String> {
    let text = fs::read_to_string(place.path().join("written")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn body(text: &str) -> String {
    json!({"model": "m", "messages": [{"role": "user", "content": text}]}).to_string()
}

fn complete(gateway: &Serving, key: &str, body: &str) -> (u16, Value) {
    let headers = format!("Idempotency-Key: {key}\r\n");
    gateway.ask("POST", "/v1/chat/completions", &headers, body)
}

fn content(answer: &Value) -> &Value {
    &answer["choices"][0]["message"]["content"]
}

// RN-2
#[test]
fn the_same_request_gets_the_same_runs_answer() {
    let place = place(&["charge"]);
    let gateway = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    let (status, first) = complete(&gateway, "k1", &body("Pay"));
    assert_eq!((status, content(&first)), (200, &json!("Paid.")), "{first}");
    let (status, again) = complete(&gateway, "k1", &body("Pay"));
    assert_eq!((status, &again["id"], content(&again)), (200, &first["id"], &json!("Paid.")));
    assert_eq!(written(&place), ["charge"]);
    let (status, other) = complete(&gateway, "k1", &body("Pay more"));
    assert_eq!(
        (status, &other["error"]["code"]),
        (409, &json!("idempotency_key_reused")),
        "{other}"
    );
    // A run of a client is one like others.
    let runs = place.run(&["runs", "--json", "--alone"]).json();
    assert_eq!((&runs[0]["state"], &runs[0]["model"]), (&json!("ended"), &json!("m")), "{runs}");
    let call = place.run(&["calls", "--json"]).json()[0]["id"].as_str().unwrap().to_owned();
    let shown = place.run(&["calls", "show", &call, "--json"]).json();
    assert_eq!(shown["run"], runs[0]["id"]);
    // After a restart the record answers.
    drop(gateway);
    let gateway = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    let (status, late) = complete(&gateway, "k1", &body("Pay"));
    assert_eq!(
        (status, &late["id"], content(&late)),
        (200, &first["id"], &json!("Paid.")),
        "{late}"
    );
    assert_eq!(written(&place), ["charge"]);
}

// RN-2
#[test]
fn a_request_that_is_repeated_waits_for_the_run_that_is_under_way() {
    let place = place(&["look"]);
    let gateway = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    // The first client hangs up.
    let first = gateway.begin_with("/v1/chat/completions", "Idempotency-Key: k\r\n", &body("Look"));
    wait_until("the tool runs", || written(&place).len() == 1);
    drop(first);
    thread::scope(|scope| {
        let second = scope.spawn(|| complete(&gateway, "k", &body("Look")));
        thread::sleep(Duration::from_millis(100));
        assert!(!second.is_finished());
        fs::write(place.path().join("fast"), "").unwrap();
        let (status, answer) = second.join().unwrap();
        assert_eq!((status, content(&answer)), (200, &json!("Paid.")), "{answer}");
    });
    assert_eq!(written(&place), ["look"]);
}

// RN-2
#[test]
fn a_run_goes_on_after_the_gateway_was_killed() {
    for asks_again in [true, false] {
        let place = place(&["charge", "slow", "charge"]);
        let mut gateway = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
        let _first =
            gateway.begin_with("/v1/chat/completions", "Idempotency-Key: k\r\n", &body("Pay"));
        wait_until("the tools have run", || written(&place).len() == 2);
        gateway.child.kill().unwrap();
        gateway.child.wait().unwrap();
        fs::write(place.path().join("fast"), "").unwrap();
        let gateway = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
        if asks_again {
            let (status, answer) = complete(&gateway, "k", &body("Pay"));
            assert_eq!((status, content(&answer)), (200, &json!("Paid.")), "{answer}");
        }
        let state = || place.run(&["runs", "--json", "--alone"]).json()[0]["state"].clone();
        wait_until("the run has ended", || state() == "ended");
        assert_eq!(written(&place), ["charge", "slow", "charge"]);
        let id = place.run(&["runs", "--json", "--alone"]).json()[0]["id"].clone();
        let shown = place.run(&["runs", "show", id.as_str().unwrap(), "--json", "--alone"]).json();
        let unknown = "Error: Tool 'slow' may or may not have run: its process ended first";
        assert_eq!(shown["messages"][4]["content"], unknown, "{shown}");
    }
}

// RN-1: whatever a client calls its user or its chat, the records of others stay what they were.
#[test]
fn a_client_cannot_name_the_run_that_is_written() {
    let turns = json!({"turns": [{"text": "One."}, {"text": "Two."}, {"text": "Three."}]});
    let place = TestFolder::with_config(CONFIG).file("script.json", turns.to_string());
    let gateway = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    let ask = |user: Option<&str>, text: &str| {
        let body =
            json!({"model": "m", "user": user, "messages": [{"role": "user", "content": text}]});
        let (status, answer) = gateway.ask("POST", "/v1/chat/completions", "", &body.to_string());
        assert_eq!(status, 200, "{answer}");
    };
    let runs = || place.run(&["runs", "--json", "--alone"]).json();
    let show = |id: &str| place.run(&["runs", "show", id, "--json", "--alone"]).json();
    ask(None, "Pay");
    let first = runs()[0]["id"].as_str().unwrap().to_owned();
    let before = show(&first);
    ask(Some(&first), "Pay more");
    assert_eq!(show(&first), before);
    // A run of the far future would never be forgotten.
    ask(Some("7ZZZZZZZZZZZZZZZZZZZZZZZZZ"), "Pay most");
    let runs = runs();
    let ids: Vec<_> = runs.as_array().unwrap().iter().map(|run| &run["id"]).collect();
    assert_eq!(ids.len(), 3, "{runs}");
    assert!(!ids.contains(&&json!("7ZZZZZZZZZZZZZZZZZZZZZZZZZ")), "{runs}");
}

// RN-2: what was never whole was never begun, so the client is not refused until it is forgotten.
#[test]
fn a_key_whose_run_never_began_is_good_for_the_request() {
    let place = place(&["look"]);
    let mut gateway = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    let _first =
        gateway.begin_with("/v1/chat/completions", "Idempotency-Key: k\r\n", &body("Look"));
    wait_until("the tool runs", || written(&place).len() == 1);
    gateway.child.kill().unwrap();
    gateway.child.wait().unwrap();
    let files = fs::read_dir(place.path().join("state/switchboard/runs")).unwrap();
    let mut files = files.map(|file| file.unwrap().path());
    let live = files.find(|file| file.extension().is_some_and(|end| end == "live")).unwrap();
    let text = fs::read(&live).unwrap();
    fs::write(&live, &text[..20]).unwrap();
    fs::write(place.path().join("fast"), "").unwrap();
    let gateway = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    let (status, answer) = complete(&gateway, "k", &body("Look"));
    assert_eq!((status, content(&answer)), (200, &json!("Paid.")), "{answer}");
}

// RN-1, RN-2: what is not redacted goes when it is too old, though no run ends.
#[test]
fn a_gateway_forgets_an_interrupted_run_that_is_too_old() {
    let place = place(&["charge"]);
    place.run(&["call", "charge"]);
    let runs = place.path().join("state/switchboard/runs");
    fs::create_dir_all(&runs).unwrap();
    let old = "01HZZZZZZZ0123456789ABCDEF";
    let live = |id: &str| {
        let start = json!({"id": id, "model": "m", "started": "2024-06-10T12:00:00Z",
            "messages": [{"role": "user", "content": "My password is hunter2"}]});
        fs::write(runs.join(format!("{id}.live")), format!("{}\n", json!({"start": start})))
            .unwrap();
    };
    let young = CallId::generate().to_string();
    live(old);
    live(&young);
    let _gateway = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    wait_until("the old run is gone", || !runs.join(format!("{old}.live")).exists());
    assert!(runs.join(format!("{young}.live")).exists());
}

// RN-2: the owner's rights are more than the token's.
#[test]
fn the_run_of_a_token_is_not_resumed_with_the_rights_of_the_owner() {
    let place = place(&["charge", "slow", "charge"]);
    let made = place
        .run(&["token", "new", "--name", "t", "--tools", "charge", "--tools", "slow", "--json"]);
    let token = made.json()["token"].as_str().unwrap().to_owned();
    let mut gateway = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    let headers = format!("Authorization: Bearer {token}\r\nIdempotency-Key: k\r\n");
    let _first = gateway.begin_with("/v1/chat/completions", &headers, &body("Pay"));
    wait_until("the tools have run", || written(&place).len() == 2);
    gateway.child.kill().unwrap();
    gateway.child.wait().unwrap();
    let run = &place.run(&["runs", "--json"]).json()[0];
    assert_eq!(run["state"], "interrupted", "{run}");
    let ran = place.run(&["runs", "resume", run["id"].as_str().unwrap()]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.stderr.contains("was asked by t, whose rights"), "{ran:?}");
    assert_eq!(written(&place).len(), 2);
}

// RN-2: nobody can go on with it, so its secrets are not kept for that.
#[test]
fn the_run_of_a_token_without_a_key_ends_when_it_is_found() {
    for finds in ["list", "resume", "serve"] {
        let place = place(&["charge", "slow", "charge"]);
        let made = place.run(&["token", "new", "--name", "t", "--json"]);
        let token = made.json()["token"].as_str().unwrap().to_owned();
        let mut gateway = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
        let headers = format!("Authorization: Bearer {token}\r\n");
        let secret = "sb_0123456789012345678901234567890123456789012";
        let asked = body(&format!("Pay with {secret}"));
        let _first = gateway.begin_with("/v1/chat/completions", &headers, &asked);
        wait_until("the tools have run", || written(&place).len() == 2);
        gateway.child.kill().unwrap();
        gateway.child.wait().unwrap();
        let folder = place.path().join("state/switchboard/runs");
        let file = |end: &str| {
            let mut files = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
            files.find(|file| file.extension().is_some_and(|own| own == end))
        };
        let live = file("live").unwrap();
        assert!(fs::read_to_string(&live).unwrap().contains(secret));
        let id = live.file_stem().unwrap().to_str().unwrap().to_owned();
        match finds {
            "list" => {
                let runs = place.run(&["runs", "--json"]).json();
                assert_eq!(runs[0]["state"], "failed", "{runs}");
            }
            "resume" => {
                let ran = place.run(&["runs", "resume", &id]);
                assert_eq!(ran.status, 1, "{ran:?}");
                assert!(ran.stderr.contains("without an Idempotency-Key"), "{ran:?}");
            }
            _ => {
                let _gateway = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
                wait_until("the run has ended", || file("live").is_none());
            }
        }
        assert!(!live.exists(), "{finds}");
        let saved = fs::read_to_string(file("json").unwrap()).unwrap();
        assert!(saved.contains("Pay with") && !saved.contains(secret), "{saved}");
        assert_eq!(written(&place).len(), 2);
    }
}

// RN-2, FT-5: what the token sees is what it saw.
#[test]
fn the_run_of_a_token_in_a_profile_goes_on_with_the_tools_of_the_profile() {
    let place = place(&["pay", "slow", "pay"]);
    let config = format!(
        "{CONFIG}\n[profiles.till]\ntools = [\"charge\", \"slow\"]\n[profiles.till.tool.charge]\nname = \"pay\"\n"
    );
    let place = place.file("switchboard.toml", config);
    let made = place.run(&["token", "new", "--name", "t", "--profile", "till", "--json"]);
    let token = made.json()["token"].as_str().unwrap().to_owned();
    let mut gateway = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    let headers = format!("Authorization: Bearer {token}\r\nIdempotency-Key: k\r\n");
    let _first = gateway.begin_with("/v1/chat/completions", &headers, &body("Pay"));
    wait_until("the tools have run", || written(&place).len() == 2);
    gateway.child.kill().unwrap();
    gateway.child.wait().unwrap();
    fs::write(place.path().join("fast"), "").unwrap();
    let _gateway = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    let run = || place.run(&["runs", "--json", "--alone"]).json()[0].clone();
    wait_until("the run has ended", || run()["state"] == "ended");
    assert_eq!(written(&place), ["charge", "slow", "charge"]);
    assert_eq!(run()["profile"], "till");
}

// RN-4
#[test]
fn an_answer_has_the_form_that_the_client_wants() {
    let turns = json!([{"text": "It is Bonn."}, {"text": "{\"city\": \"Bonn\"}"}, {"text": "Bonn"}, {"text": "Bonn"}]);
    let place =
        TestFolder::with_config(CONFIG).file("script.json", json!({"turns": turns}).to_string());
    let gateway = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    let schema =
        json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    let format = json!({"type": "json_schema", "json_schema": {"name": "city", "schema": schema}});
    let ask = |format: Value| {
        let body = json!({"model": "m", "messages": [{"role": "user", "content": "Where?"}], "response_format": format});
        gateway.ask("POST", "/v1/chat/completions", "", &body.to_string())
    };
    let (status, answer) = ask(format);
    assert_eq!((status, content(&answer)), (200, &json!("{\"city\": \"Bonn\"}")), "{answer}");
    let (status, failure) = ask(json!({"type": "json_object"}));
    assert_eq!((status, &failure["error"]["code"]), (502, &json!("invalid_answer")), "{failure}");
    for wrong in [
        json!({"type": "xml"}),
        json!({"type": "json_schema"}),
        json!({"type": "json_schema", "json_schema": {"schema": {"type": 7}}}),
    ] {
        let (status, failure) = ask(wrong.clone());
        assert_eq!(status, 400, "{wrong}: {failure}");
        assert!(
            failure["error"]["param"].as_str().unwrap().starts_with("response_format"),
            "{failure}"
        );
    }
}

// GW-1, RN-1
#[test]
fn turns_of_models_are_known_after_a_restart_and_none_is_told_twice() {
    let place = place(&["charge"]);
    let pay = |gateway: &Serving, user: &str| {
        let mut body: Value = serde_json::from_str(&body("Pay")).unwrap();
        body["user"] = json!(user);
        let (status, said) = gateway.ask("POST", "/v1/chat/completions", "", &body.to_string());
        assert_eq!((status, content(&said)), (200, &json!("Paid.")), "{said}");
    };
    let turns = |gateway: &Serving| -> Vec<(String, u64)> {
        let (status, turns) = gateway.ask("GET", "/api/turns", "", "");
        assert_eq!(status, 200, "{turns}");
        let turn = |turn: &Value| {
            let conversation = turn["conversation"].as_str().unwrap_or_default().to_owned();
            (conversation, turn["output_tokens"].as_u64().unwrap())
        };
        turns.as_array().unwrap().iter().map(turn).collect()
    };
    let mut gateway = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    pay(&gateway, "morning");
    let before = turns(&gateway);
    assert_eq!(before.len(), 2, "{before:?}");
    assert!(before.iter().all(|(conversation, _)| conversation == "morning"), "{before:?}");
    gateway.signal("-KILL");
    gateway.child.wait().unwrap();

    let gateway = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    assert_eq!(turns(&gateway), before);
    pay(&gateway, "morning");
    assert_eq!(turns(&gateway).len(), 4, "{:?}", turns(&gateway));
    // The command line's are known, too, under the run's id.
    assert_eq!(place.run(&["ask", "-m", "m", "Pay"]).status, 0);
    let run = place.run(&["runs", "--json"]).json()[0]["id"].as_str().unwrap().to_owned();
    let all = turns(&gateway);
    assert_eq!(all.iter().filter(|(conversation, _)| *conversation == run).count(), 2, "{all:?}");
    assert_eq!(all.len(), 6, "{all:?}");
}

/// A bank with an HTTP API. It keeps its description back while `is_slow`, and answers no payment until `is_paying`.
struct Bank {
    port: u16,
    is_slow: AtomicBool,
    is_paying: AtomicBool,
    /// The idempotency keys of the payments, and `described` for each time that the description was asked for.
    requests: Mutex<Vec<String>>,
}

impl Bank {
    fn open() -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let bank = Arc::new(Self {
            port: listener.local_addr().unwrap().port(),
            is_slow: AtomicBool::new(false),
            is_paying: AtomicBool::new(false),
            requests: Mutex::default(),
        });
        let serving = bank.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let bank = serving.clone();
                thread::spawn(move || bank.serve(stream));
            }
        });
        bank
    }

    fn serve(&self, stream: TcpStream) {
        let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
        let head: Vec<_> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
        let Some(first) = head.first() else { return };
        let (noted, gate, closed, body) = if first.starts_with("GET") {
            let paths = json!({"/pay": {"post": {"operationId": "pay", "responses": {"200": {"description": "Paid"}}}}});
            let info = json!({"title": "Bank", "version": "1"});
            let body = json!({"openapi": "3.0.3", "info": info, "paths": paths});
            ("described".to_owned(), &self.is_slow, true, body)
        } else {
            let key = head.iter().find_map(|line| {
                line.to_lowercase().strip_prefix("idempotency-key: ").map(str::to_owned)
            });
            (key.expect("a key"), &self.is_paying, false, json!("paid"))
        };
        self.requests.lock().unwrap().push(noted);
        while gate.load(Ordering::Acquire) == closed {
            thread::sleep(Duration::from_millis(10));
        }
        let body = body.to_string();
        let length = body.len();
        _ = write!(
            &stream,
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        );
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

// RN-2: whether a call can be made again is known once its tool is there.
#[test]
fn a_run_goes_on_when_the_tools_of_its_calls_are_known() {
    let bank = Bank::open();
    let place = place(&["bank__pay"]);
    let api = format!(
        "{CONFIG}[apis.bank]\nopenapi = \"http://127.0.0.1:{}/openapi.json\"\nhonours_keys = true\n",
        bank.port
    );
    let place = place.file("switchboard.toml", api);
    let mut gateway = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    wait_until("the API is known", || gateway.ask("GET", "/api/tools/bank__pay", "", "").0 == 200);
    let _first = gateway.begin_with("/v1/chat/completions", "Idempotency-Key: k\r\n", &body("Pay"));
    wait_until("the payment is begun", || bank.requests().len() == 2);
    gateway.child.kill().unwrap();
    gateway.child.wait().unwrap();
    bank.is_slow.store(true, Ordering::Release);
    let gateway = Serving::start(&place, &["--listen", "127.0.0.1:0"]);
    wait_until("the description is asked for", || bank.requests().len() == 3);
    bank.is_paying.store(true, Ordering::Release);
    thread::scope(|scope| {
        let answer = scope.spawn(|| complete(&gateway, "k", &body("Pay")));
        bank.is_slow.store(false, Ordering::Release);
        let (status, answer) = answer.join().unwrap();
        assert_eq!((status, content(&answer)), (200, &json!("Paid.")), "{answer}");
    });
    let id = place.run(&["runs", "--json", "--alone"]).json()[0]["id"].clone();
    let shown = place.run(&["runs", "show", id.as_str().unwrap(), "--json", "--alone"]).json();
    assert_eq!(shown["messages"][2]["content"], "paid", "{shown}");
    let requests = bank.requests();
    assert_eq!((requests.len(), &requests[1]), (4, &requests[3]), "{requests:?}");
}
