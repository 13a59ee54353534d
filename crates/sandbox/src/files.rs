//! Which files a program may use: the system's own, the program's, and those that the settings name; never the user's
//! secrets.

mod expand;
mod program;
mod relocated;
mod secrets;
mod sockets;
mod system;

use std::path::{Path, PathBuf};

use crate::{
    config::SandboxAllow,
    policy::{FileAccess, FileRule},
};

pub(crate) use expand::{SandboxPlaces, is_below, resolve};
pub(crate) use program::find_program;
pub use relocated::relocated_secrets;
pub(crate) use secrets::SecretPaths;
pub(crate) use sockets::bound_sockets;
#[cfg(target_os = "linux")]
pub(crate) use sockets::sockets_below;

/// A program to be confined, as its settings have it.
#[derive(Clone, Debug)]
pub(crate) struct ProgramFiles<'a> {
    pub(crate) command: &'a str,
    pub(crate) args: &'a [String],
    /// Where bare names are looked for.
    pub(crate) search: &'a [PathBuf],
}

/// The entry of `run` that stands for the folder for temporary files: what the program writes there may be run.
const OWN_TEMP: &str = "$TMPDIR";

/// What a program may do with files.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileSet {
    pub(crate) rules: Vec<FileRule>,
    /// Other names of what the rules are for: those of links, as settings and `PATH` have them.
    pub(crate) names: Vec<PathBuf>,
}

/// Returns what the program may do with files. `temp` is the folder of its own.
pub(crate) fn rules(
    program: &ProgramFiles<'_>,
    allow: &SandboxAllow,
    places: &SandboxPlaces,
    secrets: &SecretPaths,
    temp: &Path,
) -> FileSet {
    let (mut wanted, mut rules) = (system::rules(), system::kernel_rules());
    let mut names = Vec::new();
    // What lies there may be the program's own making, from an earlier run: it must not decide what is allowed.
    let written = allow.write.iter().flat_map(|path| places.expand(path));
    let written: Vec<_> = written.filter_map(|path| path.canonicalize().ok()).collect();
    let needs = |command: &str, args: &[String]| {
        program::needs(command, args, program.search, places, &written)
    };
    for path in needs(program.command, program.args) {
        wanted.push((path, FileAccess::Run));
    }
    for named in &allow.run {
        let found = match named.contains('/') || named.starts_with('~') {
            _ if named == OWN_TEMP => vec![temp.to_owned()],
            true => places.expand(named),
            false => find_program(named, program.search, places.cwd()).into_iter().collect(),
        };
        for file in found {
            let text = file.display().to_string();
            wanted.extend(needs(&text, &[]).into_iter().map(|path| (path, FileAccess::Run)));
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
        let Some(real) = resolve(&path, &written) else { continue };
        secrets.exclude_secrets(&real, access, &mut rules);
        if real != path {
            names.push(path);
        }
    }
    rules.sort();
    rules.dedup();
    FileSet { rules, names }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::{PermissionsExt, symlink},
    };

    use super::*;

    // SB-1: a run must not prepare what the next one may do.
    #[test]
    fn what_a_program_wrote_does_not_widen_its_sandbox() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        for file in [
            "work/own/file",
            "work/venv/bin/python",
            "secret/file",
            "secret/bin/python3",
            "secret/lib/x",
            "open/file",
        ] {
            let file = base.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, format!("#!{}/secret/bin/python3\n", base.display())).unwrap();
            let executable = fs::Permissions::from_mode(0o755);
            fs::set_permissions(&file, executable).unwrap();
        }
        let config = format!("home = {}/secret/bin\n", base.display());
        fs::write(base.join("work/venv/pyvenv.cfg"), config).unwrap();
        symlink(base.join("secret"), base.join("work/link")).unwrap();
        symlink(base.join("secret/bin/python3"), base.join("work/program")).unwrap();
        symlink("own", base.join("work/inner")).unwrap();
        symlink(base.join("open"), base.join("outer")).unwrap();
        let text = |path: &str| base.join(path).display().to_string();
        let places = SandboxPlaces::new(None, base.clone());
        let check = |command: &str, read: &[&str]| -> Vec<String> {
            let allow = SandboxAllow {
                read: read.iter().map(|path| text(path)).collect(),
                write: vec![text("work")],
                ..SandboxAllow::default()
            };
            let command = text(command);
            let program = ProgramFiles { command: &command, args: &[], search: &[] };
            let found = rules(&program, &allow, &places, &SecretPaths::default(), Path::new("/no"));
            let own = found.rules.iter().filter_map(|rule| rule.path.strip_prefix(&base).ok());
            own.map(|path| path.display().to_string()).collect()
        };
        assert_eq!(check("work/own/file", &[]), ["work", "work/own/file"]);
        assert_eq!(check("work/program", &[]), ["work"]);
        let environment = check("work/venv/bin/python", &[]);
        assert!(!environment.iter().any(|path| path.starts_with("secret")), "{environment:?}");
        assert_eq!(
            check("none", &["work/link", "work/link/file", "work/inner"]),
            ["work", "work/own"]
        );
        assert_eq!(check("none", &["outer", "secret/file"]), ["open", "secret/file", "work"]);
    }
}
