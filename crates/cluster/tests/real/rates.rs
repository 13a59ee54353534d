//! A rate holds over all gateways together.

use std::time::Duration;

use switchboard_access::{Peers, Rate, RateVerdict, SlotVerdict};

use crate::{TestCluster, TestNode, until};

/// How many requests are within the rate before neither gateway lets in another.
async fn let_in(members: &[TestNode], caller: &str, rate: Rate) -> u32 {
    let mut within = 0;
    loop {
        let before = within;
        for member in members {
            match member.state.count(caller, rate).await {
                RateVerdict::Within => within += 1,
                RateVerdict::Beyond(_) => {}
                RateVerdict::Unknown => panic!("NATS is there"),
            }
        }
        if within == before {
            return within;
        }
    }
}

// GW-2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rate_is_counted_over_all_gateways() {
    let mut test_cluster = TestCluster::new();
    let members = [test_cluster.member("one").await, test_cluster.member("two").await];
    // Of a rate per day nothing comes back while the test runs, however slow it is. 100 a day come in slices of 5.
    for (caller, rate, least) in [("few", "7/d", 7), ("many", "100/d", 96)] {
        let rate: Rate = rate.parse().unwrap();
        let count = let_in(&members, caller, rate).await;
        assert!((least..=rate.count()).contains(&count), "{caller}: {count}");
    }
    let rate: Rate = "7/d".parse().unwrap();
    let RateVerdict::Beyond(wait) = members[0].state.count("few", rate).await else {
        panic!("few")
    };
    assert!(wait > Duration::from_secs(60 * 60), "{wait:?}");
    assert_eq!(members[0].state.count("another", rate).await, RateVerdict::Within);

    test_cluster.nats.kill();
    let unknown = async || members[0].state.count("few", rate).await == RateVerdict::Unknown;
    until("nobody can be asked", unknown).await;
    test_cluster.nats.restart();
    let beyond =
        async || matches!(members[0].state.count("few", rate).await, RateVerdict::Beyond(_));
    until("it is counted as before", beyond).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_gateway_does_not_use_others_can() {
    let test_cluster = TestCluster::new();
    let [one, two] = [test_cluster.member("one").await, test_cluster.member("two").await];
    let rate: Rate = "100/d".parse().unwrap();
    assert_eq!(one.state.count("ada", rate).await, RateVerdict::Within);
    // The first has taken 5 and used 1 of them.
    let mut within = 1;
    let all = async || {
        while two.state.count("ada", rate).await == RateVerdict::Within {
            within += 1;
        }
        within == 100
    };
    until("the rest was given back", all).await;
}

// GW-2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_at_once_are_counted_over_all_gateways() {
    let mut test_cluster = TestCluster::new();
    let [one, two] = [test_cluster.member("one").await, test_cluster.member("two").await];
    for member in [&one, &two] {
        until("both are there", async || member.state.gateways().all().len() == 2).await;
    }
    let take = async |member: &TestNode| member.state.take_slot("ada", 3).await;
    let taken = async |member: &TestNode| {
        let mut slots = Vec::new();
        until("there is a slot", async || {
            if let SlotVerdict::Taken(slot) = take(member).await {
                slots.push(slot);
            }
            !slots.is_empty()
        })
        .await;
        slots
    };
    let mut slots = [taken(&one).await, taken(&two).await, taken(&one).await];
    for member in [&one, &two] {
        assert!(!matches!(take(member).await, SlotVerdict::Taken(_)));
    }
    slots[0].clear();
    slots[0] = taken(&two).await;
    assert!(!matches!(take(&one).await, SlotVerdict::Taken(_)));

    test_cluster.nats.kill();
    let unknown = async || matches!(take(&one).await, SlotVerdict::Unknown);
    until("nobody can be asked", unknown).await;
    test_cluster.nats.restart();
    let full = async || matches!(take(&one).await, SlotVerdict::Full);
    until("what runs is counted again", full).await;
    drop(slots);
    drop(taken(&one).await);
}
