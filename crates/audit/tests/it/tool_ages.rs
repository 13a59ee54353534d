//! Calls of some tools lose their content before the others, and the rest can still be checked.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Read,
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use proptest::prelude::*;
use serde_json::json;
use switchboard_audit::{
    Config, Filter, Reader, gc, generate::SegmentGenerator, retention::preview, verify,
};
use switchboard_runtime::{CallStart, RecordClose, Recorder};
use switchboard_toolcall::CallId;

use crate::support::{Folder, call, cancelled, executor, load, start};

const TOOLS: [&str; 3] = ["sensors__lux", "sensors__door", "bank__pay"];

/// Where a call ends.
#[derive(Clone, Copy, Debug)]
enum End {
    Here,
    NextSegment,
    Never,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Retention, by which calls of such tools go.
    Gc(Option<&'static str>, bool),
    ForgetIndex,
}

fn step() -> impl Strategy<Value = Step> {
    let tools = prop_oneof![
        Just(None),
        Just(Some("sensors__*")),
        Just(Some("*__door")),
        Just(Some("bank__pay")),
    ];
    prop_oneof![
        4 => (tools, any::<bool>()).prop_map(|(tools, compress)| Step::Gc(tools, compress)),
        1 => Just(Step::ForgetIndex),
    ]
}

fn segments() -> impl Strategy<Value = Vec<Vec<(usize, End)>>> {
    let end = prop_oneof![8 => Just(End::Here), 2 => Just(End::NextSegment), 1 => Just(End::Never)];
    prop::collection::vec(prop::collection::vec((0..TOOLS.len(), end), 1..12), 1..5)
}

/// Writes the segments. Returns the calls, and which have ended.
fn write(folder: &Folder, segments: &[Vec<(usize, End)>]) -> Vec<(Arc<CallStart>, bool)> {
    let mut generator = SegmentGenerator::new(folder.path()).unwrap();
    let (mut calls, mut later) = (Vec::new(), Vec::<Arc<CallStart>>::new());
    for segment in segments {
        let earlier = std::mem::take(&mut later);
        for (tool, end) in segment {
            let start =
                start(TOOLS[*tool], json!({"tell": format!("secret{}", calls.len())}).to_string());
            generator.open(&start).unwrap();
            match end {
                End::Here => generator.end(&cancelled(&start)).unwrap(),
                End::NextSegment => later.push(start.clone()),
                End::Never => {}
            }
            calls.push((start, !matches!(end, End::Never)));
        }
        earlier.iter().for_each(|start| generator.end(&cancelled(start)).unwrap());
        generator.seal().unwrap();
    }
    for start in &later {
        generator.end(&cancelled(start)).unwrap();
    }
    generator.seal().unwrap();
    calls
}

fn is_of(tool: &str, glob: &str) -> bool {
    match glob.split_once('*') {
        Some((begin, end)) => tool.starts_with(begin) && tool.ends_with(end),
        None => tool == glob,
    }
}

/// Returns the text of the whole journal.
fn journal(folder: &Folder) -> String {
    let mut text = String::new();
    for file in fs::read_dir(folder.path().join("journal")).unwrap() {
        let path = file.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        let bytes = match path.extension().is_some_and(|end| end == "zst") {
            true => zstd::stream::decode_all(&*bytes).unwrap(),
            false => bytes,
        };
        text += &String::from_utf8(bytes).unwrap();
    }
    text
}

fn config(glob: Option<&str>, compress: bool) -> Config {
    let ages: BTreeMap<_, _> = glob.into_iter().map(|glob| (glob, "0ms")).collect();
    serde_json::from_value(json!({"tool_max_age": ages, "compress": compress})).unwrap()
}

fn check(segments: &[Vec<(usize, End)>], steps: &[Step]) {
    let folder = Folder::new();
    let calls = write(&folder, segments);
    let lines = verify(folder.path()).unwrap().lines;
    let mut removed = BTreeSet::<CallId>::new();
    let mut forgotten = 0;
    for step in steps {
        match step {
            Step::ForgetIndex => {
                fs::remove_file(folder.path().join("index.db")).ok();
                forgotten = removed.len();
            }
            Step::Gc(glob, compress) => {
                let config = config(*glob, *compress);
                let planned = preview(&folder.path(), &config).unwrap();
                let before = removed.len();
                removed.extend(calls.iter().filter_map(|(start, has_ended)| {
                    let is_due = *has_ended && is_of(&start.tool, (*glob)?);
                    is_due.then_some(start.id)
                }));
                let gone = (removed.len() - before) as u64;
                let collected = gc(&folder.path(), &config).unwrap();
                assert_eq!((planned.calls, collected.calls), (gone, gone));
            }
        }
        let report = verify(folder.path()).unwrap();
        assert!(report.is_clean(), "{:?}", report.damage);
        assert_eq!((report.lines, report.removed), (lines, removed.len() as u64 * 2));
        let left: BTreeSet<_> = folder.records().iter().map(|record| record.id).collect();
        let expected = calls.iter().map(|(start, _)| start.id).filter(|id| !removed.contains(id));
        assert_eq!(left, expected.collect());
        // Figures count them as long as the index does not have to be made again.
        let mut reader = Reader::open(folder.path()).unwrap();
        let counted: u64 =
            reader.stats(&Filter::default()).unwrap().iter().map(|tool| tool.calls).sum();
        assert_eq!(counted, (calls.len() - forgotten) as u64);
        let text = journal(&folder);
        for (number, (start, _)) in calls.iter().enumerate() {
            let is_there = text.contains(&format!("\"secret{number}\""));
            assert_eq!(is_there, !removed.contains(&start.id));
            assert_eq!(reader.show(start.id).unwrap().is_some(), is_there);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    // RC-1, RC-3
    #[test]
    fn whatever_is_removed_the_rest_verifies(
        segments in segments(),
        steps in prop::collection::vec(step(), 1..5),
    ) {
        check(&segments, &steps);
    }
}

// RC-1, RS-5
#[tokio::test]
async fn artifacts_and_words_go_with_the_content() {
    let folder = Folder::new();
    let artifact = {
        let executor = executor(folder.store());
        let long = call(&executor, "answer", json!({"with": "peculiar ".repeat(20_000)})).await;
        call(&executor, "look", json!({})).await;
        long.artifacts[0].id.clone()
    };
    let path = folder.path().join("artifacts").join(&artifact[..2]).join(&artifact);
    fs::File::options()
        .append(true)
        .open(&path)
        .unwrap()
        .set_modified(std::time::SystemTime::now() - Duration::from_secs(7200))
        .unwrap();
    // The segment in use keeps what it has.
    let config = config(Some("answer"), true);
    assert_eq!(gc(&folder.path(), &config).unwrap().calls, 0);
    let sealed = SegmentGenerator::seal_all(folder.path()).unwrap();
    assert_eq!(sealed, 1);
    let found = || {
        let search = Some("peculiar".to_owned());
        let filter = Filter { search, ..Filter::default() };
        Reader::open(folder.path()).unwrap().list(&filter).unwrap().len()
    };
    assert_eq!(found(), 1);
    let planned = preview(&folder.path(), &config).unwrap();
    assert_eq!((planned.calls, planned.artifacts), (1, 1));
    assert!(path.exists());
    let collected = gc(&folder.path(), &config).unwrap();
    assert_eq!((collected.calls, collected.artifacts), (1, 1));
    assert!(!path.exists());
    assert_eq!((found(), folder.records().len()), (0, 1));
    assert_eq!(folder.damage(), []);
}

// RC-1
#[test]
fn two_processes_remove_and_compress_while_a_third_asks() {
    let folder = Folder::new();
    let calls =
        write(&folder, &vec![vec![(0, End::Here), (2, End::NextSegment), (1, End::Here)]; 12]);
    let banks = calls.iter().filter(|(start, _)| &*start.tool == TOOLS[2]).count();
    let collector = || {
        let mut collector = load();
        collector.arg(folder.path()).arg("gc").arg("sensors__*");
        collector.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
    };
    let mut collectors = [collector(), collector()];
    while folder.records().len() > banks {
        let report = verify(folder.path()).unwrap();
        assert!(report.is_clean(), "{:?}", report.damage);
    }
    for collector in &mut collectors {
        drop(collector.stdin.take());
        let mut printed = String::new();
        collector.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
        assert!(collector.wait().unwrap().success(), "{printed}");
    }
    assert_eq!(folder.records().len(), banks);
    assert_eq!(folder.damage(), []);
}

// RC-1: callers do not wait for retention.
#[tokio::test]
async fn calls_are_recorded_while_segments_are_written_again() {
    let folder = Folder::new();
    write(&folder, &vec![vec![(0, End::Here); 200]; 6][..]);
    let store = folder.store();
    let first = start("answer", "{}".to_owned());
    crate::support::open(&store, &first).await;
    let path = folder.path();
    let collecting = std::thread::spawn(move || gc(&path, &config(Some("sensors__*"), true)));
    let mut count = 0;
    while !collecting.is_finished() {
        // With another call open a line is only written by who awaits it.
        let start = start("answer", "{}".to_owned());
        crate::support::open(&store, &start).await;
        if let RecordClose::Batched(end) = store.close(cancelled(&start)) {
            end.await;
        }
        count += 1;
    }
    assert_eq!(collecting.join().unwrap().unwrap().calls, 1200);
    drop(store.close(cancelled(&first)));
    assert_eq!(folder.records().len(), count + 1);
    assert_eq!(folder.damage(), []);
}
