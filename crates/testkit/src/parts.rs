//! Programs that tests start: the parts that `cargo xtask parts` installs, and the examples of a test's own package.

use std::path::{Path, PathBuf};

/// Returns the path of a file among the parts.
///
/// # Panics
/// If the parts are not installed.
pub fn part(path: &str) -> String {
    let parts = std::env::var_os("SWITCHBOARD_PARTS").map(PathBuf::from);
    let path = parts.expect("SWITCHBOARD_PARTS is not set: run `cargo xtask test`").join(path);
    assert!(path.exists(), "no `{}`: run `cargo xtask parts`", path.display());
    path.into_os_string().into_string().expect("paths of parts are UTF-8")
}

/// Returns the path of a program built from `examples/`, which cargo builds with the tests.
///
/// # Panics
/// If it was not built.
pub fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its program");
    let folder = test.parent().and_then(Path::parent).expect("tests are built into `deps`");
    let path = folder.join("examples").join(name);
    assert!(path.exists(), "no `{}`: run `cargo build --examples`", path.display());
    path
}
