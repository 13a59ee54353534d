//! Requests at once, counted over all gateways.

use std::time::Duration;

use switchboard_access::{PeerSlot, Peers, SlotVerdict};
use tokio::time::{Instant, sleep};

use crate::{TestCluster, TestNode, until};

const MOST: usize = 4;

async fn take(member: &TestNode) -> Option<PeerSlot> {
    match member.state.take_slot("ada", MOST).await {
        SlotVerdict::Taken(slot) => Some(slot),
        SlotVerdict::Full => None,
        SlotVerdict::Unknown => panic!("the others can be reached"),
    }
}

async fn two(test_cluster: &TestCluster) -> [TestNode; 2] {
    let members = [test_cluster.member("one").await, test_cluster.member("two").await];
    for member in &members {
        until("both are there", async || member.state.gateways().all().len() == 2).await;
    }
    members
}

// GW-2
#[tokio::test(start_paused = true)]
async fn requests_at_once_are_counted_over_all_gateways() {
    for test_cluster in [TestCluster::new(), TestCluster::signed()] {
        let [one, two] = two(&test_cluster).await;
        let mut slots = Vec::new();
        for member in [&one, &one, &two, &one] {
            slots.push(take(member).await.expect("there is one"));
        }
        for member in [&one, &two] {
            assert!(take(member).await.is_none());
        }
        // Other callers have their own.
        assert!(matches!(two.state.take_slot("bob", 1).await, SlotVerdict::Taken(_)));
        // What one gateway no longer uses, the other gets: a request waits longer than slots are kept.
        slots.remove(0);
        sleep(Duration::from_secs(1)).await;
        slots.push(take(&two).await.expect("one was given back"));
        assert!(take(&one).await.is_none());
        slots.clear();
        for _ in 0..MOST {
            slots.push(take(&two).await.expect("all were given back"));
        }
        assert!(take(&one).await.is_none());
    }
}

// GW-2
#[tokio::test(start_paused = true)]
async fn one_request_after_the_other_never_finds_all_slots_taken() {
    let test_cluster = TestCluster::new();
    let members = two(&test_cluster).await;
    for turn in 0..50 {
        let member = &members[turn % 2];
        match member.state.take_slot("ada", 1).await {
            SlotVerdict::Taken(slot) => drop(slot),
            other => panic!("{turn}: {other:?}"),
        }
    }
}

// GW-2
#[tokio::test(start_paused = true)]
async fn slots_of_a_gateway_that_died_lapse() {
    let test_cluster = TestCluster::new();
    let [one, two] = two(&test_cluster).await;
    let mut slots = Vec::new();
    for _ in 0..MOST {
        slots.push(take(&two).await.expect("there is one"));
    }
    let died = Instant::now();
    drop(two);
    assert!(take(&one).await.is_none(), "it may run them still");
    until("they have lapsed", async || take(&one).await.is_some()).await;
    assert!((7..=12).contains(&died.elapsed().as_secs()), "{:?}", died.elapsed());
}

// GW-2
#[tokio::test(start_paused = true)]
async fn while_nats_is_away_each_gateway_counts_by_itself() {
    let test_cluster = TestCluster::new();
    let [one, two] = two(&test_cluster).await;
    let slots = [take(&one).await, take(&one).await, take(&one).await];
    assert!(slots.iter().all(Option::is_some));
    test_cluster.servers.set_online(false);
    sleep(Duration::from_secs(20)).await;
    for member in [&one, &two] {
        let verdict = member.state.take_slot("ada", MOST).await;
        assert!(matches!(verdict, SlotVerdict::Unknown), "{verdict:?}");
    }
    test_cluster.servers.set_online(true);
    sleep(Duration::from_secs(10)).await;
    // What ran meanwhile is counted again.
    let last = take(&one).await;
    assert!(last.is_some());
    assert!(take(&two).await.is_none());
}
