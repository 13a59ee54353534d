//! Files of runs, which the journal vouches for (SPEC RN-1, RC-3).

use std::{fs, sync::Arc};

use sha2::{Digest, Sha256};
use switchboard_runtime::{CallStart, EndedRun, RunJournal};
use switchboard_toolcall::{CallId, RunTurn};

use crate::support::{Folder, open, start};

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

/// What is wrong with the file of a run that goes on.
fn damage_of_live(folder: &Folder, id: CallId, text: &str) -> Vec<String> {
    write(folder, id, "live", text);
    let damage = folder.damage();
    assert!(damage.iter().all(|(file, ..)| *file == format!("{id}.live")), "{damage:?}");
    damage.into_iter().map(|(.., what)| what).collect()
}

// The calls of a turn vouch for all that the file holds up to it.
#[tokio::test]
async fn a_run_that_goes_on_is_as_it_was_up_to_its_turns() {
    let (folder, run) = (Folder::new(), CallId::generate());
    let turns =
        ["{\"start\":{}}\n{\"turn\":{\"n\":1}}\n", "{\"began\":{}}\n{\"turn\":{\"n\":2}}\n"];
    let (store, mut text) = (folder.store(), String::new());
    for (turn, lines) in (1..).zip(turns) {
        text.push_str(lines);
        let hash: String = Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
        let call = start("t", "{}".to_owned());
        let run = Some(RunTurn { run, turn });
        let call = CallStart { run, turn_sha256: Some(hash.into()), ..CallStart::clone(&call) };
        open(&store, &Arc::new(call)).await;
    }
    let none = [""; 0];
    assert_eq!(damage_of_live(&folder, run, &text), none);
    // After a kill the line of the last turn may be missing, or half of it.
    assert_eq!(damage_of_live(&folder, run, turns[0]), none);
    assert_eq!(damage_of_live(&folder, run, &text[..text.len() - 3]), none);
    // What follows a turn belongs to the next.
    assert_eq!(damage_of_live(&folder, run, &format!("{text}{{\"reply\":{{}}}}\n")), none);
    let altered = |from: &str, to: &str| damage_of_live(&folder, run, &text.replacen(from, to, 1));
    assert_eq!(altered("\"n\":1", "\"n\":9"), ["it was altered before turn 1 ended"]);
    assert_eq!(altered("\"n\":2", "\"n\":9"), ["it was altered before turn 2 ended"]);
    assert_eq!(altered("{\"began\":{}}\n", ""), ["it was altered before turn 2 ended"]);
    assert_eq!(
        damage_of_live(&folder, run, "{\"start\":{}}\n"),
        ["it was altered before turn 1 ended"]
    );
}
