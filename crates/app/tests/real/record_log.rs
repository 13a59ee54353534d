//! The records of calls in a log store, over OTLP, whatever becomes of the collector and of the gateway.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{
    rotel::Rotel,
    serving::{Serving, free_port, switchboard, wait_for},
};

/// Makes calls; returns their ids.
fn calls(serving: &Serving, count: usize) -> Vec<String> {
    let call = |number| {
        let args = json!({"expression": format!("{number}+1")});
        let envelope = serving.post("/api/tools/math_eval/call", &[], &args);
        envelope["call_id"].as_str().unwrap().to_owned()
    };
    (0..count).map(call).collect()
}

/// Waits until the collector has these records; returns all that it has.
fn until_received(rotel: &Rotel, ids: &[String]) -> BTreeMap<String, Vec<String>> {
    wait_for("the records", || {
        let records = rotel.log_records();
        ids.iter().all(|id| records.contains_key(id)).then_some(records)
    })
}

// RC-1, GW-4
#[test]
fn a_log_store_gets_every_record_whatever_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let config = format!("[telemetry]\notlp = 'http://127.0.0.1:{port}'\nrecords = true\n");
    // Nobody listens yet, and no call waits for it.
    let serving = Serving::start(folder.path(), &config);
    let mut ids = calls(&serving, 5);
    let rotel = Rotel::on(folder.path(), port);
    until_received(&rotel, &ids);
    // The collector is killed, and then the gateway, whose records nobody has yet.
    drop(rotel);
    ids.extend(calls(&serving, 20));
    drop(serving);
    let rotel = Rotel::on(folder.path(), port);
    let serving = Serving::start(folder.path(), &config);
    ids.extend(calls(&serving, 5));
    until_received(&rotel, &ids);
    serving.stop();
    // A command sends what it recorded.
    let output = switchboard(folder.path(), &["call", "echo", "--json"]).output().unwrap();
    let envelope: Value = serde_json::from_slice(&output.stdout).unwrap();
    ids.push(envelope["call_id"].as_str().unwrap().to_owned());
    until_received(&rotel, &ids);
    // The gateway is killed while it sends.
    for _ in 0..3 {
        let serving = Serving::start(folder.path(), &config);
        ids.extend(calls(&serving, 100));
        drop(serving);
    }
    let serving = Serving::start(folder.path(), &config);
    let records = until_received(&rotel, &ids);
    serving.stop();

    assert_eq!(records.len(), ids.len(), "there is no record of a call that was not made");
    for (id, bodies) in records {
        assert!(bodies.iter().all(|body| *body == bodies[0]), "duplicates differ: {bodies:?}");
        let record: Value = serde_json::from_str(&bodies[0]).unwrap();
        assert_eq!((&record["id"], &record["outcome"]), (&json!(id), &json!("ok")));
        assert!(record["node"]["id"].is_string() && record["journal"][0]["hash"].is_string());
    }
}
