//! Clients that vanish, clients that are slow, and the end.

use std::time::Duration;

use serde_json::json;
use switchboard_gateway::Config;
use switchboard_toolcall::HumanDuration;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{House, answer};

/// Waits until the witness has seen it.
pub(crate) async fn until_seen(house: &House, what: &str) {
    while !house.witness.seen().contains(&what) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

// EX-4
#[tokio::test]
async fn a_client_that_hangs_up_cancels_its_call() {
    let house = House::start().await;
    let call = tokio::spawn(house.call("wait", &json!({"secs": 60})).send());
    until_seen(&house, "begun").await;
    call.abort();
    until_seen(&house, "dropped and told").await;
    let calls = loop {
        let (_, calls) = answer(house.get("/api/calls")).await;
        if calls[0]["outcome"] != "running" {
            break calls;
        }
    };
    assert_eq!(calls[0]["outcome"], "cancelled");
}

// GW-4
#[tokio::test]
async fn what_runs_may_finish_when_we_are_told_to_stop() {
    let mut house = House::start().await;
    let call = tokio::spawn(house.call("wait", &json!({"secs": 0.3})).send());
    until_seen(&house, "begun").await;
    house.stop.cancel();
    let response = call.await.unwrap().unwrap();
    assert_eq!(response.status(), 200);
    house.running.take().unwrap().await.unwrap();
    assert!(house.get("/healthz").send().await.is_err(), "nobody listens any more");
}

// GW-4
#[tokio::test]
async fn what_does_not_finish_is_cancelled_and_recorded() {
    let drain = HumanDuration(Duration::from_millis(50));
    let mut house = House::configured(Config { drain, ..Config::default() }).await;
    let call = tokio::spawn(house.call("wait", &json!({"secs": 60})).send());
    until_seen(&house, "begun").await;
    house.stop.cancel();
    house.running.take().unwrap().await.unwrap();
    assert!(call.await.unwrap().is_err());
    let calls = house.executor.recorder().recent(1).await.unwrap();
    let (kind, _) = calls[0].end.expect("its record is closed");
    assert_eq!(kind.map(switchboard_toolcall::ErrorKind::code), Some("cancelled"));
}

#[tokio::test]
async fn slow_clients_are_shown_the_door() {
    let header_timeout = HumanDuration(Duration::from_millis(50));
    let house = House::configured(Config { header_timeout, ..Config::default() }).await;
    let mut slow = TcpStream::connect(house.address).await.unwrap();
    slow.write_all(b"GET /api/tools HTTP/1.1\r\nHost: local").await.unwrap();
    let mut rest = Vec::new();
    // Whether with a 408 or without a word, the connection ends.
    let _ = slow.read_to_end(&mut rest).await;
    assert!(!String::from_utf8_lossy(&rest).contains("200 OK"));
}
