//! What gateways know together: who is there, tokens, rates.

use std::time::Duration;

use switchboard_access::{NewToken, Peers, RateVerdict};
use switchboard_cluster::ClusterView;
use tokio::time::{Instant, sleep};

use crate::{TestCluster, until};

#[tokio::test(start_paused = true)]
async fn a_gateway_that_died_is_gone_after_ten_seconds() {
    let test_cluster = TestCluster::new();
    let (one, two) = (test_cluster.member("one").await, test_cluster.member("two").await);
    let both = [one.state.gateways().own().to_owned(), two.state.gateways().own().to_owned()];
    until("both are there", async || one.state.gateways().all().len() == 2).await;
    let (died, id) = (Instant::now(), both[1].clone());
    drop(two);
    until("it is gone", async || !one.state.gateways().is_there(&id)).await;
    assert!((7..=11).contains(&died.elapsed().as_secs()), "{:?}", died.elapsed());
    assert_eq!(one.state.gateways().all(), both[..1]);
}

// GW-2
#[tokio::test(start_paused = true)]
async fn a_token_is_known_everywhere_until_it_is_revoked() {
    for test_cluster in [TestCluster::new(), TestCluster::signed()] {
        let (one, two) = (test_cluster.member("one").await, test_cluster.member("two").await);
        let mut view = ClusterView::new(&test_cluster.cluster());
        let tokens = view.tokens().await.unwrap();
        let new = NewToken { name: "ada".to_owned(), ..NewToken::default() };
        let secret = tokens.create(new.clone()).await.unwrap();
        assert!(tokens.create(new).await.is_err(), "the name is taken");
        for member in [&one, &two] {
            until("it is known", async || member.tokens.find(&secret).is_some()).await;
        }
        // While the servers are away, what was known holds.
        test_cluster.servers.set_online(false);
        assert!(tokens.revoke("ada").await.is_err());
        sleep(Duration::from_secs(60)).await;
        assert!(one.tokens.find(&secret).is_some() && one.state.outage().is_some());
        test_cluster.servers.set_online(true);
        tokens.revoke("ada").await.unwrap();
        for member in [&one, &two] {
            until("it is gone", async || member.tokens.find(&secret).is_none()).await;
        }
    }
}

// GW-2
#[tokio::test(start_paused = true)]
async fn a_rate_holds_over_all_gateways() {
    let test_cluster = TestCluster::new();
    let members = [test_cluster.member("one").await, test_cluster.member("two").await];
    let rate = "40/h".parse().unwrap();
    let mut within = 0;
    for turn in 0..100 {
        let verdict = members[turn % 2].state.count("ada", rate).await;
        within += usize::from(matches!(verdict, RateVerdict::Within));
    }
    assert_eq!(within, 40);
}
