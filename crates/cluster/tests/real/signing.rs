//! A client of the broker without the cluster's key can act as no caller, allow no held call and restore no token.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use serde_json::json;
use switchboard_access::NewToken;
use switchboard_access::Peers as _;
use switchboard_approvals::RuleScope;
use switchboard_cluster::{ClusterTokens, ClusterView, Error};
use switchboard_runtime::toolcall::ErrorKind;
use switchboard_workers::{Bucket, Cluster};
use tokio::time::sleep;

use crate::{
    TestCluster, TestNode,
    approvals::{ApprovalSetup, LATER, decide},
    until,
};

/// How long something is given to happen that must not.
const MOMENT: Duration = Duration::from_millis(700);

fn admin(name: &str) -> NewToken {
    NewToken { name: name.to_owned(), admin: true, approve: true, ..NewToken::default() }
}

fn knows(member: &TestNode, secret: &str) -> bool {
    member.tokens.find(secret).is_some()
}

async fn put(stranger: &Cluster, bucket: Bucket, key: &str, value: impl Into<Bytes>) {
    stranger.bucket(bucket).await.unwrap().put(key, value.into()).await.unwrap();
}

async fn lies(stranger: &Cluster, bucket: Bucket, key: &str) -> Bytes {
    stranger.bucket(bucket).await.unwrap().get(key).await.unwrap().unwrap().value.unwrap()
}

// RC-3, GW-2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forged_entry_does_not_become_a_token() {
    let test_cluster = TestCluster::signed();
    let (member, stranger) = (test_cluster.member("one").await, test_cluster.stranger().await);
    let mut visit = ClusterView::new(&test_cluster.cluster().await);
    let tokens = visit.tokens().await.unwrap();
    let (entry, forged) = admin("root").entry().unwrap();
    put(&stranger, Bucket::Tokens, "root", serde_json::to_vec(&entry).unwrap()).await;
    let secret = tokens.create(NewToken { name: "ada".to_owned(), ..NewToken::default() }).await;
    let secret = secret.unwrap();
    until("a token with a signature is known", async || knows(&member, &secret)).await;
    // Neither what was signed for another name, nor what was changed.
    let signed = lies(&stranger, Bucket::Tokens, "ada").await;
    put(&stranger, Bucket::Tokens, "eve", signed.clone()).await;
    let changed = String::from_utf8(signed.to_vec()).unwrap().replace("}", r#","admin":true}"#);
    put(&stranger, Bucket::Tokens, "ada", changed).await;
    sleep(MOMENT).await;
    assert!(!knows(&member, &forged));
    assert!(member.tokens.find(&secret).is_some_and(|token| !token.entry().admin));
    let names: Vec<_> = tokens.all().into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["ada"]);
    put(&stranger, Bucket::Tokens, "ada", "{}").await;
    until("what belongs there is put back", async || {
        lies(&stranger, Bucket::Tokens, "ada").await == signed
    })
    .await;
    // The name is free for whoever may make tokens.
    let secret = tokens.create(admin("root")).await.unwrap();
    until("it is known", async || knows(&member, &secret)).await;
    assert!(!knows(&member, &forged));
}

// RC-3, GW-2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revoked_token_does_not_come_back() {
    let test_cluster = TestCluster::signed();
    let (member, stranger) = (test_cluster.member("one").await, test_cluster.stranger().await);
    let mut visit = ClusterView::new(&test_cluster.cluster().await);
    let tokens = visit.tokens().await.unwrap();
    let secret = tokens.create(admin("root")).await.unwrap();
    until("it is known", async || knows(&member, &secret)).await;
    let signed = lies(&stranger, Bucket::Tokens, "root").await;
    // Nobody else can take it away.
    let store = stranger.bucket(Bucket::Tokens).await.unwrap();
    store.remove("root").await.unwrap();
    until("it is put back", async || {
        store.get("root").await.unwrap().is_some_and(|entry| entry.value.as_ref() == Some(&signed))
    })
    .await;
    assert!(knows(&member, &secret));
    tokens.revoke("root").await.unwrap();
    until("it is gone", async || !knows(&member, &secret)).await;
    for is_purged in [false, true] {
        if is_purged {
            store.remove("root").await.unwrap();
        }
        put(&stranger, Bucket::Tokens, "root", signed.clone()).await;
        until("it is taken away again", async || {
            store
                .get("root")
                .await
                .unwrap()
                .is_some_and(|entry| entry.value.as_ref() != Some(&signed))
        })
        .await;
        assert!(!knows(&member, &secret));
    }
    let late = test_cluster.member("late").await;
    assert!(!knows(&late, &secret), "one that was not there");
    assert!(tokens.revoke("root").await.is_err(), "it is gone already");
    let anew = tokens.create(admin("root")).await.unwrap();
    until("a new one of this name is known", async || knows(&late, &anew)).await;
    assert!(!knows(&late, &secret) && !knows(&member, &secret));
}

// RC-3, PO-2
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn forged_answers_and_rules_allow_nothing() {
    let test_cluster = TestCluster::signed();
    let stranger = test_cluster.stranger().await;
    let setup = ApprovalSetup::new(&test_cluster, "one", LATER).await;
    // A genuine answer and a genuine rule, to copy from.
    let called = setup.call(json!({"number": 1}));
    let first = setup.waiting().await;
    decide(&setup.queue, &first, true, Some(RuleScope::Tool)).await.unwrap();
    assert!(called.await.unwrap().is_success());
    let answer = lies(&stranger, Bucket::Approvals, &format!("answer.{first}")).await;
    let plain = answer.slice(answer.iter().position(|byte| *byte == b'\n').unwrap() + 1..);
    let keys = stranger.bucket(Bucket::Approvals).await.unwrap().keys().await.unwrap();
    let place = keys.into_iter().find(|key| key.starts_with("rule.")).unwrap();
    let rule = lies(&stranger, Bucket::Approvals, &place).await;
    let (queue, id) = (setup.queue.clone(), setup.queue.rules().unwrap().remove(0).id);
    tokio::task::spawn_blocking(move || queue.forget(&id)).await.unwrap().unwrap();

    put(&stranger, Bucket::Approvals, &place, rule.clone()).await;
    let plain_rule = rule.slice(rule.iter().position(|byte| *byte == b'\n').unwrap() + 1..);
    put(&stranger, Bucket::Approvals, "rule.act.all", plain_rule).await;
    sleep(MOMENT).await;
    assert!(setup.queue.rules().unwrap().is_empty(), "what was forgotten stays so");
    for forged in [plain, answer] {
        let called = setup.call(json!({"number": 2}));
        let id = setup.waiting().await;
        put(&stranger, Bucket::Approvals, &format!("answer.{id}"), forged).await;
        sleep(MOMENT).await;
        assert!(!called.is_finished(), "it goes on waiting");
        setup.decide(&id, false).await.unwrap();
        assert_eq!(called.await.unwrap().error_kind(), Some(ErrorKind::Denied));
    }
}

// RC-3
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_command_without_the_key_is_told_what_is_missing() {
    let test_cluster = TestCluster::signed();
    let setup = ApprovalSetup::new(&test_cluster, "one", LATER).await;
    let mut visit = ClusterView::new(&test_cluster.cluster().await);
    visit.tokens().await.unwrap().create(admin("root")).await.unwrap();
    let mut without = ClusterView::new(&test_cluster.stranger().await);
    let tokens = without.tokens().await.unwrap();
    for error in [tokens.create(admin("eve")).await.map(drop), tokens.revoke("root").await] {
        assert!(matches!(error, Err(Error::NoKey)), "{error:?}");
    }
    let called = setup.call(json!({}));
    let id = setup.waiting().await;
    let queue = Arc::new(without.queue().await.unwrap());
    until("it sees the question", async || queue.pending().unwrap().len() == 1).await;
    let error = decide(&queue, &id, true, None).await.unwrap_err().to_string();
    assert!(error.contains("are signed: set its `key` in [cluster]"), "{error}");
    setup.decide(&id, true).await.unwrap();
    assert!(called.await.unwrap().is_success());
}

// RC-3, GW-2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_signs_in_by_writing_to_the_broker() {
    let test_cluster = TestCluster::signed();
    let (member, stranger) = (test_cluster.member("one").await, test_cluster.stranger().await);
    let hour = Duration::from_secs(60 * 60);
    member.state.keep_session("mine", json!({"token": "ada"}), hour).await.unwrap();
    let signed = lies(&stranger, Bucket::Sessions, "console.mine").await;
    let forged = json!({"session": {"token": "root"}, "until": "2100-01-01T00:00:00Z"});
    put(&stranger, Bucket::Sessions, "console.forged", forged.to_string()).await;
    put(&stranger, Bucket::Sessions, "console.moved", signed.clone()).await;
    assert_eq!(member.state.find_session("forged").await, None);
    assert_eq!(member.state.find_session("moved").await, None);
    assert!(member.state.find_session("mine").await.is_some());
    member.state.end_session("mine").await.unwrap();
    put(&stranger, Bucket::Sessions, "console.mine", signed).await;
    sleep(MOMENT).await;
    assert_eq!(member.state.find_session("mine").await, None, "it has ended");
    // What seals MCP sessions is made from the key, and lies nowhere.
    assert!(member.state.mcp().await.seal.is_some());
    let store = stranger.bucket(Bucket::Sessions).await.unwrap();
    assert!(store.get("mcp.secrets").await.unwrap().is_none());
}

// RC-3, GW-2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_from_before_the_key_hold_once_somebody_signs_them() {
    let mut test_cluster = TestCluster::new();
    let mut visit = ClusterView::new(&test_cluster.cluster().await);
    let secret = visit.tokens().await.unwrap().create(admin("old")).await.unwrap();
    test_cluster.key = Some("a secret that all nodes of the cluster have".into());
    let member = test_cluster.member("one").await;
    assert!(!knows(&member, &secret), "nobody has signed it");
    let mut visit = ClusterView::new(&test_cluster.cluster().await);
    let tokens = visit.tokens().await.unwrap();
    let names = async |tokens: &ClusterTokens| {
        let unsigned = tokens.unsigned().await.unwrap();
        unsigned.into_iter().map(|entry| entry.name).collect::<Vec<_>>()
    };
    assert_eq!(names(&tokens).await, ["old"]);
    assert!(tokens.sign("old").await.unwrap().admin);
    until("it is known", async || knows(&member, &secret)).await;
    assert!(names(&tokens).await.is_empty());
    // The key is replaced: first all nodes take both, and tokens are signed again.
    let several = |keys: [&str; 2]| {
        let keys = keys.map(str::to_owned).to_vec();
        Some(switchboard_workers::ClusterSecrets::Several(keys))
    };
    let (old, new) =
        ("a secret that all nodes of the cluster have", "another secret for the time to come");
    test_cluster.key = several([new, old]);
    let both = test_cluster.member("both").await;
    until("it is known with both keys", async || knows(&both, &secret)).await;
    let mut visit = ClusterView::new(&test_cluster.cluster().await);
    let tokens = visit.tokens().await.unwrap();
    assert_eq!(names(&tokens).await, ["old"]);
    tokens.sign("old").await.unwrap();
    test_cluster.key = Some(new.into());
    let after = test_cluster.member("after").await;
    until("it is known with the new key alone", async || knows(&after, &secret)).await;
    test_cluster.key = Some("a key that nobody else has, at all".into());
    let mut visit = ClusterView::new(&test_cluster.cluster().await);
    let tokens = visit.tokens().await.unwrap();
    let error = tokens.sign("old").await.unwrap_err();
    assert!(matches!(error, Error::OtherKey(_)), "{error}");
    let unknown = tokens.sign("nobody's").await.unwrap_err();
    assert_eq!(unknown.to_string(), "there is no token 'nobody's'");
}
