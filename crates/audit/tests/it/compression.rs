//! Sealed segments are compressed, and everything reads on.

use std::{fs, path::Path};

use serde_json::json;
use switchboard_audit::{
    CallUpdate, Config, ExportTarget, Filter, JournalExport, Reader, StoreFolder, gc,
    generate::SegmentGenerator, retention::preview,
};
use switchboard_toolcall::{CallId, HumanSize};

use crate::support::{Folder, cancelled, start, until};

/// Writes segments of calls, one of which is longer than a frame.
fn fill(folder: &Folder, segments: usize) -> Vec<CallId> {
    let mut ids = Vec::new();
    let mut generator = SegmentGenerator::new(folder.path()).unwrap();
    for _ in 0..segments {
        for number in 0..1500 {
            let text = match number {
                700 => "long ".repeat(100_000),
                _ => format!("call {number}"),
            };
            let start = start("answer", json!({"text": text, "number": number}).to_string());
            generator.open(&start).unwrap();
            generator.end(&cancelled(&start)).unwrap();
            ids.push(start.id);
        }
        generator.seal().unwrap();
    }
    ids
}

/// Everything that a reader finds of the calls, with the numbers of their lines.
fn details(folder: &Path, ids: &[CallId]) -> Vec<String> {
    let mut reader = Reader::open(folder).unwrap();
    let detail = |id: &CallId| {
        let mut detail = reader.show(*id).unwrap().unwrap();
        reader.count_lines(&mut detail).unwrap();
        serde_json::to_string(&detail).unwrap()
    };
    ids.iter().step_by(97).map(detail).collect()
}

fn all(folder: &Path) -> Vec<String> {
    let mut reader = Reader::open(folder).unwrap();
    let mut found = Vec::new();
    let take = |detail| {
        found.push(serde_json::to_string(&detail).unwrap());
        std::ops::ControlFlow::Continue(())
    };
    reader.for_each_call(&Filter::default(), take).unwrap();
    found
}

fn exported(folder: &Path) -> Vec<Vec<u8>> {
    let mut export =
        JournalExport::open(folder.to_owned(), ExportTarget::Cluster).unwrap().unwrap();
    let updates = export.next(usize::MAX).unwrap();
    updates.iter().map(|update: &CallUpdate| update.to_json(usize::MAX)).collect()
}

fn compressed(folder: &Folder, number: u64) -> std::path::PathBuf {
    folder.segment(number).with_extension("log.zst")
}

// RC-1, RC-3
#[test]
fn a_compressed_store_says_what_it_said_before() {
    let folder = Folder::new();
    let path = folder.path();
    let ids = fill(&folder, 2);
    let look = || {
        let report = switchboard_audit::verify(&path).unwrap();
        assert!(report.is_clean(), "{:?}", report.damage);
        (report.lines, report.calls, report.head, details(&path, &ids), all(&path), exported(&path))
    };
    let before = look();
    let text = fs::read(folder.segment(1)).unwrap();
    let planned = preview(&path, &Config::default()).unwrap();
    let collected = gc(&path, &Config::default()).unwrap();
    assert_eq!((planned.segments, collected.segments), (0, 0));
    assert!(!folder.segment(1).exists() && !folder.segment(2).exists());
    let file = fs::read(compressed(&folder, 1)).unwrap();
    assert!(file.len() < text.len() / 4, "{} of {}", file.len(), text.len());
    // Any program that knows zstd shows the lines.
    assert_eq!(zstd::stream::decode_all(&*file).unwrap(), text);
    assert_eq!(look(), before);
    fs::remove_file(path.join("index.db")).unwrap();
    assert_eq!(look(), before);
    // Nothing is left to do.
    gc(&path, &Config::default()).unwrap();
    assert_eq!(fs::read(compressed(&folder, 1)).unwrap(), file);
}

// RC-2: an export that is under way goes on where it was.
#[test]
fn an_export_goes_on_in_a_compressed_segment() {
    let folder = Folder::new();
    let ids = fill(&folder, 1);
    let mut export = JournalExport::open(folder.path(), ExportTarget::Cluster).unwrap().unwrap();
    let mut updates = export.next(1000).unwrap();
    export.commit().unwrap();
    drop(export);
    gc(&folder.path(), &Config::default()).unwrap();
    let mut export = JournalExport::open(folder.path(), ExportTarget::Cluster).unwrap().unwrap();
    assert!(export.lag_bytes().unwrap() > 0);
    updates.extend(export.next(usize::MAX).unwrap());
    assert_eq!(export.lag_bytes().unwrap(), 0);
    let exported: Vec<_> = updates.iter().step_by(2).map(|update| update.id).collect();
    assert_eq!((updates.len(), exported), (2 * ids.len(), ids));
}

// RC-3
#[test]
fn damage_of_a_compressed_segment_is_reported_and_the_rest_is_read() {
    let folder = Folder::new();
    let ids = fill(&folder, 2);
    gc(&folder.path(), &Config::default()).unwrap();
    let path = compressed(&folder, 1);
    let whole = fs::read(&path).unwrap();
    let check = |what: &str, damage: &dyn Fn(&mut Vec<u8>)| {
        let mut file = whole.clone();
        damage(&mut file);
        fs::write(&path, file).unwrap();
        let found = folder.damage();
        assert_eq!(found.len(), 1, "{what}: {found:?}");
        assert_eq!((&*found[0].0, found[0].1), ("00000001.log.zst", None), "{what}");
        assert!(found[0].2.starts_with("it cannot be decompressed: "), "{what}: {}", found[0].2);
        // Also if the index must be made again.
        for is_gone in [false, true] {
            if is_gone {
                fs::remove_file(folder.path().join("index.db")).unwrap();
            }
            let mut reader = Reader::open(folder.path()).unwrap();
            assert!(reader.show(ids[2000]).unwrap().is_some(), "{what}");
            assert!(reader.list(&Filter::default()).unwrap().len() >= 1500, "{what}");
            gc(&folder.path(), &Config::default()).unwrap();
        }
        assert!(
            JournalExport::open(folder.path(), ExportTarget::Cluster)
                .unwrap()
                .unwrap()
                .next(9000)
                .is_ok(),
            "{what}"
        );
    };
    let end = whole.len();
    check("a bit of a frame", &|file| file[5000] ^= 1);
    check("half of it", &|file| file.truncate(end / 2));
    check("nothing", &|file| file.truncate(3));
    check("its last number", &|file| file[end - 1] ^= 1);
    check("flags", &|file| file[end - 5] = 0x80);
    check("how many frames there are", &|file| file[end - 9] += 1);
    check("more than there can be", &|file| file[end - 7] = 0xff);
    check("how long a frame is", &|file| file[end - 17] ^= 1);
    check("how much text it has", &|file| file[end - 13] ^= 1);
    fs::write(&path, &whole).unwrap();
    assert_eq!(folder.damage(), []);
}

// RC-1
#[test]
fn what_is_compressed_makes_room() {
    let folder = Folder::new();
    fill(&folder, 4);
    let size = |compress| {
        let config = Config { max_size: HumanSize(5_000_000), compress, ..Config::default() };
        preview(&folder.path(), &config).unwrap()
    };
    assert!(size(false).segments > 0);
    let planned = size(true);
    assert_eq!(planned.segments, 0);
    let config = Config { max_size: HumanSize(5_000_000), ..Config::default() };
    let collected = gc(&folder.path(), &config).unwrap();
    assert_eq!((collected.segments, collected.left), (0, planned.left));
    // What is too old goes all the same.
    let config: Config = serde_json::from_value(json!({"max_age": "0ms"})).unwrap();
    assert_eq!(gc(&folder.path(), &config).unwrap().segments, 4);
    assert_eq!(fs::read_dir(folder.path().join("journal")).unwrap().count(), 0);
    assert_eq!(folder.damage(), []);
}

#[tokio::test]
async fn upkeep_compresses_and_who_follows_sees_no_call_twice() {
    let folder = Folder::new();
    let ids = fill(&folder, 3);
    let mut follower = Reader::open(folder.path()).unwrap().follow().unwrap();
    let store = folder.store();
    store.start_upkeep().unwrap();
    let is_compressed =
        |number| compressed(&folder, number).exists() && !folder.segment(number).exists();
    until(async || (1..=3).all(is_compressed)).await;
    assert_eq!(follower.poll().unwrap().len(), 0);
    let added = fill(&folder, 1);
    assert_eq!(follower.poll().unwrap().len(), added.len());
    assert_eq!(folder.records().len(), ids.len() + added.len());
    assert_eq!(folder.damage(), []);
}

#[test]
fn who_does_not_have_the_key_compresses_nothing() {
    let folder = Folder::new();
    let key = switchboard_audit::SigningKey::new("the key of the records").unwrap();
    let signed = StoreFolder::with_key(&folder.path(), Some(key.clone()));
    let mut generator = SegmentGenerator::new(signed.clone()).unwrap();
    let start = start("answer", "{}".to_owned());
    generator.open(&start).unwrap();
    generator.end(&cancelled(&start)).unwrap();
    generator.seal().unwrap();
    assert!(gc(&folder.path(), &Config::default()).is_err());
    assert!(SegmentGenerator::new(folder.path()).unwrap().compress().is_err());
    assert!(folder.segment(1).exists());
    let age: Config = serde_json::from_value(json!({"tool_max_age": {"answer": "0ms"}})).unwrap();
    let config = Config { key: Some(key), ..age };
    assert_eq!(gc(&folder.path(), &config).unwrap().calls, 1);
    let report = switchboard_audit::verify(signed).unwrap();
    assert!(report.is_clean(), "{:?}", report.damage);
    assert_eq!(
        (report.removed, report.signatures),
        (2, switchboard_audit::SignatureStatus::Checked)
    );
    // Without it the chain can be checked, and what was removed.
    assert!(switchboard_audit::verify(folder.path()).unwrap().is_clean());
}
