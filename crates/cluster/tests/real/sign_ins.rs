//! Whoever signs in at one gateway has signed in at all.

use std::time::Duration;

use serde_json::json;
use switchboard_access::Peers;

use crate::{Ground, until};

// GW-2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_everywhere_at_once_and_nowhere_when_it_is_over() {
    let ground = Ground::new();
    let [one, two] = [ground.member("one").await, ground.member("two").await];
    let hour = Duration::from_secs(60 * 60);
    for number in 0..20 {
        let (key, session) = (format!("key-{number}"), json!({"token": number}));
        one.fleet.keep_session(&key, session.clone(), hour).await.unwrap();
        assert_eq!(two.fleet.find_session(&key).await, Some(session), "at once");
    }
    two.fleet.end_session("key-0").await.unwrap();
    until("it is over", async || one.fleet.find_session("key-0").await.is_none()).await;
    assert!(one.fleet.find_session("key-1").await.is_some());
    assert!(one.fleet.find_session("nobody's").await.is_none());
    one.fleet.keep_session("short", json!({}), Duration::ZERO).await.unwrap();
    assert!(two.fleet.find_session("short").await.is_none(), "its time is over");
}
