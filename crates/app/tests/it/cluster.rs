//! NATS servers that cannot be used: too old, not willing, not there.

use std::{
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    thread,
};

use serde_json::{Value, json};

use crate::{serve::Serving, test_folder::TestFolder};

/// A server that says its version, and then answers or throws everybody out; returns its address.
fn server(version: &'static str, lets_in: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that hangs up has read what it wanted.
            thread::spawn(move || _ = greet(stream, version, lets_in));
        }
    });
    format!("nats://me:secret@{address}")
}

fn greet(mut stream: TcpStream, version: &str, lets_in: bool) -> std::io::Result<()> {
    let info = json!({"server_id": "x", "server_name": "old", "version": version, "go": "go1", "host": "127.0.0.1",
        "port": 4222, "headers": true, "auth_required": !lets_in, "max_payload": 1_048_576, "proto": 1});
    write!(stream, "INFO {info}\r\n")?;
    for line in BufReader::new(stream.try_clone()?).lines() {
        match (line?.as_str(), lets_in) {
            ("PING", true) => stream.write_all(b"PONG\r\n")?,
            ("PING", false) => {
                stream.write_all(b"-ERR 'Authorization Violation'\r\n")?;
                return Ok(());
            }
            _ => {}
        }
    }
    Ok(())
}

/// What `doctor` says of the cluster.
fn examined(nats: &str) -> Value {
    let place = TestFolder::with_config(&format!("[cluster]\nnats = {nats:?}\n"));
    let ran = place.run(&["doctor", "--json"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(!ran.stdout.contains("secret") && !ran.stderr.contains("secret"), "{ran:?}");
    let checks = ran.json()["checks"].as_array().unwrap().clone();
    let is_of_it = |check: &&Value| check["name"].as_str().unwrap().starts_with("cluster");
    let checks: Vec<_> = checks.iter().filter(is_of_it).cloned().collect();
    assert_eq!((checks.len(), &checks[0]["status"]), (1, &json!("broken")), "{checks:?}");
    checks[0]["message"].clone()
}

#[test]
fn doctor_says_what_is_wrong_with_nats_and_what_to_do() {
    let old = examined(&server("2.9.10", true));
    let old = old.as_str().unwrap();
    assert!(old.starts_with("NATS 2.9.10 at nats://127.0.0.1:"), "{old}");
    assert!(old.contains("is too old: 2.10 is the oldest that can be used; install"), "{old}");
    let refused = examined(&server("2.15.0", false));
    let refused = refused.as_str().unwrap();
    assert!(refused.contains("could not be reached: authorization violation (check"), "{refused}");
    let away = examined("nats://me:secret@127.0.0.1:1");
    assert!(away.as_str().unwrap().contains("could not be reached"), "{away}");
}

// EX-5, RC-1
#[test]
fn a_call_goes_on_without_nats_and_the_log_says_why() {
    let nats = server("2.15.0", false);
    let place = TestFolder::with_config(&format!("[cluster]\nnats = {nats:?}\n"));
    let ran = place.run(&["call", "echo", "--json"]);
    assert_eq!((ran.status, &ran.json()["success"]), (0, &json!(true)), "{ran:?}");
    let calls = place.run(&["calls", "--json"]).json();
    assert_eq!(calls[0]["outcome"], "ok");
    assert!(calls[0].get("node").is_none(), "{calls}");
    let wrong =
        TestFolder::with_config("[cluster]\nnats = \"nats://127.0.0.1:1\"\nprefix = \"a b\"\n");
    let said = wrong.refusal(&["call", "echo"]);
    assert!(said.contains("switchboard.toml:1: `cluster.prefix`"), "{said}");
}

/// Nobody listens there.
const AWAY: &str = "[cluster]\nnats = \"nats://somebody:secret@127.0.0.1:9\"\n";

#[test]
fn commands_say_that_the_cluster_is_away() {
    let place = TestFolder::with_config(AWAY);
    for words in [&["token", "list"][..], &["token", "new", "--name", "a"], &["approve"]] {
        let ran = place.run(words);
        assert_ne!(ran.status, 0, "{words:?}");
        let said = "NATS at nats://127.0.0.1:9 has not been reached yet";
        assert!(ran.stderr.contains(said), "{words:?}: {}", ran.stderr);
        assert!(!ran.stderr.contains("secret"), "{}", ran.stderr);
    }
    assert_eq!(place.run(&["call", "echo", "a=1"]).status, 0);
}

// GW-1
#[test]
fn a_gateway_starts_and_says_what_is_missing() {
    let serving = Serving::start(&TestFolder::with_config(AWAY), &["--listen", "127.0.0.1:0"]);
    let (status, ready) = serving.ask("GET", "/readyz", "", "");
    assert_eq!((status, &ready["status"]), (200, &json!("degraded")));
    assert_eq!(ready["degraded"][0]["server"], "nats", "{ready}");
    let (status, envelope) = serving.ask("POST", "/api/tools/echo/call", "", r#"{"a":1}"#);
    assert_eq!((status, &envelope["result"]), (200, &json!({"echo": {"a": 1}})));
    let (status, refused) = serving.ask("GET", "/api/approvals", "", "");
    assert_eq!(status, 503, "{refused}");
    assert!(refused.to_string().contains("has not been reached yet"), "{refused}");
}
