//! What lies in the folder, and for whom.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    time::{Duration, SystemTime},
};

use serde_json::json;
use switchboard_approvals::RuleScope;
use switchboard_runtime::toolcall::ErrorKind;

use crate::{TestGateway, always, yes};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test(start_paused = true)]
async fn nobody_else_may_read_it() {
    let gateway = TestGateway::new();
    let args = json!({"password": "hush", "command": "rm -rf /"});
    let (pending, called) = gateway.hold("act", args).await;
    let folder = gateway.folder.path().join("approvals");
    let question = folder.join(format!("pending/{}.json", pending.id));
    assert_eq!(
        [mode(&folder), mode(&folder.join("pending")), mode(&question)],
        [0o700, 0o700, 0o600]
    );
    // Who decides needs all of it, for as long as the call waits.
    assert!(fs::read_to_string(&question).unwrap().contains("hush"));
    gateway.queue.decide(&pending.id, always(RuleScope::Arguments)).unwrap();
    called.await.unwrap();
    assert!(!question.exists());
    let rules = folder.join("rules.json");
    assert_eq!(mode(&rules), 0o600);
    let kept = fs::read_to_string(&rules).unwrap();
    assert!(!kept.contains("hush") && kept.contains("rm -rf /"), "{kept}");
    let decided = folder.join(format!("decided/{}.json", pending.id));
    assert!(!fs::read_to_string(decided).unwrap().contains("hush"));
}

// The process that waited has died, and its lock with it.
#[tokio::test(start_paused = true)]
async fn the_approval_of_a_dead_process_is_removed() {
    let gateway = TestGateway::new();
    let (pending, _called) = gateway.hold("act", json!({})).await;
    let folder = gateway.folder.path().join("approvals/pending");
    let dead = folder.join("deaddead.json");
    fs::copy(folder.join(format!("{}.json", pending.id)), &dead).unwrap();
    assert_eq!(gateway.queue.pending().unwrap().len(), 1);
    assert!(!dead.exists());
    fs::copy(folder.join(format!("{}.json", pending.id)), &dead).unwrap();
    let error = gateway.queue.decide("deaddead", yes()).unwrap_err().to_string();
    assert_eq!(error, "no call waits for approval 'deaddead'");
}

#[tokio::test(start_paused = true)]
async fn outcomes_are_removed_after_a_day() {
    let gateway = TestGateway::new();
    let (pending, called) = gateway.hold("act", json!({})).await;
    gateway.queue.decide(&pending.id, yes()).unwrap();
    called.await.unwrap();
    let file = gateway.folder.path().join(format!("approvals/decided/{}.json", pending.id));
    let old = SystemTime::now() - Duration::from_secs(25 * 60 * 60);
    fs::File::options().write(true).open(&file).unwrap().set_modified(old).unwrap();
    tokio::time::advance(Duration::from_secs(2 * 60 * 60)).await;
    let (_pending, _called) = gateway.hold("act", json!({})).await;
    assert!(!file.exists());
}

#[tokio::test(start_paused = true)]
async fn without_a_folder_for_the_approval_the_call_is_denied() {
    let gateway = TestGateway::new();
    fs::write(gateway.folder.path().join("approvals"), "a file in its way").unwrap();
    let result = gateway.call("act", json!({})).await.unwrap();
    assert_eq!(result.error_kind(), Some(ErrorKind::Denied));
    assert!(result.text().ends_with("could not be asked"), "{}", result.text());
}

#[tokio::test(start_paused = true)]
async fn a_rule_that_cannot_be_stored_allows_once_and_is_an_error() {
    let gateway = TestGateway::new();
    let (pending, called) = gateway.hold("act", json!({})).await;
    fs::create_dir(gateway.folder.path().join("approvals/rules.lock")).unwrap();
    let error = gateway.queue.decide(&pending.id, always(RuleScope::Tool)).unwrap_err().to_string();
    assert!(error.contains("could not be remembered"), "{error}");
    assert!(called.await.unwrap().is_success());
    assert!(!gateway.is_allowed("act", json!({})).await);
}

#[tokio::test(start_paused = true)]
async fn not_more_than_five_hundred_of_one_caller_wait() {
    let gateway = TestGateway::new();
    let waiting: Vec<_> =
        (0..500).map(|number| gateway.call("act", json!({"number": number}))).collect();
    while gateway.queue.pending().unwrap().len() < waiting.len() {
        tokio::task::yield_now().await;
    }
    let result = gateway.call("act", json!({})).await.unwrap();
    assert_eq!(result.error_kind(), Some(ErrorKind::Denied));
    waiting[0].abort();
    while !waiting[0].is_finished() {
        tokio::task::yield_now().await;
    }
    let (_pending, _called) = gateway.hold("other", json!({})).await;
}
