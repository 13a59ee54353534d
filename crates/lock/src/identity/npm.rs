//! Packages of npm: which one runs, and the integrity with which it was installed.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::LaunchedProgram;

/// A package with its version, and its integrity.
pub(super) type Package = (String, Option<String>);

/// Returns the package that `npx` runs, from its cache.
pub(super) fn run_by_npx(program: &LaunchedProgram<'_>) -> Option<Package> {
    let mut words = program.args.iter();
    let mut wanted = None;
    while let Some(word) = words.next() {
        match word.as_str() {
            "-p" | "--package" => {
                wanted = words.next();
                break;
            }
            word if word.starts_with('-') => {}
            _ => {
                wanted = Some(word);
                break;
            }
        }
    }
    let wanted = wanted?;
    let (name, version) = match wanted.get(1..).and_then(|rest| rest.find('@')) {
        Some(at) => (&wanted[..=at], exact(&wanted[at + 2..])),
        None => (wanted.as_str(), None),
    };
    let is_wanted = |modules: &PathBuf| match version {
        Some(version) => installed_version(modules, name).as_deref() == Some(version),
        None => modules.join(name).is_dir(),
    };
    let copies = program.npm_cache.as_ref().map(|cache| cache.join("_npx"));
    let folders =
        copies.and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten();
    let modules = folders.map(|folder| folder.path().join("node_modules"));
    let own = program.cwd.map(|cwd| cwd.join("node_modules"));
    let found = own.into_iter().chain(modules).filter(is_wanted);
    // Of a range of versions, the one that was installed last is the one that runs.
    let newest = found.max_by_key(|modules| {
        fs::metadata(modules.join(".package-lock.json")).and_then(|data| data.modified()).ok()
    });
    match newest {
        Some(modules) => of_modules(&modules, name),
        None => Some((format!("npm:{wanted}"), None)),
    }
}

/// Returns a version that is not a range or a tag.
fn exact(version: &str) -> Option<&str> {
    let version = version.trim_start_matches(['=', 'v']);
    let numbers = version.split(['-', '+']).next().unwrap_or_default();
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_exact = numbers.split('.').count() == 3 && numbers.split('.').all(is_number);
    is_exact.then_some(version)
}

fn installed_version(modules: &Path, name: &str) -> Option<String> {
    let text = fs::read(modules.join(name).join("package.json")).ok()?;
    let package: Value = serde_json::from_slice(&text).ok()?;
    package["version"].as_str().map(str::to_owned)
}

/// Returns the package that a file belongs to, if it is in a `node_modules`.
pub(super) fn installed(file: &Path) -> Option<Package> {
    let mut inside = PathBuf::new();
    for folder in file.ancestors() {
        if folder.file_name().is_some_and(|name| name == "node_modules") {
            let rest = file.strip_prefix(folder).ok()?;
            let mut parts = rest.components().filter_map(|part| part.as_os_str().to_str());
            let first = parts.next()?;
            inside.push(first);
            if first.starts_with('@') {
                inside.push(parts.next()?);
            }
            return of_modules(folder, inside.to_str()?);
        }
    }
    None
}

fn of_modules(modules: &Path, name: &str) -> Option<Package> {
    let read = |file: PathBuf| serde_json::from_slice::<Value>(&fs::read(file).ok()?).ok();
    let own = read(modules.join(name).join("package.json"))?;
    let version = own["version"].as_str()?;
    let locked = read(modules.join(".package-lock.json"));
    let entry = locked.as_ref().map(|locked| &locked["packages"][format!("node_modules/{name}")]);
    // An entry of another version says nothing about this one.
    let entry = entry.filter(|entry| entry["version"] == version);
    let integrity = entry.and_then(|entry| entry["integrity"].as_str()).map(str::to_owned);
    Some((format!("npm:{name}@{version}"), integrity))
}
