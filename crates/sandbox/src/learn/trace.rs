//! Reads the lines of `strace`.

use std::path::PathBuf;

/// Something that a program did.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TraceEvent {
    /// It opened a file or a folder to read it.
    Read(PathBuf),
    /// It opened a file to change it.
    Write(PathBuf),
    /// It created, moved or removed an entry of a folder.
    Change(PathBuf),
    /// It ran a program.
    Run(PathBuf),
    /// It connected to an address over TCP.
    Connect { address: String, port: u16 },
    /// It connected to a Unix socket.
    Unix(PathBuf),
    /// It made a Unix socket with a name; an abstract one is in no folder.
    OwnSocket(Option<PathBuf>),
}

/// Calls with which a program changes an entry of a folder, which their last path names.
const CHANGES: [&str; 8] =
    ["creat", "mkdir", "mkdirat", "unlink", "unlinkat", "rmdir", "symlink", "symlinkat"];

/// Returns what a line tells, if the call succeeded. A connection is told even if it has only begun.
pub(super) fn events(line: &str) -> Vec<TraceEvent> {
    let Some((name, rest)) = line.split_once('(') else { return Vec::new() };
    if name == "connect" {
        return connection(rest).into_iter().collect();
    }
    let Some((args, result)) = rest.rsplit_once(" = ") else { return Vec::new() };
    if result.starts_with('-') || result.starts_with('?') {
        return Vec::new();
    }
    let paths = quoted(args);
    let absolute = |named: &QuotedPath| absolute(args, named);
    match (name, &paths[..]) {
        ("bind", _) => own_socket(args),
        // Both folders change.
        ("rename" | "renameat" | "renameat2", [from, to]) => {
            vec![TraceEvent::Change(absolute(from)), TraceEvent::Change(absolute(to))]
        }
        // In a sandbox a link from one entry of `write` to another is a copy, which reads the file.
        ("link" | "linkat", [from, to]) => {
            vec![TraceEvent::Read(absolute(from)), TraceEvent::Change(absolute(to))]
        }
        (name, [.., last]) if CHANGES.contains(&name) => vec![TraceEvent::Change(absolute(last))],
        _ => file_event(name, args, result, &paths).into_iter().collect(),
    }
}

/// Returns what a call tells that gives a socket its name.
fn own_socket(args: &str) -> Vec<TraceEvent> {
    let Some((socket, address)) = args.split_once('{') else { return Vec::new() };
    let name = quoted(address).into_iter().next().map(|named| named.path);
    match name {
        Some(name) if address.contains("sun_path=\"") => {
            // A path that is not absolute is relative to a folder that is not said.
            let path = name.is_absolute().then_some(name);
            let change = path.clone().map(TraceEvent::Change);
            change.into_iter().chain([TraceEvent::OwnSocket(path)]).collect()
        }
        Some(_) if address.contains("sun_path=@") && !socket.contains("DGRAM") => {
            vec![TraceEvent::OwnSocket(None)]
        }
        _ => Vec::new(),
    }
}

/// Returns what a call tells that opens, truncates or runs one file.
fn file_event(name: &str, args: &str, result: &str, paths: &[QuotedPath]) -> Option<TraceEvent> {
    let first = || paths.first().map(|named| named.path.clone());
    match name {
        "open" | "openat" | "openat2" => {
            // What is only in memory was opened by another process, and has no path.
            let path = handle(result).or_else(first).filter(|_| !result.contains("</memfd:"))?;
            let is_change = args.contains("O_CREAT");
            let is_write = ["O_WRONLY", "O_RDWR", "O_TRUNC", "O_TMPFILE"]
                .iter()
                .any(|flag| args.contains(flag));
            Some(match (is_change, is_write) {
                (true, _) => TraceEvent::Change(path),
                (false, true) => TraceEvent::Write(path),
                (false, false) => TraceEvent::Read(path),
            })
        }
        // A path below /proc, such as /proc/self/exe, is a program that already runs; to us it would be another file.
        "execve" => first().filter(|path| !path.starts_with("/proc")).map(TraceEvent::Run),
        "truncate" => first().map(TraceEvent::Write),
        _ => None,
    }
}

/// A text in quotes, and where its first quote is among the arguments.
struct QuotedPath {
    at: usize,
    path: PathBuf,
}

/// Returns a path of a call; the argument before it may be the folder that it is relative to, as `AT_FDCWD</work>`.
fn absolute(args: &str, named: &QuotedPath) -> PathBuf {
    let before = args[..named.at].strip_suffix(">, ");
    match before.and_then(|before| before.rsplit_once("</")) {
        Some((_, folder)) => PathBuf::from(format!("/{folder}")).join(&named.path),
        None => named.path.clone(),
    }
}

/// The path in `3</etc/hosts>` or `3</dev/null<char 1:3>>`.
fn handle(result: &str) -> Option<PathBuf> {
    let (_, rest) = result.split_once('<')?;
    let end = rest.find("<char").or_else(|| rest.find("<block")).or_else(|| rest.rfind('>'))?;
    rest.starts_with('/').then(|| PathBuf::from(&rest[..end]))
}

fn connection(args: &str) -> Option<TraceEvent> {
    // The socket may have brackets, as `3<TCP:[10]>`.
    let (socket, args) = args.split_once('{')?;
    let is_datagram = socket.contains("UDP");
    if args.contains("sa_family=AF_UNIX") {
        let path = quoted(args).into_iter().next()?.path;
        return path.is_absolute().then_some(TraceEvent::Unix(path));
    }
    let port = args.split_once("_port=htons(")?.1.split(')').next()?.parse().ok()?;
    let address = quoted(args).into_iter().next()?.path.display().to_string();
    (!is_datagram && port != 0).then_some(TraceEvent::Connect { address, port })
}

/// The texts in quotes; `execve` has its arguments in brackets, which are left out.
fn quoted(args: &str) -> Vec<QuotedPath> {
    use std::os::unix::ffi::OsStringExt;

    let (mut texts, mut current, mut is_inside, mut at) = (Vec::new(), Vec::new(), false, 0);
    let mut bytes = args.bytes().enumerate().peekable();
    while let Some((index, byte)) = bytes.next() {
        match (byte, is_inside) {
            (b'[', false) => break,
            (b'"', true) => {
                let path = std::ffi::OsString::from_vec(std::mem::take(&mut current)).into();
                texts.push(QuotedPath { at, path });
                is_inside = false;
            }
            (b'"', false) => (is_inside, at) = (true, index),
            (b'\\', true) => {
                let mut code = 0_u32;
                let mut digits = 0;
                while digits < 3
                    && let Some((_, digit @ b'0'..=b'7')) = bytes.peek()
                {
                    code = code * 8 + u32::from(digit - b'0');
                    digits += 1;
                    bytes.next();
                }
                match digits {
                    0 => current.extend(bytes.next().map(|(_, byte)| byte)),
                    _ => current.push(u8::try_from(code).unwrap_or(b'?')),
                }
            }
            (byte, true) => current.push(byte),
            (_, false) => {}
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    // SB-2
    #[test]
    fn moving_and_linking_concern_two_folders() {
        use TraceEvent::{Change, Read};
        for line in [
            r#"rename("/from/a", "/to/b") = 0"#,
            r#"renameat(AT_FDCWD</from>, "a", 5</to>, "b") = 0"#,
            r#"renameat2(4</from>, "a", AT_FDCWD</work>, "/to/b", RENAME_NOREPLACE) = 0"#,
        ] {
            let expected = [Change("/from/a".into()), Change("/to/b".into())];
            assert_eq!(events(line), expected, "{line}");
        }
        let odd = r#"renameat(4</from>, "x</y>, ", AT_FDCWD</to>, "b") = 0"#;
        assert_eq!(events(odd), [Change("/from/x</y>, ".into()), Change("/to/b".into())]);
        for line in [
            r#"link("/from/a", "/to/b") = 0"#,
            r#"linkat(AT_FDCWD</from>, "a", 5</to>, "b", 0) = 0"#,
        ] {
            let expected = [Read("/from/a".into()), Change("/to/b".into())];
            assert_eq!(events(line), expected, "{line}");
        }
    }

    // SB-2
    #[test]
    fn lines_are_understood() {
        use TraceEvent::{Change, Connect, OwnSocket, Read, Run, Unix, Write};
        for (line, expected) in [
            (r#"openat(AT_FDCWD</w>, "a", O_RDONLY|O_CLOEXEC) = 3</w/a>"#, Read("/w/a".into())),
            (
                r#"openat(AT_FDCWD</w>, "/dev/null", O_RDWR) = 3</dev/null<char 1:3>>"#,
                Write("/dev/null".into()),
            ),
            (
                r#"openat(AT_FDCWD</w>, "b", O_WRONLY|O_CREAT, 0666) = 3</w/b>"#,
                Change("/w/b".into()),
            ),
            (r#"mkdirat(AT_FDCWD</w>, "d", 0777) = 0"#, Change("/w/d".into())),
            (r#"symlinkat("target", AT_FDCWD</w>, "link") = 0"#, Change("/w/link".into())),
            (r#"unlink("/w/\303\251 x") = 0"#, Change("/w/é x".into())),
            (
                r#"execve("/usr/bin/git", ["git", "log"], 0x7ffe /* 3 vars */) = 0"#,
                Run("/usr/bin/git".into()),
            ),
            (
                r#"connect(5<TCP:[10]>, {sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("1.2.3.4")}, 16) = -1 EINPROGRESS (x)"#,
                Connect { address: "1.2.3.4".to_owned(), port: 443 },
            ),
            (
                r#"connect(5<UNIX-STREAM:[9]>, {sa_family=AF_UNIX, sun_path="/run/x"}, 110) = 0"#,
                Unix("/run/x".into()),
            ),
        ] {
            assert_eq!(events(line), [expected], "{line}");
        }
        let named = r#"bind(5<UNIX-STREAM:[9]>, {sa_family=AF_UNIX, sun_path="/tmp/x"}, 110) = 0"#;
        let expected = [Change("/tmp/x".into()), OwnSocket(Some("/tmp/x".into()))];
        assert_eq!(events(named), expected);
        let unnamed = r#"bind(5<UNIX-STREAM:[9]>, {sa_family=AF_UNIX, sun_path=@"x"}, 110) = 0"#;
        assert_eq!(events(unnamed), [OwnSocket(None)]);
        for line in [
            r#"bind(5<UNIX-STREAM:[9]>, {sa_family=AF_UNIX, sun_path="/tmp/x"}, 110) = -1 EACCES (x)"#,
            r#"bind(5<TCP:[9]>, {sa_family=AF_INET, sin_port=htons(0), sin_addr=inet_addr("127.0.0.1")}, 16) = 0"#,
            r#"bind(5<UNIX-DGRAM:[9]>, {sa_family=AF_UNIX}, 2) = 0"#,
            r#"openat(AT_FDCWD</w>, "a", O_RDONLY) = -1 ENOENT (No such file or directory)"#,
            r#"connect(5<UDP:[9]>, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("1.1.1.1")}, 16) = 0"#,
            r#"execve("/proc/self/exe", ["/proc/self/exe", "--type=utility"], 0x7ffe /* 3 vars */) = 0"#,
            r#"openat(AT_FDCWD</w>, "/proc/self/fd/5", O_RDONLY) = 7</memfd:shared (deleted)>"#,
            "+++ exited with 0 +++",
        ] {
            assert_eq!(events(line), [], "{line}");
        }
    }
}
