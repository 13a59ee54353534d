//! Which path an error is about, if a program was refused a file: the kernel tells only the program, which tells it in words.

use std::path::{Path, PathBuf};

use crate::{
    files::{SandboxPlaces, SecretPaths},
    policy::{FileAccess, FileRule},
    refusals::SandboxRefusal,
};

/// How programs say that they were refused something.
const WORDS: [&str; 6] =
    ["permission denied", "operation not permitted", "eacces", "eperm", READ_ONLY, "exdev"];

/// How programs say that they were refused a change, whatever they say they did.
const READ_ONLY: &str = "read-only file system";

/// What stands in the words about something that would have been changed.
const CHANGES: [&str; 14] = [
    "mkdir", "write", "writing", "unlink", "rename", "create", "creating", "copyfile", "remove",
    "rmdir", "symlink", "link", "truncate", "touch",
];

/// How programs say that they could not start a process or a thread.
const NO_PROCESS: [&str; 2] = ["resource temporarily unavailable", "eagain"];

/// What stands in the words about a process or a thread.
const STARTS: [&str; 4] = ["fork", "clone", "thread", "spawn"];

/// How much of a text is looked at.
const LONGEST: usize = 16 * 1024;

/// What the program may do with files, to find what it may not.
pub(crate) struct AllowedFiles {
    pub(crate) rules: Vec<FileRule>,
    pub(crate) places: SandboxPlaces,
    pub(crate) secrets: SecretPaths,
    /// How many processes and threads it may have.
    pub(crate) processes: u64,
}

impl AllowedFiles {
    /// Returns what a program was refused, by its own words.
    pub(crate) fn refused(&self, text: &str) -> Vec<SandboxRefusal> {
        let end = text.char_indices().nth(LONGEST).map_or(text.len(), |(at, _)| at);
        let mut found = Vec::new();
        for line in text[..end].lines() {
            let lower = line.to_lowercase();
            let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
            if has(&NO_PROCESS) && has(&STARTS) {
                let text = format!("more than {} processes and threads", self.processes);
                found.push(SandboxRefusal::Processes(text));
            }
            if has(&WORDS) {
                let is_there = |path: &str| self.places.absolute(path).exists();
                let named = paths(line, is_there);
                found.extend(named.iter().filter_map(|path| self.refusal(path, &lower)));
            }
        }
        found.dedup();
        found
    }

    fn refusal(&self, named: &str, line: &str) -> Option<SandboxRefusal> {
        let path = self.places.absolute(named);
        // The program may have named a link; what it leads to counts.
        let real = resolved(&path);
        let text = path.display().to_string();
        if self.secrets.contain(&real) || self.secrets.contain(&path) {
            return Some(SandboxRefusal::Secret(text));
        }
        let may = |accesses: &[FileAccess]| {
            let mut rules = self.rules.iter().filter(|rule| accesses.contains(&rule.access));
            rules.any(|rule| real.starts_with(&rule.path))
        };
        let changes = line.contains(READ_ONLY) || CHANGES.iter().any(|word| line.contains(word));
        let runs = ["spawn", "exec", "cannot run"].iter().any(|word| line.contains(word));
        use FileAccess::{Device, Read, Run, Write};
        match () {
            () if may(&[Write]) => None,
            () if runs && real.is_file() => (!may(&[Run])).then_some(SandboxRefusal::Run(text)),
            () if changes || may(&[Read, Run, Device]) => Some(SandboxRefusal::Write(text)),
            () => Some(SandboxRefusal::Read(text)),
        }
    }
}

/// Where a path leads, as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    let mut existing = path.ancestors().filter_map(|it| Some((it, it.canonicalize().ok()?)));
    match existing.next() {
        Some((known, real)) => real.join(path.strip_prefix(known).unwrap_or(Path::new(""))),
        None => path.to_owned(),
    }
}

/// The paths in a line: those in quotes, the one before the verdict, or words that begin with a slash. What has white space and
/// no quotes is a path if it begins with a slash or is there: programs write logs in the same form.
fn paths(line: &str, is_there: impl Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for quote in ['\'', '"', '`'] {
        let parts = line.split(quote).collect::<Vec<_>>();
        // Every second part is between quotes.
        let quoted = parts.iter().skip(1).step_by(2).filter(|_| parts.len() > 2);
        found.extend(quoted.filter(|part| is_path(part)).map(|part| (*part).to_owned()));
    }
    if found.is_empty() {
        // `cat: notes/a: Permission denied`.
        let parts: Vec<_> = line.split(": ").collect();
        let is_verdict = |part: &&str| WORDS.iter().any(|word| part.to_lowercase().contains(word));
        let at = parts.iter().position(is_verdict).and_then(|at| at.checked_sub(1));
        let is_named = |part: &str| {
            let is_word = !part.contains(|c: char| c.is_whitespace() || c.is_control());
            is_path(part) && (is_word || part.starts_with('/') || is_there(part))
        };
        let named = at.and_then(|at| parts.get(at)).filter(|part| is_named(part));
        found.extend(named.map(|part| (*part).to_owned()));
    }
    if found.is_empty() {
        let ends =
            |c: char| c.is_whitespace() || matches!(c, ':' | ',' | ';' | ')' | '(' | '\'' | '"');
        let words = line.split(ends).filter(|word| word.starts_with('/') && word.len() > 1);
        found.extend(words.map(str::to_owned));
    }
    found
}

fn is_path(text: &str) -> bool {
    let has_place = text.contains('/') || text.contains('.');
    !text.is_empty() && has_place && text.len() < 4096 && !text.contains('\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Vec<String> {
        let rule = |path: &str, access| FileRule { path: path.into(), access };
        let allowed = AllowedFiles {
            rules: vec![rule("/usr", FileAccess::Run), rule("/open", FileAccess::Write)],
            places: SandboxPlaces::new(Some("/nobody".into()), "/nowhere".into()),
            secrets: SecretPaths::new(Some(Path::new("/nobody")), &[]),
            processes: 128,
        };
        allowed.refused(text).iter().map(|refusal| format!("{refusal:?}")).collect()
    }

    // SB-2
    #[test]
    fn what_was_refused_is_read_from_what_programs_say() {
        for (text, expected) in [
            ("PermissionError: [Errno 13] Permission denied: '/a/b c.txt'", "Read(\"/a/b c.txt\")"),
            ("Error: EACCES: permission denied, open '/a/b'", "Read(\"/a/b\")"),
            ("Error: EACCES: permission denied, mkdir '/a/b'", "Write(\"/a/b\")"),
            ("Error: EROFS: read-only file system, open '/a/b'", "Write(\"/a/b\")"),
            ("cat: /a/b: Permission denied", "Read(\"/a/b\")"),
            ("cat: c/d: Permission denied", "Read(\"/nowhere/c/d\")"),
            ("[Errno 13] Permission denied: 'c.txt'", "Read(\"/nowhere/c.txt\")"),
            ("[Errno 13] Permission denied: '/usr/x'", "Write(\"/usr/x\")"),
            ("cat: /nobody/.ssh/id: Permission denied", "Secret(\"/nobody/.ssh/id\")"),
            (
                "pthread_create: Resource temporarily unavailable (11)",
                "Processes(\"more than 128 processes and threads\")",
            ),
            (
                "Error: spawn /usr/bin/git EAGAIN",
                "Processes(\"more than 128 processes and threads\")",
            ),
        ] {
            assert_eq!(check(text), [expected], "{text}");
        }
        for text in [
            "no such file: '/a/b'",
            "Permission denied: '/open/x'",
            "Permission denied",
            "read: Resource temporarily unavailable",
            // What Chromium says of a socket and of a system call.
            "[28808:1119/213802.790317:FATAL:chrome/browser/process_singleton_posix.cc:297] Check failed: . socket() failed: \
             Operation not permitted (1)",
            "\u{1b}[2m  - [pid=7][err] [1119/2138:ERROR:third_party/util/linux/scoped_ptrace_attach.cc:27] ptrace: \
             Operation not permitted (1)",
        ] {
            assert_eq!(check(text), Vec::<String>::new(), "{text}");
        }
    }
}
