//! A sign-in at one gateway is valid at all of them.

use std::time::Duration;

use serde_json::json;
use switchboard_access::Peers;

use crate::{TestCluster, until};

// GW-2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_everywhere_at_once_and_nowhere_when_it_is_over() {
    let test_cluster = TestCluster::new();
    let [one, two] = [test_cluster.member("one").await, test_cluster.member("two").await];
    let hour = Duration::from_secs(60 * 60);
    for number in 0..20 {
        let (key, session) = (format!("key-{number}"), json!({"token": number}));
        one.state.keep_session(&key, session.clone(), hour).await.unwrap();
        assert_eq!(two.state.find_session(&key).await, Some(session), "at once");
    }
    two.state.end_session("key-0").await.unwrap();
    until("it is over", async || one.state.find_session("key-0").await.is_none()).await;
    assert!(one.state.find_session("key-1").await.is_some());
    assert!(one.state.find_session("nobody's").await.is_none());
    one.state.keep_session("short", json!({}), Duration::ZERO).await.unwrap();
    assert!(two.state.find_session("short").await.is_none(), "its time is over");
}
