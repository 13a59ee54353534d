//! History that somebody rewrites, chain and all: what shows it, with a key and without.

use std::fs;

use serde_json::json;
use sha2::{Digest, Sha256};
use switchboard_audit::{
    Config, Error, Filter, Reader, SignatureStatus, SigningKey, Store, StoreFolder, VerifyReport,
    verify,
};

use crate::support::{Folder, call, executor};

fn key(text: &str) -> Option<SigningKey> {
    Some(SigningKey::new(text).unwrap())
}

fn own() -> Option<SigningKey> {
    key("the key of these records")
}

fn store(folder: &Folder, key: Option<SigningKey>) -> Store {
    Store::open(Config { key, ..Config::default() }, folder.path())
}

fn checked(folder: &Folder, key: Option<SigningKey>) -> VerifyReport {
    verify(StoreFolder::with_key(&folder.path(), key)).unwrap()
}

async fn write(folder: &Folder, key: Option<SigningKey>, calls: usize) {
    let executor = executor(store(folder, key));
    for number in 0..calls {
        assert!(call(&executor, "answer", json!({"with": number})).await.is_success());
    }
}

/// What is wrong, without the files.
fn damage(report: &VerifyReport) -> Vec<(Option<u64>, &str)> {
    report.damage.iter().map(|damage| (damage.line, &*damage.what)).collect()
}

/// Changes every line of segment 1 and computes its chain again, from the manifest's line on; deletes the index.
fn rewrite(folder: &Folder, change: impl Fn(&str) -> String) {
    let manifest = fs::read_to_string(folder.path().join("manifest.log")).unwrap();
    let opened = manifest.lines().find(|line| line.starts_with("{\"opened\":1,")).unwrap();
    let hash_of = |line: &str| line.rsplit_once("\"hash\":\"").unwrap().1[..64].to_owned();
    let (mut previous, mut text) = (hash_of(opened), String::new());
    for line in fs::read_to_string(folder.segment(1)).unwrap().lines() {
        let content = change(line.rsplit_once(",\"hash\":").unwrap().0);
        let digest = Sha256::digest(format!("{previous}{content}"));
        previous = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        text += &format!("{content},\"hash\":\"{previous}\"}}\n");
    }
    fs::write(folder.segment(1), text).unwrap();
    for end in ["", "-wal", "-shm"] {
        _ = fs::remove_file(folder.path().join(format!("index.db{end}")));
    }
}

fn renamed(content: &str) -> String {
    content.replace("\"tool\":\"answer\"", "\"tool\":\"unseen\"")
}

/// Takes the signature out, as who has no key would.
fn unsigned(content: &str) -> String {
    match content.split_once(",\"mac\":\"") {
        Some((before, after)) => [before, &after[65..]].concat(),
        None => content.to_owned(),
    }
}

// RC-3: the attack of the review. The chain holds, and the head is another one.
#[tokio::test]
async fn the_head_changes_when_the_segment_in_use_is_rewritten() {
    let folder = Folder::new();
    write(&folder, None, 3).await;
    let before = checked(&folder, None);
    assert_eq!(damage(&before), []);
    assert_eq!(checked(&folder, None).head, before.head);
    rewrite(&folder, str::to_owned);
    assert_eq!(checked(&folder, None).head, before.head, "nothing was changed");
    rewrite(&folder, renamed);
    let after = checked(&folder, None);
    assert_eq!(damage(&after), []);
    assert_ne!(after.head, before.head);
    assert_ne!(after.in_use, before.in_use);
    // So does one that only lost its last line.
    let text = fs::read_to_string(folder.segment(1)).unwrap();
    let cut = text.trim_end().rfind('\n').unwrap() + 1;
    fs::write(folder.segment(1), &text[..cut]).unwrap();
    assert_ne!(checked(&folder, None).head, after.head);
}

// RC-3
#[tokio::test]
async fn without_the_key_nobody_writes_history_that_verifies() {
    let folder = Folder::new();
    write(&folder, own(), 3).await;
    let clean = checked(&folder, own());
    assert_eq!((damage(&clean), clean.signatures), (vec![], SignatureStatus::Checked));
    assert_eq!(Reader::open(folder.path()).unwrap().list(&Filter::default()).unwrap().len(), 3);

    rewrite(&folder, renamed);
    assert_eq!(damage(&checked(&folder, own())), [(Some(2), "it was not signed with the key")]);
    // Who has no key sees a chain that holds, and is told that this is all.
    let blind = checked(&folder, None);
    assert_eq!((damage(&blind), blind.signatures), (vec![], SignatureStatus::Unchecked));

    rewrite(&folder, unsigned);
    let expected = [(Some(1), "it was written without the key")];
    assert_eq!(damage(&checked(&folder, own())), expected);
    assert_eq!(damage(&checked(&folder, None)), expected);
}

// RC-3: nor does it help to take all signatures out, of the manifest too.
#[tokio::test]
async fn a_store_without_signatures_is_not_what_the_key_wrote() {
    let folder = Folder::new();
    write(&folder, None, 2).await;
    let report = checked(&folder, own());
    assert_eq!(damage(&report), [(None, "none of its lines is signed, although there is a key")]);
    let nothing = Folder::new();
    assert_eq!(damage(&checked(&nothing, own())), []);
}

// RC-3
#[tokio::test]
async fn a_wrong_key_is_said_once_and_writes_nothing() {
    let folder = Folder::new();
    write(&folder, own(), 2).await;
    let other = key("the key of other records");
    let report = checked(&folder, other.clone());
    assert_eq!(report.damage.len(), 1, "{report:?}");
    assert!(report.damage[0].what.contains("it is another key"), "{report:?}");
    for (wrong, expected) in
        [(other, "signed with another key"), (None, "`[audit] key` is missing")]
    {
        let result = call(&executor(store(&folder, wrong.clone())), "answer", json!({})).await;
        assert!(!result.is_success(), "{result:?}");
        let config = Config { key: wrong, ..Config::default() };
        let error: Error = switchboard_audit::gc(&folder.path(), &config).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
    assert_eq!(damage(&checked(&folder, own())), []);
}

// RC-3: a store that was begun without a key goes on with one. What was there is sealed, and vouched for.
#[tokio::test]
async fn a_store_goes_on_with_a_key() {
    let folder = Folder::new();
    write(&folder, None, 2).await;
    write(&folder, own(), 2).await;
    let report = checked(&folder, own());
    assert_eq!((damage(&report), report.segments, report.calls), (vec![], 2, 4));
    write(&folder, own(), 1).await;
    assert_eq!(checked(&folder, own()).segments, 2);
    rewrite(&folder, renamed);
    let report = checked(&folder, own());
    assert!(!report.is_clean(), "{report:?}");
}
