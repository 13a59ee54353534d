//! A config that names a cluster which cannot be reached: what needs it says so, and what does not goes on.

use serde_json::json;

use crate::{place::Place, serve::Serving};

/// Nobody listens there.
const AWAY: &str = "[cluster]\nnats = \"nats://somebody:secret@127.0.0.1:9\"\n";

#[test]
fn commands_say_that_the_cluster_is_away() {
    let place = Place::with_config(AWAY);
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
    let serving = Serving::start(&Place::with_config(AWAY), &["--listen", "127.0.0.1:0"]);
    let (status, ready) = serving.ask("GET", "/readyz", "", "");
    assert_eq!((status, &ready["status"]), (200, &json!("degraded")));
    assert_eq!(ready["degraded"][0]["server"], "nats", "{ready}");
    let (status, envelope) = serving.ask("POST", "/api/tools/echo/call", "", r#"{"a":1}"#);
    assert_eq!((status, &envelope["result"]), (200, &json!({"echo": {"a": 1}})));
    let (status, refused) = serving.ask("GET", "/api/approvals", "", "");
    assert_eq!(status, 503, "{refused}");
    assert!(refused.to_string().contains("has not been reached yet"), "{refused}");
}
