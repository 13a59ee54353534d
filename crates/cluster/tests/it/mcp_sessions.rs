//! MCP sessions and held calls that move between gateways, under a paused clock.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, StatusCode};
use serde_json::json;
use switchboard_cluster::{ClusterView, Error};
use tokio::time::{Instant, sleep, timeout};

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

// GW-1
#[tokio::test(start_paused = true)]
async fn the_secret_of_sessions_is_replaced_while_gateways_run() {
    let test_cluster = TestCluster::new();
    let mut view = ClusterView::new(&test_cluster.cluster());
    assert!(!view.rotate_session_secret(false).await.unwrap(), "there is none yet");
    let [here, there] =
        [TestServer::new(&test_cluster, "one").await, TestServer::new(&test_cluster, "two").await];
    let old = here.open().await;
    assert!(view.rotate_session_secret(false).await.unwrap());
    sleep(Duration::from_secs(1)).await;
    let new = here.open().await;
    let late = TestServer::new(&test_cluster, "late").await;
    for session in [&old, &new] {
        assert_eq!(there.ping(session).await, StatusCode::OK);
        assert_eq!(late.ping(session).await, StatusCode::OK);
    }
    // A stolen secret is forgotten at once.
    let [other_old, other_new] = [there.open().await, new];
    assert!(view.rotate_session_secret(true).await.unwrap());
    sleep(Duration::from_secs(1)).await;
    let last = TestServer::new(&test_cluster, "last").await;
    for session in [&old, &other_old, &other_new] {
        assert_eq!(last.ping(session).await, StatusCode::NOT_FOUND);
    }
    assert_eq!(here.ping(&other_old).await, StatusCode::NOT_FOUND, "it was open elsewhere");
    let fresh = there.open().await;
    assert_eq!(here.ping(&fresh).await, StatusCode::OK);

    let signed = TestCluster::signed();
    let refused = ClusterView::new(&signed.cluster()).rotate_session_secret(false).await;
    assert!(matches!(refused, Err(Error::DerivedSecret)), "{refused:?}");
}
