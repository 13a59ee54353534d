//! MCP sessions and held calls that move between gateways, under a paused clock.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, StatusCode};
use serde_json::json;
use tokio::time::{Instant, timeout};

use crate::{
    LONG, TestCluster,
    shared::mcp_sessions::{TestServer, goes_on, moves_between_gateways},
    until,
};

// GW-1, EX-4
#[tokio::test(start_paused = true)]
async fn a_session_is_known_cancelled_and_ended_anywhere() {
    moves_between_gateways(&TestCluster::new()).await;
}

// GW-1, EX-4, RC-3
#[tokio::test(start_paused = true)]
async fn a_session_of_a_cluster_with_a_key_is_known_cancelled_and_ended_anywhere() {
    moves_between_gateways(&TestCluster::signed()).await;
}

// GW-3
#[tokio::test(start_paused = true)]
async fn a_held_call_goes_on_from_anywhere() {
    goes_on(&TestCluster::new()).await;
}

// GW-3, RC-3
#[tokio::test(start_paused = true)]
async fn a_held_call_of_a_cluster_with_a_key_goes_on_from_anywhere() {
    goes_on(&TestCluster::signed()).await;
}

// GW-1
#[tokio::test(start_paused = true)]
async fn a_session_outlives_its_gateway() {
    for test_cluster in [TestCluster::new(), TestCluster::signed()] {
        let [here, there] = [
            TestServer::new(&test_cluster, "one").await,
            TestServer::new(&test_cluster, "two").await,
        ];
        let session = here.open().await;
        drop(here);
        assert_eq!(there.ping(&session).await, StatusCode::OK);
        // What one of the others has ended, nobody adopts.
        let third = TestServer::new(&test_cluster, "three").await;
        let in_session = [("mcp-session-id", &*session)];
        let ended = third.send(Method::DELETE, &in_session, json!(null)).await;
        assert_eq!(ended.status(), StatusCode::NO_CONTENT);
        until("it has ended next door", async || {
            there.ping(&session).await == StatusCode::NOT_FOUND
        })
        .await;
        let late = TestServer::new(&test_cluster, "late").await;
        assert_eq!(late.ping(&session).await, StatusCode::NOT_FOUND);
    }
}

// GW-3
#[tokio::test(start_paused = true)]
async fn nobody_waits_for_a_gateway_that_died() {
    let test_cluster = TestCluster::new();
    let [here, there] =
        [TestServer::new(&test_cluster, "one").await, TestServer::new(&test_cluster, "two").await];
    let (name, begun) = (here.server.name().to_owned(), Instant::now());
    let asked = async {
        let request = there.peers.request(&name, Bytes::from_static(b"{}"));
        timeout(LONG, request).await.expect("it is not waited for")
    };
    // It dies without a word, and its entry expires.
    drop(here);
    assert!(asked.await.is_err());
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}
