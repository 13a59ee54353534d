//! What was altered, dropped, swapped or torn is found.

use std::fs;

use serde_json::json;
use switchboard_audit::Reader;
use switchboard_toolcall::CallId;

use crate::support::{Folder, call, executor};

const ALTERED: &str = "it was altered, or does not follow the line before it";

/// Changes the lines of the first segment, and returns what `verify` then says.
async fn check(change: impl FnOnce(&mut Vec<String>)) -> Vec<(String, Option<u64>, String)> {
    let folder = Folder::new();
    folder.write(5).await;
    assert_eq!(folder.damage(), []);
    let segment = folder.segment(1);
    let text = fs::read_to_string(&segment).unwrap();
    let mut lines: Vec<_> = text.split_inclusive('\n').map(str::to_owned).collect();
    change(&mut lines);
    fs::write(&segment, lines.concat()).unwrap();
    folder.damage()
}

fn found(line: u64, what: &str) -> Vec<(String, Option<u64>, String)> {
    vec![("00000001.log".to_owned(), Some(line), what.to_owned())]
}

// RC-1: a header, five calls of two lines each, and a rest.
#[tokio::test]
async fn altered_dropped_and_swapped_lines_are_found() {
    let altered = check(|lines| lines[3] = lines[3].replace("\"with\":1", "\"with\":2")).await;
    assert_eq!(altered, found(4, ALTERED));
    assert_eq!(check(|lines| drop(lines.remove(4))).await, found(5, ALTERED));
    let swapped = check(|lines| lines.swap(3, 4)).await;
    assert_eq!(swapped.len(), 3, "{swapped:?}");
    let doubled = check(|lines| lines.insert(5, lines[5].clone())).await;
    assert_eq!(doubled, found(7, ALTERED));
    let last = check(|lines| lines[11] = lines[11].replace("\"rest\"", "\"test\"")).await;
    assert_eq!(last, found(12, ALTERED));
    let unreadable = check(|lines| "nonsense\n".clone_into(&mut lines[6])).await;
    assert_eq!(unreadable, found(7, "it cannot be read"));
}

#[tokio::test]
async fn one_flipped_bit_anywhere_is_found() {
    let folder = Folder::new();
    folder.write(2).await;
    let segment = folder.segment(1);
    let whole = fs::read(&segment).unwrap();
    for at in (0..whole.len()).step_by(7) {
        folder.rewrite(&segment, |_| {
            let mut text = whole.clone();
            text[at] ^= 1 << (at % 7);
            text
        });
        let report = switchboard_audit::verify(folder.path()).unwrap();
        // In the last line's newline a flipped bit looks like a death while writing.
        assert!(!report.is_clean() || !report.torn.is_empty(), "byte {at}");
    }
}

#[tokio::test]
async fn a_dropped_tail_is_found_where_the_index_has_seen_it() {
    let folder = Folder::new();
    folder.write(3).await;
    assert_eq!(folder.records().len(), 3);
    // Cut after the first call: what is left is a chain without a fault.
    folder.rewrite(&folder.segment(1), |text| {
        text.split_inclusive(|byte| *byte == b'\n').take(3).flatten().copied().collect()
    });
    let damage = folder.damage();
    assert!(damage[0].2.contains("lines that the index has read are gone"), "{damage:?}");
}

#[tokio::test]
async fn dropped_and_foreign_segments_are_found() {
    let folder = Folder::new();
    // Two stores at once write two segments.
    let (first, second) = (executor(folder.store()), executor(folder.store()));
    call(&first, "look", json!({})).await;
    call(&second, "look", json!({})).await;
    drop((first, second));
    assert_eq!(folder.damage(), []);
    fs::rename(folder.segment(1), folder.segment(7)).unwrap();
    let what = |file: &str, what: &str| (file.to_owned(), None, what.to_owned());
    let expected = [
        what("00000001.log", "it is missing"),
        what("00000007.log", "the manifest does not know it"),
    ];
    assert_eq!(folder.damage(), expected);
    fs::rename(folder.segment(7), folder.segment(1)).unwrap();
    // One cannot stand in for the other either.
    fs::copy(folder.segment(1), folder.segment(2)).unwrap();
    assert_eq!(folder.damage()[0].0, "00000002.log");
}

#[tokio::test]
async fn a_manifest_that_was_changed_is_found() {
    let folder = Folder::new();
    folder.write(1).await;
    let manifest = folder.path().join("manifest.log");
    folder.rewrite(&manifest, |text| {
        String::from_utf8(text).unwrap().replace("\"opened\":1", "\"opened\":2").into_bytes()
    });
    assert_eq!(folder.damage()[0].0, "manifest.log");
    fs::remove_file(&manifest).unwrap();
    let expected = "it is missing, although there are records";
    assert_eq!(folder.damage(), [("manifest.log".to_owned(), None, expected.to_owned())]);
}

// RC-1: a tail that a dying process left is cut off, kept aside and reported.
#[tokio::test]
async fn a_torn_tail_is_repaired_by_who_opens_next() {
    for torn in [&b"{\"open\":\"01"[..], b"\0\0\0\0\0", b"{\"open\":1}\n{\"end\"", b"\xff\xfe"] {
        let folder = Folder::new();
        let ids = folder.write(2).await;
        let segment = folder.segment(1);
        folder.rewrite(&segment, |mut text| {
            text.extend_from_slice(torn);
            text
        });
        let later = folder.write(1).await;
        let outcomes: Vec<_> = folder.outcomes().into_iter().map(|(id, _)| id).collect();
        assert_eq!(outcomes, [later[0], ids[1], ids[0]]);
        assert_eq!(folder.damage(), []);
        let text = fs::read_to_string(&segment).unwrap();
        let line = text.lines().find(|line| line.starts_with("{\"torn\"")).unwrap();
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let kept = folder.path().join("journal").join(line["kept"].as_str().unwrap());
        assert_eq!(fs::read(kept).unwrap(), torn);
    }
}

#[tokio::test]
async fn a_segment_without_its_header_is_begun_again() {
    let folder = Folder::new();
    folder.write(1).await;
    // As if the process had died between the manifest's line and the header.
    fs::remove_file(folder.path().join("index.db")).ok();
    folder.rewrite(&folder.segment(1), |_| Vec::new());
    let ids = folder.write(1).await;
    assert_eq!(folder.outcomes(), [(ids[0], "ok")]);
    assert_eq!(folder.damage(), []);
}

// RS-5
#[tokio::test]
async fn an_artifact_that_was_changed_is_found() {
    let folder = Folder::new();
    let executor = executor(folder.store());
    let result = call(&executor, "answer", json!({"with": "long ".repeat(20_000)})).await;
    let id = &result.artifacts[0].id;
    assert_eq!(switchboard_audit::verify(folder.path()).unwrap().artifacts, 1);
    let path = folder.path().join("artifacts").join(&id[..2]).join(id);
    folder.rewrite(&path, |text| text.to_ascii_uppercase());
    let what = "its content is not what was kept".to_owned();
    assert_eq!(folder.damage(), [(id.clone(), None, what)]);
}

#[tokio::test]
async fn a_record_whose_line_is_damaged_says_so() {
    let folder = Folder::new();
    let ids = folder.write(1).await;
    let mut reader = Reader::open(folder.path()).unwrap();
    assert!(reader.show(ids[0]).unwrap().is_some());
    folder.rewrite(&folder.segment(1), |text| vec![b'x'; text.len()]);
    let error = reader.show(ids[0]).unwrap_err().to_string();
    assert!(error.contains("is damaged") && error.contains("calls verify"), "{error}");
}

#[tokio::test]
async fn a_file_in_the_way_of_the_next_segment_is_left_alone() {
    let folder = Folder::new();
    let holder = executor(folder.store());
    call(&holder, "look", json!({})).await;
    // An empty one is what a process leaves that dies while it begins a segment; the other one is foreign.
    fs::write(folder.segment(2), "foreign\n").unwrap();
    fs::write(folder.segment(3), "").unwrap();
    folder.write(1).await;
    assert_eq!(folder.records().len(), 2);
    let expected = ("00000002.log".to_owned(), None, "the manifest does not know it".to_owned());
    assert_eq!(folder.damage(), [expected]);
    assert_eq!(fs::read_to_string(folder.segment(2)).unwrap(), "foreign\n");
}

#[tokio::test]
async fn a_tail_that_was_replaced_is_found_where_the_index_has_seen_it() {
    let folder = Folder::new();
    folder.write(2).await;
    folder.records();
    folder.rewrite(&folder.segment(1), |text| {
        text.split_inclusive(|byte| *byte == b'\n').take(3).flatten().copied().collect()
    });
    // The chain goes on from there, without a fault and longer than before.
    folder.write(4).await;
    let damage = folder.damage();
    assert_eq!(damage.len(), 1, "{damage:?}");
    assert!(damage[0].2.contains("lines that the index has read are gone"), "{damage:?}");
}

#[tokio::test]
async fn a_torn_tail_that_a_reader_met_does_not_hide_what_follows() {
    let folder = Folder::new();
    let holder = executor(folder.store());
    call(&holder, "look", json!({})).await;
    // The holder is alive, so a reader repairs nothing and meets garbage that looks like a line, or even like one of ours.
    let segment = folder.segment(1);
    let whole = fs::read(&segment).unwrap();
    let open = String::from_utf8(whole.clone()).unwrap().lines().nth(1).unwrap().to_owned();
    let id = open[9..35].to_owned();
    let forged = open.replace(&id, &CallId::generate().to_string());
    for garbage in ["{\"open\":\"nonsense\"}", &forged, &format!("{forged}\n{forged}")] {
        folder.rewrite(&segment, |mut text| {
            text.extend_from_slice(garbage.as_bytes());
            text.push(b'\n');
            text
        });
        assert_eq!(folder.records().len(), 1, "{garbage}");
        folder.rewrite(&segment, |_| whole.clone());
    }
    call(&holder, "look", json!({})).await;
    assert_eq!(folder.records().len(), 2);
    assert_eq!(folder.damage(), []);
}

#[tokio::test]
async fn what_cannot_be_read_does_not_hide_what_follows() {
    let folder = Folder::new();
    folder.write(5).await;
    // More than is read at once.
    let garbage = "nonsense\n".repeat(100_000);
    folder.rewrite(&folder.segment(1), |text| {
        let mut lines: Vec<_> = text.split_inclusive(|byte| *byte == b'\n').collect();
        lines.insert(5, garbage.as_bytes());
        lines.concat()
    });
    assert_eq!(folder.outcomes().iter().filter(|(_, outcome)| *outcome == "ok").count(), 5);
    assert_eq!(folder.damage().len(), 100_000);
}

// The index says what the journal says; whether that is what was written, `verify` knows.
#[tokio::test]
async fn what_was_altered_is_listed_as_it_stands_there() {
    let folder = Folder::new();
    folder.write(5).await;
    folder.rewrite(&folder.segment(1), |text| {
        String::from_utf8(text).unwrap().replace("{\"with\":1}", "{\"with\":9}").into_bytes()
    });
    let records = folder.records();
    assert_eq!((records.len(), &*records[3].arguments), (5, "{\"with\":9}"));
    assert_eq!(folder.damage(), found(4, ALTERED));
}

// RC-1: wherever the journal ends, what is whole stays, and the next process goes on.
#[tokio::test]
async fn a_journal_may_end_anywhere() {
    let original = Folder::new();
    let ids = original.write(2).await;
    let (manifest, whole) =
        (original.path().join("manifest.log"), fs::read(original.segment(1)).unwrap());
    let has = |text: &[u8], line: &str| String::from_utf8_lossy(text).contains(line);
    for length in (0..whole.len()).step_by(9) {
        let folder = Folder::new();
        fs::create_dir_all(folder.path().join("journal")).unwrap();
        fs::copy(&manifest, folder.path().join("manifest.log")).unwrap();
        let end = whole[..length].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        fs::write(folder.segment(1), &whole[..length]).unwrap();
        let later = folder.write(1).await[0];
        let mut expected = vec![(later, "ok")];
        for id in ids.iter().rev() {
            let (open, ended) = (format!("{{\"open\":\"{id}"), format!("{{\"end\":\"{id}"));
            match (has(&whole[..end], &open), has(&whole[..end], &ended)) {
                (_, true) => expected.push((*id, "ok")),
                (true, false) => expected.push((*id, "outcome_unknown")),
                (false, false) => {}
            }
        }
        assert_eq!(folder.outcomes(), expected, "cut at {length}");
        assert_eq!(folder.damage(), [], "cut at {length}");
    }
}
