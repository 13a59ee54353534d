//! Getting in, and what is kept.

use futures_util::StreamExt;
use switchboard_testkit::{Fake, Nats};
use switchboard_workers::{Bucket, Cluster, Config};

use crate::{
    TestServers, parts,
    shared::nodes::{until, within},
};

#[tokio::test]
async fn every_bucket_can_be_made_and_found_again() {
    let servers = TestServers::start();
    let (one, other) = (servers.connect().await, servers.connect().await);
    for bucket in Bucket::ALL {
        one.bucket(bucket).await.unwrap().put("a.b", "1".into()).await.unwrap();
        let found = other.bucket(bucket).await.unwrap().get("a.b").await.unwrap();
        assert_eq!(found.unwrap().value.unwrap(), "1", "{bucket:?}");
    }
    one.objects().put("it", vec![7; 3_000_000].into()).await.unwrap();
    assert_eq!(other.objects().get("it").await.unwrap().len(), 3_000_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_servers_keep_it_three_times() {
    let folder = tempfile::tempdir().unwrap();
    let mut servers = Nats::three(&parts(), folder.path());
    let nats = servers.each_ref().map(Nats::url).join(",");
    let config = Config { nats: Some(nats), replicas: 3, ..Config::default() };
    let cluster = Cluster::connect(&config).await.unwrap();
    let store = loop {
        // They take a while to find each other.
        match cluster.bucket(Bucket::Tokens).await {
            Ok(store) => break store,
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(100)).await,
        }
    };
    store.put("token", "yes".into()).await.unwrap();
    servers[0].kill();
    let found = loop {
        match store.get("token").await {
            Ok(Some(found)) => break found,
            // Two of three confirmed the write; the third says that there is nothing until it has caught up.
            Ok(None) | Err(_) => tokio::time::sleep(std::time::Duration::from_millis(100)).await,
        }
    };
    assert_eq!(found.value.unwrap(), "yes");
}

// What is created goes through the leader of all streams: thousands of workers that start at once must not need it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_joins_others_creates_nothing() {
    let servers = TestServers::start();
    let first = servers.worker("gpu", 4, vec![Fake::echoes("echo")]).await;
    let gateway = servers.gateway("gpu__echo").await;
    let listener = servers.connect().await;
    let client = listener.nats().unwrap().client();
    let mut requests = client.subscribe("$JS.API.>").await.unwrap();
    client.flush().await.unwrap();
    let second = servers.worker("gpu", 4, vec![Fake::echoes("echo")]).await;
    let mut subjects = Vec::new();
    within("it asks for the consumer of its group", async {
        while let Some(request) = requests.next().await {
            subjects.push(request.subject.to_string());
            if request.subject.starts_with("$JS.API.CONSUMER.INFO.") {
                break;
            }
        }
    })
    .await;
    let workers = || gateway.groups.totals().and_then(|all| all.get("gpu").map(|it| it.workers));
    until("both are known", || workers() == Some(2)).await;
    let created: Vec<_> = subjects.iter().filter(|it| it.contains(".CREATE.")).collect();
    assert!(created.is_empty(), "{created:?} of {subjects:?}");
    drop((first, second));
}

#[tokio::test]
async fn wrong_settings_are_named() {
    let nats = || Some("nats://127.0.0.1:1".to_owned());
    let cases = [
        (Config::default(), "`cluster.nats`: it names no server (such as nats://127.0.0.1:4222)"),
        (
            Config { nats: nats(), prefix: "a b".to_owned(), ..Config::default() },
            "`cluster.prefix`: ",
        ),
        (
            Config { nats: nats(), password: Some("x".to_owned()), ..Config::default() },
            "`cluster.password`: ",
        ),
        (
            Config { nats: nats(), ca: Some("/nowhere.pem".into()), ..Config::default() },
            "`cluster.ca`: `/nowhere.pem`",
        ),
        (
            Config { nats: nats(), certificate_key: Some("/k".into()), ..Config::default() },
            "`cluster.certificate_key`: a key needs",
        ),
        (
            Config { nats: nats(), certificate: Some("/c".into()), ..Config::default() },
            "`cluster.certificate`: a certificate needs its `certificate_key`",
        ),
        (
            Config { nats: nats(), key: Some("a secret".into()), ..Config::default() },
            "`cluster.key`: a ",
        ),
        (
            Config { nats: nats(), credentials: Some("/c".into()), ..Config::default() },
            "`cluster.credentials`: `/c`",
        ),
        (
            Config { nats: Some("nats://u:secret@[".to_owned()), ..Config::default() },
            "`cluster.nats`: ",
        ),
    ];
    for (config, expected) in cases {
        let error = Cluster::connect(&config).await.err().unwrap().to_string();
        assert!(error.starts_with(expected) && !error.contains("secret"), "{error}");
    }
}
