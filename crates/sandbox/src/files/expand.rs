//! Paths as people write them: `~`, relative ones, and globs.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use globset::GlobBuilder;

/// How many paths a glob stands for at most.
const MOST: usize = 4096;

/// What paths are relative to.
#[derive(Clone, Debug)]
pub(crate) struct SandboxPlaces {
    home: Option<PathBuf>,
    cwd: PathBuf,
}

impl SandboxPlaces {
    pub(crate) fn new(home: Option<PathBuf>, cwd: PathBuf) -> Self {
        Self { home, cwd }
    }

    pub(crate) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    pub(crate) fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// The path without `~`, absolute.
    pub(crate) fn absolute(&self, path: &str) -> PathBuf {
        let path = match (path, path.strip_prefix("~/"), &self.home) {
            ("~", _, Some(home)) => home.clone(),
            (_, Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(path),
        };
        self.cwd.join(path)
    }

    /// Returns the paths that stand for nothing now, so that no rule can be made for them.
    pub(crate) fn missing<'a>(&self, paths: &'a [String]) -> Vec<&'a str> {
        let is_missing = |path: &&String| !self.expand(path).iter().any(|path| path.exists());
        paths.iter().filter(is_missing).map(String::as_str).collect()
    }

    /// Returns the paths that a path with globs stands for now. `x/**` is all of `x`, which also has what comes later.
    pub(crate) fn expand(&self, path: &str) -> Vec<PathBuf> {
        let path =
            ["/**/*", "/**", "/*"].iter().find_map(|end| path.strip_suffix(end)).unwrap_or(path);
        let path = self.absolute(if path.is_empty() { "/" } else { path });
        let mut found = vec![PathBuf::new()];
        for component in path.components() {
            let name = component.as_os_str();
            let is_glob = matches!(component, Component::Normal(_))
                && name.to_str().is_some_and(|name| name.contains(['*', '?', '[', '{']));
            found = match is_glob {
                false => found.into_iter().map(|path| path.join(name)).collect(),
                true => {
                    found.iter().flat_map(|path| matches(path, &name.to_string_lossy())).collect()
                }
            };
            found.truncate(MOST);
        }
        found
    }
}

/// The entries of a folder that match; the name itself, if that is one.
fn matches(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let literal = folder.join(pattern);
    let Ok(glob) = GlobBuilder::new(pattern).literal_separator(true).build() else {
        return vec![literal];
    };
    if literal.exists() {
        return vec![literal];
    }
    let matcher = glob.compile_matcher();
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries
        .filter(|entry| matcher.is_match(entry.file_name()))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}

/// How many links stand behind each other at most, as in the system.
const MOST_LINKS: usize = 40;

/// Returns where a path leads. `None` if it leads nowhere, or by a link in one of the folders `written`, which the program may
/// have made, to what is outside of them.
pub(crate) fn resolve(path: &Path, written: &[PathBuf]) -> Option<PathBuf> {
    let real = path.canonicalize().ok()?;
    let is_theirs = written.iter().any(|folder| is_below(&real, folder));
    (is_theirs || !has_link_in(path, written, MOST_LINKS)).then_some(real)
}

fn has_link_in(path: &Path, written: &[PathBuf], links: usize) -> bool {
    let Some(links) = links.checked_sub(1) else { return true };
    let mut here = PathBuf::new();
    for component in path.components() {
        let next = here.join(component);
        if let Ok(target) = fs::read_link(&next) {
            let is_theirs = written.iter().any(|folder| is_below(&here, folder));
            if is_theirs || has_link_in(&here.join(target), written, links) {
                return true;
            }
        }
        match next.canonicalize() {
            Ok(real) => here = real,
            Err(_) => return true,
        }
    }
    false
}

/// Whether a path is a folder, or below it.
pub(crate) fn is_below(path: &Path, folder: &Path) -> bool {
    path.starts_with(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for file in ["a/one.txt", "a/two.md", "b/one.txt"] {
            let file = folder.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        let places = SandboxPlaces::new(Some(folder.path().join("a")), folder.path().to_owned());
        let found = places.expand(path);
        let short =
            |path: &PathBuf| path.strip_prefix(folder.path()).unwrap_or(path).display().to_string();
        found.iter().map(short).collect()
    }

    // SB-1
    #[test]
    fn paths_are_what_people_mean() {
        assert_eq!(check("~/one.txt"), ["a/one.txt"]);
        assert_eq!(check("~"), ["a"]);
        assert_eq!(check("b/new"), ["b/new"]);
        assert_eq!(check("/etc/**"), ["/etc"]);
        assert_eq!(check("a/*"), ["a"]);
        assert_eq!(check("*/one.txt"), ["a/one.txt", "b/one.txt"]);
        assert_eq!(check("a/*.txt"), ["a/one.txt"]);
        assert_eq!(check("c*/x"), Vec::<String>::new());
        assert_eq!(check("/**"), ["/"]);
    }
}
