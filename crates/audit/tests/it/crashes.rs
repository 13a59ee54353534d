//! Killed with -9 at any moment, the store knows everything that tools and callers saw.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{BufRead, BufReader, Read},
    process::Stdio,
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use switchboard_audit::{Filter, Reader};

use crate::support::{Folder, load};

const KILLS: u32 = 200;

// RC-1
#[test]
fn nothing_seen_is_lost_when_the_process_is_killed() {
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().subsec_nanos();
    println!("seed {seed}");
    let mut random = u64::from(seed) | 1;
    let folder = Folder::new();
    let witness = folder.0.path().join("witness");
    let mut acknowledged = BTreeMap::new();
    for kill in 0..KILLS {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Mostly once it is at work, and sometimes while it starts.
        let (at_work, delay) = (kill % 4 != 0, Duration::from_micros((random >> 33) % 30_000));
        let mut child = load()
            .args([folder.path().as_os_str(), witness.as_os_str()])
            .args(["8", "0"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut printed = String::new();
        if at_work {
            stdout.read_line(&mut printed).unwrap();
        }
        let printed = thread::spawn(move || stdout.read_to_string(&mut printed).map(|_| printed));
        thread::sleep(delay);
        child.kill().unwrap();
        child.wait().unwrap();
        for line in printed.join().unwrap().unwrap().lines() {
            let (id, outcome) = line.split_once(' ').unwrap();
            acknowledged.insert(id.to_owned(), outcome.to_owned());
        }
        if kill % 20 == 0 {
            check(&folder, &acknowledged);
        }
    }
    let unknown = check(&folder, &acknowledged);
    println!("{KILLS} kills, {} calls acknowledged, {unknown} unknown", acknowledged.len());
    assert!(unknown > 0, "no kill hit a running call");
    assert!(acknowledged.len() > 1000, "only {} calls were made", acknowledged.len());
}

/// Compares the store with what tools and callers saw; returns how many outcomes are unknown.
fn check(folder: &Folder, acknowledged: &BTreeMap<String, String>) -> usize {
    let seen = fs::read_to_string(folder.0.path().join("witness")).unwrap_or_default();
    let seen: BTreeSet<_> = seen.lines().collect();
    let mut reader = Reader::open(folder.path()).unwrap();
    let records: BTreeMap<_, _> = reader
        .list(&Filter::default())
        .unwrap()
        .into_iter()
        .map(|record| (record.id.to_string(), record.outcome.code()))
        .collect();
    for id in &seen {
        assert!(records.contains_key(*id), "the tool saw {id}, the store did not");
    }
    for (id, outcome) in acknowledged {
        assert_eq!(records.get(id), Some(&&**outcome), "{id} was acknowledged");
    }
    let mut unknown = 0;
    for (id, outcome) in &records {
        match *outcome {
            "ok" => assert!(seen.contains(&**id), "{id} ended without its tool"),
            "outcome_unknown" => unknown += 1,
            other => panic!("{id} is {other}"),
        }
    }
    // Each call has the tool's name among its words.
    for search in [None, Some("act".to_owned())] {
        let filter = Filter { unknown: true, search, ..Filter::default() };
        assert_eq!(reader.list(&filter).unwrap().len(), unknown);
        let filter = Filter { unknown: false, failed: true, ..filter };
        assert_eq!(reader.list(&filter).unwrap().len(), unknown);
    }
    let report = switchboard_audit::verify(folder.path()).unwrap();
    assert!(report.is_clean() && report.torn.is_empty(), "{report:?}");
    assert_eq!(report.calls, records.len() as u64);
    unknown
}
