//! Whether a store takes records, and how much it holds.

use std::{fs, time::SystemTime};

use serde_json::json;
use switchboard_audit::{Error, ExportTarget, JournalExport, Reader, usage, verify};

use crate::support::{Folder, call, executor};

fn names(folder: &Folder) -> Vec<String> {
    let entries = fs::read_dir(folder.path().join("journal")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

#[tokio::test]
async fn a_store_says_how_much_it_holds() {
    let folder = Folder::new();
    let empty = usage(folder.path()).unwrap();
    assert_eq!((empty.calls, empty.oldest, empty.bytes), (0, None, 0));
    let before = SystemTime::now();
    let executor = executor(folder.store());
    for number in 0..3 {
        call(&executor, "answer", json!({"with": number})).await;
    }
    let used = usage(folder.path()).unwrap();
    assert_eq!(used.calls, 3);
    assert!(used.bytes > 0 && used.oldest.is_some_and(|oldest| oldest <= SystemTime::now()));
    // Records count microseconds.
    let oldest = used.oldest.unwrap() + std::time::Duration::from_micros(1);
    assert!(oldest >= before, "{oldest:?} {before:?}");
    // Trying leaves nothing behind.
    assert_eq!(names(&folder), ["00000001.log"]);
    drop(executor);
    assert!(verify(folder.path()).unwrap().is_clean());
}

// RC-1
#[test]
fn a_store_that_takes_no_records_says_which_file_and_why() {
    let check = |block: &dyn Fn(&Folder)| {
        let folder = Folder::new();
        block(&folder);
        let Err(Error::File { tried, path, source }) = usage(folder.path()) else {
            panic!("it can be used")
        };
        let below = path.strip_prefix(folder.path()).unwrap().display().to_string();
        format!("{tried} {below}: {source}")
    };
    let in_the_way = |folder: &Folder| fs::write(folder.path(), "in the way").unwrap();
    assert!(check(&in_the_way).starts_with("create the folder : "), "{}", check(&in_the_way));
    let journal = |folder: &Folder| {
        fs::create_dir_all(folder.path()).unwrap();
        fs::write(folder.path().join("journal"), "in the way").unwrap();
    };
    assert!(check(&journal).starts_with("create the folder journal: "), "{}", check(&journal));
    let manifest =
        |folder: &Folder| fs::create_dir_all(folder.path().join("manifest.log/x")).unwrap();
    assert!(check(&manifest).starts_with("read manifest.log: Is a directory"));
}

// RC-2
#[test]
fn a_store_that_cannot_be_read_is_not_an_empty_one() {
    let folder = Folder::new();
    fs::write(folder.path(), "in the way").unwrap();
    let says = format!("failed to read `{}`", folder.path().join("manifest.log").display());
    let errors = [
        Reader::open(folder.path()).err(),
        verify(folder.path()).err(),
        switchboard_audit::gc(&folder.path(), &Default::default()).err(),
        switchboard_audit::retention::preview(&folder.path(), &Default::default()).err(),
        JournalExport::open(folder.path(), ExportTarget::Cluster).err(),
    ];
    for error in errors {
        assert_eq!(error.map(|error| error.to_string()), Some(says.clone()));
    }
}
