//! MCP sessions and held calls that move between gateways, with a real NATS.

use crate::{
    TestCluster,
    shared::mcp_sessions::{goes_on, moves_between_gateways},
};

// GW-1, EX-4
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_known_cancelled_and_ended_anywhere() {
    moves_between_gateways(&TestCluster::new()).await;
}

// GW-1, EX-4, RC-3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_of_a_cluster_with_a_key_is_known_cancelled_and_ended_anywhere() {
    moves_between_gateways(&TestCluster::signed()).await;
}

// GW-3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_held_call_goes_on_from_anywhere() {
    goes_on(&TestCluster::new()).await;
}

// GW-3, RC-3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_held_call_of_a_cluster_with_a_key_goes_on_from_anywhere() {
    goes_on(&TestCluster::signed()).await;
}
