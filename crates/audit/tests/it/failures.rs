//! A store that takes no records.

use std::{fs, process::Command, process::Stdio};

use serde_json::json;
use switchboard_audit::{Config, OnFailure, Store};

use crate::support::{Folder, call, executor, load, until};

/// A store where a file stands in the place of its folder: that stops even the superuser.
fn blocked(folder: &Folder, on_failure: OnFailure) -> Store {
    fs::write(folder.path(), "in the way").unwrap();
    Store::open(Config { on_failure, ..Config::default() }, folder.path())
}

// RC-1
#[tokio::test]
async fn what_may_change_the_world_is_refused_while_it_cannot_be_recorded() {
    let folder = Folder::new();
    let executor = executor(blocked(&folder, OnFailure::Refuse));
    let refused = call(&executor, "answer", json!({"with": 1})).await;
    assert_eq!(refused.outcome_code(), "unavailable");
    let text = format!(
        "Tool 'answer' is unavailable: the record store could not be reached: failed to create the folder `{}`: ",
        folder.path().display()
    );
    assert!(refused.text().starts_with(&text), "{}", refused.text());
    let error = refused.outcome.as_ref().unwrap_err();
    let hint = error.hint.as_deref().unwrap_or_default();
    assert!(hint.contains("`[audit] path` names another folder"), "{hint}");
    let cause = std::error::Error::source(error).unwrap().to_string();
    assert!(cause.contains(&folder.path().display().to_string()), "{cause}");
    assert_eq!(call(&executor, "look", json!({})).await.outcome_code(), "ok");
}

#[tokio::test]
async fn or_it_runs_with_a_warning_where_that_is_wanted() {
    let folder = Folder::new();
    let executor = executor(blocked(&folder, OnFailure::Warn));
    assert_eq!(call(&executor, "answer", json!({"with": 1})).await.outcome_code(), "ok");
}

#[tokio::test]
async fn the_store_is_used_as_soon_as_it_can_be() {
    let folder = Folder::new();
    let executor = executor(blocked(&folder, OnFailure::Refuse));
    assert_eq!(call(&executor, "answer", json!({"with": 1})).await.outcome_code(), "unavailable");
    fs::remove_file(folder.path()).unwrap();
    // A failure stands for a moment, so that calls do not try again and again.
    until(async || call(&executor, "answer", json!({"with": 2})).await.outcome_code() == "ok")
        .await;
    assert_eq!(folder.outcomes().len(), 1);
}

#[tokio::test]
async fn a_journal_that_is_deleted_is_begun_again() {
    let folder = Folder::new();
    let executor = executor(folder.store());
    call(&executor, "answer", json!({"with": 1})).await;
    fs::remove_dir_all(folder.path()).unwrap();
    until(async || {
        call(&executor, "answer", json!({"with": 2})).await;
        folder.path().exists()
    })
    .await;
    let last = call(&executor, "answer", json!({"with": 3})).await.call_id;
    assert_eq!(folder.outcomes()[0], (last, "ok"));
    assert_eq!(folder.damage(), []);
}

/// Runs the child with files that cannot grow beyond so many KiB; a write beyond that is an error, as on a full disk.
fn limited(folder: &Folder, kib: u64) -> Vec<(String, String)> {
    let witness = folder.0.path().join("witness");
    let script = format!("trap '' XFSZ; ulimit -f {kib}; exec \"$0\" \"$@\"");
    let output = Command::new("bash")
        .args(["-c", &script])
        .arg(load().get_program())
        .args([folder.path().as_os_str(), witness.as_os_str()])
        .args(["4", "20"])
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success());
    let printed = String::from_utf8(output.stdout).unwrap();
    let pair = |line: &str| line.split_once(' ').map(|(id, code)| (id.to_owned(), code.to_owned()));
    printed.lines().filter_map(pair).collect()
}

// RC-1: the disk is full, calls are refused, nothing is torn; then there is room again.
#[test]
fn a_full_disk_is_survived() {
    let folder = Folder::new();
    let results = limited(&folder, 100);
    let (good, refused): (Vec<_>, Vec<_>) = results.iter().partition(|(_, code)| code == "ok");
    assert!(!good.is_empty() && !refused.is_empty(), "{} and {}", good.len(), refused.len());
    assert!(refused.iter().all(|(_, code)| code == "unavailable"), "{refused:?}");
    assert_eq!(folder.damage(), []);

    let again = limited(&folder, 100_000);
    assert!(again.iter().all(|(_, code)| code == "ok"));
    assert_eq!(folder.damage(), []);
    let seen = fs::read_to_string(folder.0.path().join("witness")).unwrap();
    let records: Vec<_> = folder.outcomes();
    for id in seen.lines() {
        assert!(records.iter().any(|(record, _)| record.to_string() == id), "{id}");
    }
    for (id, _) in again {
        assert!(records.iter().any(|(record, code)| record.to_string() == id && *code == "ok"));
    }
    // Ends that found no room were `outcome_unknown`, never lost.
    for (id, _) in good {
        let (_, code) = records.iter().find(|(record, _)| record.to_string() == *id).unwrap();
        assert!(["ok", "outcome_unknown"].contains(code), "{id} {code}");
    }
}
