//! Packages of PyPI: which one runs, and the hash of the `RECORD` that lists its files with their hashes.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{LaunchedProgram, npm::Package};
use crate::canonical;

/// Returns the package that `uvx` runs, from the cache of uv.
pub(super) fn run_by_uvx(program: &LaunchedProgram<'_>, args: &[String]) -> Option<Package> {
    const WITH_VALUE: [&str; 6] =
        ["--with", "-p", "--python", "--index-url", "--index", "--refresh-package"];
    let mut words = args.iter();
    let wanted = loop {
        match words.next()?.as_str() {
            "--from" => break words.next()?.as_str(),
            flag if WITH_VALUE.contains(&flag) => _ = words.next(),
            flag if flag.starts_with('-') => {}
            word => break word,
        }
    };
    let end = wanted.find(['@', '=', '<', '>', '~', '!', '[', ' ']).unwrap_or(wanted.len());
    let name = normal(&wanted[..end]);
    let archive = program.uv_cache.as_ref().map(|cache| cache.join("archive-v0"));
    let folders =
        archive.and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten();
    let infos = folders.flat_map(|folder| dist_infos(&folder.path()));
    let version = exact(&wanted[end..]);
    let is_wanted = |(own, its): (String, String)| {
        own == name && version.is_none_or(|version| is_same_version(version, &its))
    };
    let own = infos.filter(|info| name_and_version(info).is_some_and(is_wanted));
    let newest = own.max_by_key(|info| fs::metadata(info).and_then(|data| data.modified()).ok());
    match newest {
        Some(info) => of_info(&info),
        None => Some((format!("pypi:{wanted}"), None)),
    }
}

/// Returns the version of what follows a name, such as `==1.4`, `[extra]==1.4` or `@1.4`, if that is not a range or a tag.
fn exact(wanted: &str) -> Option<&str> {
    let wanted = wanted.split_once(']').map_or(wanted, |(_, rest)| rest).trim();
    let version = wanted.strip_prefix("==").or_else(|| wanted.strip_prefix('@'))?;
    let version = version.trim_start_matches('=').trim();
    let is_exact = version.starts_with(|c: char| c.is_ascii_digit())
        && !version.contains(['*', ',', ';', ' ', '<', '>', '~', '!']);
    is_exact.then_some(version)
}

/// Returns whether two versions are the same release: `1.4` is `1.4.0`.
fn is_same_version(one: &str, other: &str) -> bool {
    one.trim_end_matches(".0") == other.trim_end_matches(".0")
}

/// Returns the package that installed a program into an environment, or whose module `python -m` runs.
pub(super) fn installed(program: &Path, args: &[String]) -> Option<Package> {
    let environment = program.parent()?.parent()?;
    let is_python = program.file_name()?.to_str()?.starts_with("python");
    let needle = match (is_python, args) {
        (true, [flag, module, ..]) if flag == "-m" => {
            format!("{}/", module.split('.').next().unwrap_or(module))
        }
        (true, _) => return None,
        (false, _) => format!("/bin/{},", program.file_name()?.to_str()?),
    };
    let libraries = fs::read_dir(environment.join("lib")).ok()?.flatten();
    let sites = libraries.map(|library| library.path().join("site-packages"));
    let infos = sites.flat_map(|site| dist_infos(&site));
    let mut own = infos.filter(|info| {
        let record = fs::read_to_string(info.join("RECORD")).unwrap_or_default();
        record.lines().any(|line| match is_python {
            true => line.starts_with(&needle),
            false => line.contains(&needle),
        })
    });
    of_info(&own.next()?)
}

fn dist_infos(site: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(site).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths.filter(|path| path.extension().is_some_and(|end| end == "dist-info")).collect()
}

fn of_info(info: &Path) -> Option<Package> {
    let (name, version) = name_and_version(info)?;
    Some((format!("pypi:{name}@{version}"), hash_record(&info.join("RECORD"))))
}

/// Returns the hash of a `RECORD` without the lines that differ between installations of the same package.
fn hash_record(file: &Path) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let is_own = |line: &&str| {
        let file = line.split(',').next().unwrap_or_default();
        !line.starts_with("..") && !file.contains(".dist-info/") && !file.ends_with(".pyc")
    };
    let mut lines: Vec<_> = text.lines().filter(is_own).collect();
    lines.sort_unstable();
    Some(canonical::hash(lines.join("\n").as_bytes()))
}

fn name_and_version(info: &Path) -> Option<(String, String)> {
    let stem = info.file_stem()?.to_str()?;
    let (name, version) = stem.split_once('-')?;
    Some((normal(name), version.to_owned()))
}

/// Returns a name as PyPI compares it.
fn normal(name: &str) -> String {
    name.to_lowercase().replace(['_', '.'], "-")
}
