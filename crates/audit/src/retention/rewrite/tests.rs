use std::{
    collections::BTreeSet,
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use switchboard_runtime::{CallEnd, CallStart, record::Stages};
use switchboard_toolcall::{CallId, ErrorKind};

use super::*;
use crate::{
    Filter, Reader, config::Config, generate::SegmentGenerator, index::CallIndex, retention::gc,
    retention::tools::spans, verify,
};

const SECRET: &str = "the secret of a sensor";

/// Writes two segments of calls of two tools; one call of a sensor begins in the first and ends in the second.
fn fill(folder: &Path) {
    let mut segments = SegmentGenerator::new(folder).unwrap();
    let mut carried = None;
    for segment in 0..2 {
        for number in 0..20 {
            let start = start(if number % 2 == 0 { "sensor" } else { "lamp" });
            segments.open(&start).unwrap();
            match (segment, number) {
                (0, 10) => carried = Some(start),
                _ => segments.end(&end(&start)).unwrap(),
            }
        }
        if let Some(start) = carried.as_ref().filter(|_| segment == 1) {
            segments.end(&end(start)).unwrap();
        }
        segments.seal().unwrap();
    }
}

fn start(tool: &str) -> Arc<CallStart> {
    let now = SystemTime::now();
    let arguments = match tool {
        "sensor" => format!("{{\"say\":\"{SECRET}\"}}"),
        _ => "{\"say\":\"harmless\"}".to_owned(),
    };
    Arc::new(CallStart {
        id: CallId::generate_at(now),
        tool: tool.into(),
        shown_as: None,
        profile: None,
        arguments,
        caller: None,
        client: None,
        conversation: None,
        run: None,
        turn_sha256: None,
        started: now,
    })
}

fn end(start: &Arc<CallStart>) -> CallEnd<'_> {
    CallEnd {
        start,
        tool: None,
        server: None,
        spec: None,
        trace: None,
        error_kind: Some(ErrorKind::Cancelled),
        duration: Duration::from_millis(1),
        stages: Stages::default(),
        approval: None,
        result: None,
        redacted: Box::leak(Box::default()),
    }
}

/// Where a process dies that removes the content of a segment's calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cut {
    Prepared,
    Vouched,
    Renamed,
    /// Both segments are written again, and the index still has the calls.
    Rewritten,
}

/// Removes what sensors said up to there.
fn remove_until(layout: &Layout, cut: Cut) {
    let mut index = CallIndex::open(layout).unwrap();
    index.feed().unwrap();
    let manifest = Manifest::read(layout).unwrap();
    let first = manifest.kept().next().unwrap();
    let ticks = (first.began, first.end.as_ref().unwrap().until);
    let calls = index.ended_calls("sensor", first.number, ticks).unwrap();
    let lock = RewriteLock::take(layout).unwrap().unwrap();
    for (segment, spans) in spans(&calls) {
        let entry = manifest.kept().find(|entry| entry.number == segment).unwrap();
        let prepared = SegmentRewrite::prepare(layout, entry, &spans, true, &lock).unwrap();
        let Prepared::Ready(rewrite) = prepared else { panic!("there is nothing to do") };
        if cut == Cut::Rewritten {
            rewrite.finish().unwrap();
            continue;
        }
        let guard = layout.lock().unwrap();
        if cut >= Cut::Vouched {
            rewrite.vouch(&mut Manifest::read(layout).unwrap(), &guard).unwrap();
        }
        if cut >= Cut::Renamed {
            rewrite.rename().unwrap();
        }
        return;
    }
}

/// Returns how many calls of each tool the store has whose records can be shown.
fn shown(folder: &Path) -> (usize, usize) {
    let mut reader = Reader::open(folder).unwrap();
    let records = reader.list(&Filter::default()).unwrap();
    let shown: Vec<_> =
        records.iter().filter(|record| reader.show(record.id).unwrap().is_some()).collect();
    let lamps = shown.iter().filter(|record| record.tool == "lamp").count();
    (lamps, shown.len() - lamps)
}

fn journal(layout: &Layout) -> String {
    let text = |number| SegmentFile::open(layout, number).unwrap().read_all().unwrap();
    [1, 2].map(|number| String::from_utf8(text(number)).unwrap()).concat()
}

fn names(layout: &Layout) -> BTreeSet<String> {
    let files = fs::read_dir(layout.journal()).unwrap();
    files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
}

/// Kills a process there, looks at the store as others do, and lets the next process go on.
fn check(cut: Cut, is_compressed: bool) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fill(folder);
    let layout = Layout::new(folder);
    if is_compressed {
        gc(folder, &Config::default()).unwrap();
    }
    let before = verify(folder).unwrap();
    assert_eq!((before.calls, before.is_clean()), (40, true), "{cut:?}");
    assert_eq!(shown(folder), (20, 20), "{cut:?}");
    remove_until(&layout, cut);
    let report = verify(folder).unwrap();
    assert!(report.is_clean(), "{cut:?}: {:?}", report.damage);
    assert_eq!(report.lines, before.lines);
    let is_gone = cut == Cut::Rewritten || cut == Cut::Renamed && is_compressed;
    assert_eq!(shown(folder).0, 20, "{cut:?}");
    // The carried call may have lost one of its lines.
    assert!(if is_gone { shown(folder).1 <= 10 } else { shown(folder).1 == 20 }, "{cut:?}");
    let config: Config =
        serde_json::from_value(serde_json::json!({"tool_max_age": {"sensor": "0ms"}})).unwrap();
    let collected = gc(folder, &config).unwrap();
    assert_eq!(collected.calls, 20, "{cut:?}");
    assert_eq!(shown(folder), (20, 0), "{cut:?}");
    let report = verify(folder).unwrap();
    assert!(report.is_clean(), "{cut:?}: {:?}", report.damage);
    assert_eq!((report.lines, report.removed, report.calls), (before.lines, 40, 20), "{cut:?}");
    assert!(!journal(&layout).contains(SECRET), "{cut:?}");
    let files = ["00000001.log.zst", "00000002.log.zst"].map(str::to_owned);
    assert_eq!(names(&layout), files.into(), "{cut:?}");
    // An index that is made again agrees.
    fs::remove_file(layout.index()).unwrap();
    assert_eq!(shown(folder), (20, 0), "{cut:?}");
}

// RC-1, RC-3
#[test]
fn a_process_may_die_between_any_two_steps() {
    for cut in [Cut::Prepared, Cut::Vouched, Cut::Renamed, Cut::Rewritten] {
        check(cut, false);
        check(cut, true);
    }
}

// RC-3
#[test]
fn removed_lines_that_the_manifest_does_not_vouch_for_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let path = Layout::new(folder.path()).segment(1);
    let mut text = fs::read(&path).unwrap();
    let (offset, line) = crate::segment::lines(&text).nth(3).unwrap();
    let span = (offset, line.len() as u64);
    assert_eq!(remove_content(&mut text, &[span]), 1);
    fs::write(&path, &text).unwrap();
    let report = verify(folder.path()).unwrap();
    let what = "the content of 1 lines was removed, and the manifest does not vouch for that";
    let damage = &report.damage[0];
    assert_eq!((damage.line, &*damage.what, report.damage.len()), (Some(4), what, 1));
    assert_eq!(report.removed, 0);
    // Lawful removal does not make it lawful. What is not of this segment goes.
    let config: Config =
        serde_json::from_value(serde_json::json!({"tool_max_age": {"sensor": "0ms"}})).unwrap();
    assert_eq!(gc(folder.path(), &config).unwrap().calls, 10);
    let report = verify(folder.path()).unwrap();
    assert_eq!((&*report.damage[0].what, report.damage.len()), (what, 1));
    assert_eq!(gc(folder.path(), &config).unwrap().calls, 0);
}

#[test]
fn one_process_at_a_time_writes_segments_again() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let layout = Layout::new(folder.path());
    let lock = RewriteLock::take(&layout).unwrap().unwrap();
    assert!(RewriteLock::take(&layout).unwrap().is_none());
    let mut compression = super::super::Compression::new(layout.clone());
    assert!(!compression.next().unwrap());
    drop(lock);
    // What a process left that died is removed.
    let left = layout.journal().join("00000009.new");
    fs::write(&left, "half of a segment").unwrap();
    assert!(compression.next().unwrap() && compression.next().unwrap());
    assert!(!compression.next().unwrap() && !left.exists());
}

#[test]
fn a_segment_that_is_dropped_meanwhile_does_not_come_back() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let layout = Layout::new(folder.path());
    let manifest = Manifest::read(&layout).unwrap();
    let lock = RewriteLock::take(&layout).unwrap().unwrap();
    let entry = manifest.kept().next().unwrap();
    let prepared = SegmentRewrite::prepare(&layout, entry, &[], true, &lock).unwrap();
    let Prepared::Ready(rewrite) = prepared else { panic!("there is nothing to do") };
    let all: Config =
        serde_json::from_value(serde_json::json!({"max_age": "0ms", "compress": false})).unwrap();
    assert_eq!(gc(folder.path(), &all).unwrap().segments, 2);
    rewrite.finish().unwrap();
    assert_eq!(names(&layout), BTreeSet::new());
}

// RC-3
#[test]
fn a_damaged_segment_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path());
    let layout = Layout::new(folder.path());
    let text = fs::read_to_string(layout.segment(1)).unwrap();
    fs::write(layout.segment(1), text.replacen("harmless", "harmful!", 1)).unwrap();
    fs::write(layout.segment(2), &text[..100]).unwrap();
    let before = verify(folder.path()).unwrap().damage;
    let config: Config =
        serde_json::from_value(serde_json::json!({"tool_max_age": {"sensor": "0ms"}})).unwrap();
    // The second is not compressed; the first, whose lines are all there, is, and loses nothing.
    assert_eq!(gc(folder.path(), &config).unwrap().calls, 0);
    assert_eq!(names(&layout), ["00000001.log.zst", "00000002.log"].map(str::to_owned).into());
    let found = |damage: &[crate::DamagedLine]| -> Vec<_> {
        damage.iter().map(|found| (found.line, found.what.clone())).collect()
    };
    assert_eq!(found(&verify(folder.path()).unwrap().damage), found(&before));
}
