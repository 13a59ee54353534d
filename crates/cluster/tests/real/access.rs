//! Getting in: every way that servers ask for, and what is said where it is the wrong one.

use std::{fs, path::Path, time::Duration};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use nkeys::KeyPair;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer};
use serde_json::{Value, json};
use switchboard_testkit::{Logs, Nats};
use switchboard_workers::{Bucket, Cluster, Config};
use tempfile::TempDir;
use tracing::Level;

use crate::records::{LIMIT, parts};

/// A server with this config.
struct Guarded {
    nats: Nats,
    _folder: TempDir,
}

impl Guarded {
    fn start(config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("nats.conf");
        fs::write(&file, config).unwrap();
        let words = ["-c", file.to_str().unwrap()];
        Self { nats: Nats::with(&parts(), &folder.path().join("kept"), &words), _folder: folder }
    }

    async fn enter(&self, config: Config) -> Result<Cluster, String> {
        let config = Config { nats: config.nats.or(Some(self.nats.url())), ..config };
        let cluster = Cluster::connect(&config).await.map_err(|error| error.to_string())?;
        let reached = cluster.reached(LIMIT).await;
        let chain = |error: switchboard_workers::Error| {
            format!("{error}: {}", std::error::Error::source(&error).unwrap())
        };
        reached.map_err(chain).map(|()| cluster)
    }

    /// Lets the one in, and says to the other why not.
    async fn check(&self, right: Config, wrong: Config) {
        let cluster = self.enter(right).await.unwrap();
        cluster.bucket(Bucket::Tokens).await.unwrap().put("a", "1".into()).await.unwrap();
        let refused = self.enter(wrong).await.err().expect("the wrong one gets in");
        assert!(refused.contains("authorization violation (check `credentials`"), "{refused}");
    }
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[tokio::test]
async fn users_tokens_and_nkeys_open_the_door() {
    let server = Guarded::start("authorization { user: \"me\", password: \"right\" }\n");
    let user =
        |password| Config { user: text("me"), password: text(password), ..Config::default() };
    server.check(user("right"), user("wrong")).await;

    let server = Guarded::start("authorization { token: \"right\" }\n");
    let token = |token| Config { token: text(token), ..Config::default() };
    server.check(token("right"), token("wrong")).await;

    let (right, wrong) = (KeyPair::new_user(), KeyPair::new_user());
    let users = format!("authorization {{ users: [ {{ nkey: {} }} ] }}\n", right.public_key());
    let nkey = |key: &KeyPair| Config { nkey: key.seed().ok(), ..Config::default() };
    Guarded::start(&users).check(nkey(&right), nkey(&wrong)).await;
}

/// A JWT as NATS has them.
fn jwt(issuer: &KeyPair, subject: &KeyPair, name: &str, mut nats: Value) -> String {
    nats["version"] = json!(2);
    let claims = json!({"jti": name, "iat": 1_700_000_000, "iss": issuer.public_key(), "name": name,
        "sub": subject.public_key(), "nats": nats});
    let encode = |value: Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let text =
        format!("{}.{}", encode(json!({"typ": "JWT", "alg": "ed25519-nkey"})), encode(claims));
    let signed = BASE64_URL_SAFE_NO_PAD.encode(issuer.sign(text.as_bytes()).unwrap());
    format!("{text}.{signed}")
}

/// The file that `nsc` would write.
fn credentials(folder: &Path, name: &str, account: &KeyPair) -> Config {
    let user = KeyPair::new_user();
    let token = jwt(
        account,
        &user,
        name,
        json!({"type": "user", "pub": {}, "sub": {}, "subs": -1, "data": -1, "payload": -1}),
    );
    let file = folder.join(format!("{name}.creds"));
    let seed = user.seed().unwrap();
    let text = format!(
        "-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n\
         -----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
    );
    fs::write(&file, text).unwrap();
    Config { credentials: Some(file), ..Config::default() }
}

/// An operator with two accounts that may keep things, and one of the servers' own; and the key of each.
fn operator() -> (String, [KeyPair; 3]) {
    let operator = KeyPair::new_operator();
    let accounts = [KeyPair::new_account(), KeyPair::new_account(), KeyPair::new_account()];
    let own = jwt(&operator, &operator, "operator", json!({"type": "operator"}));
    let limits = json!({"subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true,
        "conn": -1, "leaf": -1, "mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1});
    let system = accounts[2].public_key();
    let preload: String = accounts
        .iter()
        .map(|key| {
            // The servers' own account may keep nothing.
            let mut limits = limits.clone();
            if key.public_key() == system {
                limits = json!({"subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1,
                    "wildcards": true, "conn": -1, "leaf": -1});
            }
            let token = jwt(&operator, key, "tenant", json!({"type": "account", "limits": limits}));
            format!("  {}: {token}\n", key.public_key())
        })
        .collect();
    let config = format!(
        "operator: {own}\nsystem_account: {system}\nresolver: MEMORY\nresolver_preload: {{\n{preload}}}\n"
    );
    (config, accounts)
}

#[tokio::test]
async fn credentials_open_the_door_and_accounts_do_not_see_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let (config, [one, other, _]) = operator();
    let server = Guarded::start(&config);
    let stranger = credentials(folder.path(), "stranger", &KeyPair::new_account());
    server.check(credentials(folder.path(), "one", &one), stranger).await;
    let other = server.enter(credentials(folder.path(), "other", &other)).await.unwrap();
    let found = other.bucket(Bucket::Tokens).await.unwrap().get("a").await.unwrap();
    assert!(found.is_none());
}

#[tokio::test]
async fn prefixes_do_not_see_each_other() {
    let server = Guarded::start("");
    let tenant = |prefix: &str| Config { prefix: prefix.to_owned(), ..Config::default() };
    let (one, other) = (server.enter(tenant("one")).await, server.enter(tenant("other")).await);
    let (one, other) = (one.unwrap(), other.unwrap());
    for bucket in Bucket::ALL {
        one.bucket(bucket).await.unwrap().put("a", "1".into()).await.unwrap();
        let found = other.bucket(bucket).await.unwrap().get("a").await.unwrap();
        assert!(found.is_none(), "{bucket:?}");
    }
}

/// A home-made authority and what it has signed: `ca.pem`, `certificate.pem`, `key.pem`.
fn certificates(folder: &Path) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = rcgen::KeyPair::generate().unwrap();
    fs::write(folder.join("ca.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
    let authority = Issuer::new(params, key);
    let key = rcgen::KeyPair::generate().unwrap();
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let signed = CertificateParams::new(names).unwrap().signed_by(&key, &authority).unwrap();
    fs::write(folder.join("certificate.pem"), signed.pem()).unwrap();
    fs::write(folder.join("key.pem"), key.serialize_pem()).unwrap();
}

#[tokio::test]
async fn certificates_open_the_door() {
    let (ours, theirs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    certificates(ours.path());
    certificates(theirs.path());
    let file = |folder: &TempDir, name: &str| folder.path().join(name);
    let config = format!(
        "tls {{ cert_file: {:?}, key_file: {:?}, ca_file: {:?}, verify: true }}\n",
        file(&ours, "certificate.pem"),
        file(&ours, "key.pem"),
        file(&ours, "ca.pem"),
    );
    let server = Guarded::start(&config);
    let nats = || Some(server.nats.url().replace("nats://", "tls://"));
    let with = |authority: &TempDir, own: &TempDir| Config {
        nats: nats(),
        ca: Some(file(authority, "ca.pem")),
        certificate: Some(file(own, "certificate.pem")),
        certificate_key: Some(file(own, "key.pem")),
        ..Config::default()
    };
    let cluster = server.enter(with(&ours, &ours)).await.unwrap();
    assert!(cluster.address().starts_with("tls://"));
    cluster.bucket(Bucket::Tokens).await.unwrap();
    // A server with an unknown certificate, or one that rejects ours, is retried: a certificate may be renewed.
    for wrong in [with(&ours, &theirs), with(&theirs, &ours)] {
        let cluster = Cluster::connect(&wrong).await.unwrap();
        assert!(cluster.reached(Duration::from_secs(2)).await.is_err());
    }
}

// EX-5
#[tokio::test]
async fn a_door_that_stays_shut_is_logged_once() {
    let logs = Logs::collect(Level::WARN);
    let server = Guarded::start("authorization { user: \"me\", password: \"right\" }\n");
    let config = Config { user: text("me"), password: text("wrong"), ..Config::default() };
    assert!(server.enter(config).await.is_err());
    // It is retried, silently.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let said = |line: &&String| line.contains("cannot be used: authorization violation");
    assert_eq!(logs.lines().iter().filter(said).count(), 1, "{:?}", logs.lines());
}
