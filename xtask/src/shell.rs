//! Runs other programs from the repository's root, and says what runs and what went wrong.

use std::ffi::OsStr;
use std::fmt;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// A command line: what it does is visible, and it can be printed for a person to repeat.
pub(crate) struct Run {
    command: Command,
    /// Variables that belong to what a person would type.
    shown_environment: Vec<(String, String)>,
}

impl Run {
    /// A command that starts in the repository's root and reads nothing from the terminal.
    pub(crate) fn new(program: impl AsRef<OsStr>) -> Self {
        let mut command = Command::new(program);
        command.current_dir(root()).stdin(Stdio::null());
        // `cargo run` tells us about xtask's own package. Build scripts that watch those variables (ring's does)
        // would run again each time a person alternates between `cargo xtask` and plain `cargo`.
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
                command.env_remove(&name);
            }
        }
        Self { command, shown_environment: Vec::new() }
    }

    /// A `cargo` subcommand that resolves dependencies; in CI a stale `Cargo.lock` is an error instead of being mended.
    pub(crate) fn cargo<const N: usize>(arguments: [&str; N]) -> Self {
        let locked: &[&str] = if in_ci() { &["--locked"] } else { &[] };
        Self::new("cargo").arguments(arguments).arguments(locked)
    }

    pub(crate) fn arguments<S: AsRef<str>>(
        mut self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Self {
        for argument in arguments {
            self.command.arg(argument.as_ref());
        }
        self
    }

    pub(crate) fn within(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    pub(crate) fn environment(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self.shown_environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Runs to the end, with output going where ours goes.
    pub(crate) fn stream(&mut self) -> Result<()> {
        let status = self.command.status().with_context(|| self.failed_to_start())?;
        if !status.success() {
            bail!("`{self}` failed ({status})");
        }
        Ok(())
    }

    /// Runs to the end and shows the output only if it failed: installers print much even if all is well.
    pub(crate) fn quiet(&mut self) -> Result<()> {
        let output = self.output()?;
        if !output.status.success() {
            for printed in [&output.stdout, &output.stderr] {
                eprint!("{}", String::from_utf8_lossy(printed));
            }
            bail!("`{self}` failed ({}); its output is above", output.status);
        }
        Ok(())
    }

    /// Runs to the end and returns what it printed to stdout.
    pub(crate) fn text(&mut self) -> Result<String> {
        let output = self.output()?;
        if !output.status.success() {
            let reason = String::from_utf8_lossy(&output.stderr);
            bail!("`{self}` failed ({}): {}", output.status, reason.trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
    }

    /// Runs to the end; whatever the exit status, it is the caller's to judge.
    pub(crate) fn output(&mut self) -> Result<Output> {
        self.command.output().with_context(|| self.failed_to_start())
    }

    /// Whether it can be started and succeeds.
    pub(crate) fn succeeds(&mut self) -> bool {
        self.output().is_ok_and(|output| output.status.success())
    }

    fn failed_to_start(&self) -> String {
        let program = self.command.get_program().to_string_lossy();
        format!("failed to start `{program}` (is it installed and on the PATH?)")
    }
}

/// The command as a person would type it.
impl fmt::Display for Run {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.shown_environment {
            write!(formatter, "{name}={} ", quoted(value))?;
        }
        write!(formatter, "{}", self.command.get_program().to_string_lossy())?;
        for argument in self.command.get_args() {
            write!(formatter, " {}", quoted(&argument.to_string_lossy()))?;
        }
        Ok(())
    }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=/.:,@+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    // Cargo tells at run time; the path at build time serves when the binary is started by hand.
    let manifest =
        std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&manifest).parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// Whether this is CI's run, which mends nothing.
pub(crate) fn in_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| value == "true" || value == "1")
}

/// Returns how many gigabytes the disk of the repository has left; `None` if `df` does not say.
pub(crate) fn free_gb() -> Option<u64> {
    let printed = Run::new("df").arguments(["-Pk", "."]).text().ok()?;
    free_in(&printed)
}

/// Returns the fourth column of what `df -Pk` prints, in gigabytes.
fn free_in(printed: &str) -> Option<u64> {
    let kibibytes: u64 = printed.lines().nth(1)?.split_whitespace().nth(3)?.parse().ok()?;
    Some(kibibytes / 1_000_000)
}

/// Runs `work` and tells how long it took.
pub(crate) fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, Duration)> {
    #[expect(clippy::disallowed_methods, reason = "xtask is not async: there is no clock to pause")]
    let start = Instant::now();
    let value = work()?;
    Ok((value, start.elapsed()))
}

/// Bold on a terminal; headers go to stderr, as all progress does.
pub(crate) fn bold(text: &str) -> String {
    paint("1", text, io::stderr().is_terminal())
}

/// Red on a terminal, for stderr.
pub(crate) fn red(text: &str) -> String {
    paint("1;31", text, io::stderr().is_terminal())
}

/// Wraps `text` in an ANSI style if it is printed to a terminal.
pub(crate) fn paint(style: &str, text: &str, on_terminal: bool) -> String {
    let wanted = on_terminal && std::env::var_os("NO_COLOR").is_none();
    if wanted { format!("\u{1b}[{style}m{text}\u{1b}[0m") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_prints_as_a_person_would_type_it() {
        let run = Run::new("cargo")
            .arguments(["doc", "it's", ""])
            .environment("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(run.to_string(), r"RUSTDOCFLAGS='-D warnings' cargo doc 'it'\''s' ''");
    }

    #[test]
    fn the_room_on_the_disk_is_read_from_what_df_prints() {
        let printed = "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/vda 264212084 20621700 74664188 22% /";
        assert_eq!(free_in(printed), Some(74));
        assert_eq!(free_in("df: no such file"), None);
        assert!(free_gb().is_some());
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let error = Run::new("no-such-program").stream().unwrap_err();
        assert!(error.to_string().contains("`no-such-program`"), "{error}");
        assert!(!Run::new("no-such-program").succeeds());
    }

    #[test]
    fn a_failing_program_is_an_error_with_its_reason() {
        let error = Run::new("sh").arguments(["-c", "echo why >&2; exit 3"]).text().unwrap_err();
        assert!(error.to_string().ends_with("(exit status: 3): why"), "{error}");
    }
}
