//! Which files a program may use: the system's own, the program's, and those that the settings name; never the user's
//! secrets.

mod expand;
mod program;
mod secrets;
mod system;

use std::path::{Path, PathBuf};

use crate::{
    config::SandboxAllow,
    policy::{FileAccess, FileRule},
};

pub(crate) use expand::{Places, is_below};
pub(crate) use program::find_program;
pub(crate) use secrets::SecretPaths;

/// A program to be confined, as its settings have it.
#[derive(Clone, Debug)]
pub(crate) struct ProgramFiles<'a> {
    pub(crate) command: &'a str,
    pub(crate) args: &'a [String],
    /// Where bare names are looked for.
    pub(crate) search: &'a [PathBuf],
}

/// Returns what the program may do with files. `temp` is the folder of its own.
pub(crate) fn rules(
    program: &ProgramFiles<'_>,
    allow: &SandboxAllow,
    places: &Places,
    secrets: &SecretPaths,
    temp: &Path,
) -> Vec<FileRule> {
    let (mut wanted, mut rules) = (system::rules(), system::kernel_rules());
    for path in program::needs(program.command, program.args, program.search, places) {
        wanted.push((path, FileAccess::Run));
    }
    for named in &allow.run {
        let found = match named.contains('/') || named.starts_with('~') {
            true => places.expand(named),
            false => find_program(named, program.search, places.cwd()).into_iter().collect(),
        };
        for file in found {
            let text = file.display().to_string();
            let needs = program::needs(&text, &[], program.search, places);
            wanted.extend(needs.into_iter().map(|path| (path, FileAccess::Run)));
            wanted.push((file, FileAccess::Run));
        }
    }
    for (paths, access) in [(&allow.read, FileAccess::Read), (&allow.write, FileAccess::Write)] {
        for path in paths {
            wanted.extend(places.expand(path).into_iter().map(|path| (path, access)));
        }
    }
    for path in allow.connect.iter().filter_map(|entry| entry.strip_prefix("unix:")) {
        wanted.extend(places.expand(path).into_iter().map(|path| (path, FileAccess::Connect)));
    }
    wanted.push((temp.to_owned(), FileAccess::Write));
    for (path, access) in wanted {
        // What is not there needs no rule: a rule holds for what a path leads to, not for its name.
        let Ok(path) = path.canonicalize() else { continue };
        secrets.around(&path, access, &mut rules);
    }
    rules.sort();
    rules.dedup();
    rules
}
