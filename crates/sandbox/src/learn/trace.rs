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
}

/// Calls with which a program changes an entry of a folder.
const CHANGES: [&str; 12] = [
    "creat",
    "mkdir",
    "mkdirat",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "rmdir",
    "link",
    "linkat",
    "symlink",
];

/// Returns what a line tells, if the call succeeded. A connection is told even if it has only begun.
pub(super) fn event(line: &str) -> Option<TraceEvent> {
    let (name, rest) = line.split_once('(')?;
    if name == "connect" {
        return connection(rest);
    }
    let (args, result) = rest.rsplit_once(" = ")?;
    if result.starts_with('-') || result.starts_with('?') {
        return None;
    }
    let paths = quoted(args);
    match name {
        "open" | "openat" | "openat2" => {
            let path = handle(result).or_else(|| paths.first().cloned())?;
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
        "execve" => paths.first().cloned().map(TraceEvent::Run),
        "truncate" => paths.first().cloned().map(TraceEvent::Write),
        "symlink" | "symlinkat" => absolute(args, paths.last()?).map(TraceEvent::Change),
        name if CHANGES.contains(&name) => absolute(args, paths.last()?).map(TraceEvent::Change),
        _ => None,
    }
}

/// A path of a call that names the folder that it is relative to, as `AT_FDCWD</work>`.
fn absolute(args: &str, path: &PathBuf) -> Option<PathBuf> {
    if path.is_absolute() {
        return Some(path.clone());
    }
    let folder = args.rsplit_once("</").map(|(_, rest)| rest.split('>').next());
    Some(match folder.flatten() {
        Some(folder) => PathBuf::from(format!("/{folder}")).join(path),
        None => path.clone(),
    })
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
        let path = quoted(args).into_iter().next()?;
        return path.is_absolute().then_some(TraceEvent::Unix(path));
    }
    let port = args.split_once("_port=htons(")?.1.split(')').next()?.parse().ok()?;
    let address = quoted(args).into_iter().next()?.display().to_string();
    (!is_datagram && port != 0).then_some(TraceEvent::Connect { address, port })
}

/// The texts in quotes; `execve` has its arguments in brackets, which are left out.
fn quoted(args: &str) -> Vec<PathBuf> {
    use std::os::unix::ffi::OsStringExt;

    let (mut texts, mut current, mut is_inside) = (Vec::new(), Vec::new(), false);
    let mut bytes = args.bytes().peekable();
    while let Some(byte) = bytes.next() {
        match (byte, is_inside) {
            (b'[', false) => break,
            (b'"', true) => {
                texts.push(PathBuf::from(std::ffi::OsString::from_vec(std::mem::take(
                    &mut current,
                ))));
                is_inside = false;
            }
            (b'"', false) => is_inside = true,
            (b'\\', true) => {
                let mut code = 0_u32;
                let mut digits = 0;
                while digits < 3
                    && let Some(digit @ b'0'..=b'7') = bytes.peek()
                {
                    code = code * 8 + u32::from(digit - b'0');
                    digits += 1;
                    bytes.next();
                }
                match digits {
                    0 => current.extend(bytes.next()),
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
    fn lines_are_understood() {
        use TraceEvent::{Change, Connect, Read, Run, Unix, Write};
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
            (r#"rename("/w/a", "/w/b") = 0"#, Change("/w/b".into())),
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
            assert_eq!(event(line), Some(expected), "{line}");
        }
        for line in [
            r#"openat(AT_FDCWD</w>, "a", O_RDONLY) = -1 ENOENT (No such file or directory)"#,
            r#"connect(5<UDP:[9]>, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("1.1.1.1")}, 16) = 0"#,
            "+++ exited with 0 +++",
        ] {
            assert_eq!(event(line), None, "{line}");
        }
    }
}
