//! Files of runs, which the journal vouches for (SPEC RN-1, RC-3).

use std::fs;

use switchboard_runtime::{EndedRun, RunJournal};
use switchboard_toolcall::CallId;

use crate::support::Folder;

/// Ends a run as an agent does: the line first, then the file.
fn end(folder: &Folder, text: &str) -> CallId {
    let (id, store) = (CallId::generate(), folder.store());
    let run = EndedRun { id, state: "ended", turns: 2, file: text.as_bytes() };
    store.ended(&run).unwrap();
    write(folder, id, "json", text);
    id
}

fn write(folder: &Folder, id: CallId, kind: &str, text: &str) {
    let runs = folder.path().join("runs");
    fs::create_dir_all(&runs).unwrap();
    fs::write(runs.join(format!("{id}.{kind}")), text).unwrap();
}

fn remove(folder: &Folder, id: CallId) {
    fs::remove_file(folder.path().join(format!("runs/{id}.json"))).unwrap();
}

fn check(folder: &Folder, id: CallId, expected: &[&str]) {
    let damage = folder.damage();
    let found: Vec<_> = damage.iter().map(|(file, _, what)| (&**file, &**what)).collect();
    let file = format!("{id}.json");
    let expected: Vec<_> = expected.iter().map(|what| (&*file, *what)).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_file_of_a_run_is_as_it_was_written() {
    let folder = Folder::new();
    // Written before there were such lines.
    let old = CallId::generate();
    write(&folder, old, "json", "old");
    let run = end(&folder, "as it was");
    let report = switchboard_audit::verify(folder.path()).unwrap();
    assert_eq!((report.runs, report.calls), (2, 0));
    check(&folder, run, &[]);
    write(&folder, run, "json", "as it were");
    check(&folder, run, &["it was altered"]);
    remove(&folder, run);
    check(&folder, run, &["it is missing"]);
    write(&folder, run, "json", "as it was");
    check(&folder, run, &[]);
}

#[test]
fn a_file_that_nobody_wrote_down_is_found() {
    let folder = Folder::new();
    end(&folder, "first");
    // The line's time is in microseconds, that of an id in milliseconds.
    let after =
        CallId::generate_at(std::time::SystemTime::now() + std::time::Duration::from_secs(1));
    write(&folder, after, "json", "forged");
    check(&folder, after, &["no line of the journal speaks of it"]);
}

#[test]
fn what_retention_removes_is_not_missed() {
    let folder = Folder::new();
    let (stays, goes) = (end(&folder, "stays"), end(&folder, "goes"));
    folder.store().removed(&[goes]).unwrap();
    remove(&folder, goes);
    check(&folder, goes, &[]);
    remove(&folder, stays);
    check(&folder, stays, &["it is missing"]);
}

// RN-2: killed between the line and the file, or ended twice because of that.
#[test]
fn a_run_that_was_killed_at_its_end_goes_on() {
    let folder = Folder::new();
    let id = end(&folder, "first end");
    remove(&folder, id);
    write(&folder, id, "live", "{}");
    check(&folder, id, &[]);
    let store = folder.store();
    store.ended(&EndedRun { id, state: "ended", turns: 2, file: b"second end" }).unwrap();
    drop(store);
    write(&folder, id, "json", "second end");
    fs::remove_file(folder.path().join(format!("runs/{id}.live"))).unwrap();
    check(&folder, id, &[]);
}

// RC-3: the line itself is in the chain.
#[test]
fn the_line_about_a_run_cannot_be_altered() {
    let folder = Folder::new();
    end(&folder, "one");
    let text = fs::read_to_string(folder.segment(1)).unwrap();
    let line = text.lines().find(|line| line.starts_with("{\"run\":")).unwrap();
    assert!(line.contains("\"state\":\"ended\",\"turns\":2,\"bytes\":3,\"sha256\":\""), "{line}");
    fs::write(folder.segment(1), text.replacen("\"turns\":2", "\"turns\":3", 1)).unwrap();
    assert!(!folder.damage().is_empty());
}

// A process whose first line is about a run has no segment yet; calls that begin meanwhile get theirs.
#[tokio::test]
async fn runs_and_calls_share_a_segment() {
    let folder = Folder::new();
    let store = folder.store();
    assert!(!store.is_ready());
    store
        .ended(&EndedRun { id: CallId::generate(), state: "failed", turns: 1, file: b"x" })
        .unwrap();
    assert!(store.is_ready());
    let executor = crate::support::executor(store);
    crate::support::call(&executor, "answer", serde_json::json!({"with": 1})).await;
    drop(executor);
    let text = fs::read_to_string(folder.segment(1)).unwrap();
    let kinds: Vec<_> = text.lines().map(|line| line.split('"').nth(1).unwrap()).collect();
    assert_eq!(kinds, ["segment", "run", "open", "end", "rest"]);
    assert!(!folder.segment(2).exists());
}
