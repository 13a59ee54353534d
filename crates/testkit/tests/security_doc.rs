//! docs/security.md names the test behind each promise; this checks that each of them exists.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Adds every function that the Rust files below `folder` define.
fn add_functions(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("the folder can be listed") {
        let path = entry.expect("the folder can be listed").path();
        if path.is_dir() {
            add_functions(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("source files are text");
            let names = text.split("fn ").skip(1).filter_map(|rest| rest.split(['(', '<']).next());
            found.extend(names.map(str::to_owned));
        }
    }
}

/// Returns the words in backticks that are named as tests are: at least four words joined by underscores.
fn named_tests(text: &str) -> Vec<&str> {
    let is_test = |word: &&str| {
        let is_name = word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        is_name && !word.contains("__") && word.matches('_').count() >= 3
    };
    text.split('`').skip(1).step_by(2).filter(is_test).collect()
}

#[test]
fn every_test_that_the_security_page_names_exists() {
    let text = fs::read_to_string(root().join("docs/security.md")).unwrap();
    let named = named_tests(&text);
    assert!(named.len() > 50, "{} tests are named", named.len());
    let mut functions = BTreeSet::new();
    for folder in ["crates", "xtask"] {
        add_functions(&root().join(folder), &mut functions);
    }
    let missing: Vec<_> = named.into_iter().filter(|name| !functions.contains(*name)).collect();
    assert!(missing.is_empty(), "docs/security.md names tests that do not exist: {missing:?}");
}
