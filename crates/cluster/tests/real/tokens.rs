//! A token that is made once is known everywhere, and gone everywhere when it is revoked.

use switchboard_access::{NewToken, Peers, TokensError};
use switchboard_cluster::{ClusterView, Error};

use crate::{TestCluster, TestNode, until};

fn new(name: &str) -> NewToken {
    NewToken { name: name.to_owned(), ..NewToken::default() }
}

fn knows(member: &TestNode, secret: &str) -> bool {
    member.tokens.find(secret).is_some()
}

// GW-2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_is_known_everywhere_until_it_is_revoked() {
    let mut test_cluster = TestCluster::new();
    let members = [test_cluster.member("one").await, test_cluster.member("two").await];
    let mut visit = ClusterView::new(&test_cluster.cluster().await);
    let tokens = visit.tokens().await.unwrap();
    let secret = tokens.create(new("ada lovelace")).await.unwrap();
    let own = members[0].tokens.create(new("own")).unwrap();
    for member in &members {
        until("the token is known", async || knows(member, &secret)).await;
    }
    assert!(knows(&members[0], &own) && !knows(&members[1], &own), "that of a file is the file's");
    let taken = tokens.create(new("ada lovelace")).await.unwrap_err();
    assert!(matches!(taken, Error::Token(TokensError::Taken(_))), "{taken}");
    let names: Vec<_> = tokens.all().into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["ada lovelace"]);

    test_cluster.nats.kill();
    until("NATS is away", async || members[0].state.outage().is_some()).await;
    assert!(knows(&members[0], &secret) && knows(&members[1], &secret), "what is known stays");
    assert!(tokens.create(new("later")).await.is_err());
    let late = test_cluster.member("late").await;
    assert!(!knows(&late, &secret), "it cannot know yet");

    test_cluster.nats.restart();
    until("the late one knows too", async || knows(&late, &secret)).await;
    until("NATS is back", async || tokens.revoke("ada lovelace").await.is_ok()).await;
    for member in members.iter().chain([&late]) {
        until("the token is gone", async || !knows(member, &secret)).await;
    }
    let unknown = tokens.revoke("ada lovelace").await.unwrap_err();
    assert!(matches!(unknown, Error::Token(TokensError::Unknown(_))), "{unknown}");
}
