//! Runs commands as a reader types them: in a folder of their own, with an empty home, and `switchboard` on the path.

use std::{
    fs,
    os::unix::{fs::symlink, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use crate::{commands::without_comment, repository};

/// How long the commands of one block may take together; parts of a busy machine take their time.
const LIMIT: Duration = Duration::from_secs(150);

/// What the commands of a block find in the shell.
const PRELUDE: &str = r#"
set -o pipefail
# An answer that is an error is a failure of the example.
curl() { command curl --fail-with-body "$@"; }
# A config that is found, not named, is trusted by the reader who wrote it.
ready() { if [ -f switchboard.toml ]; then switchboard trust . >/dev/null 2>&1; fi; }
# Another one of these commands takes the place of the one before.
stop() {
  [ -f "$RUNNING/$1" ] || return 0
  kill "$(cat "$RUNNING/$1")" 2>/dev/null
  while kill -0 "$(cat "$RUNNING/$1")" 2>/dev/null; do sleep 0.05; done
  rm "$RUNNING/$1"
}
# Waits until a command that runs on has said this.
said() {
  for _ in $(seq 600); do
    grep -qs -- "$3" "$1" && return
    kill -0 "$2" 2>/dev/null || return
    sleep 0.1
  done
}
"#;

/// The reader's shell.
pub(crate) struct Shell {
    folder: TempDir,
}

/// One command.
pub(crate) struct Step {
    pub(crate) command: String,
    /// The name under which it goes on, if it runs until it is stopped.
    pub(crate) runs_on: Option<&'static str>,
}

/// What became of a command.
pub(crate) struct CommandOutcome {
    pub(crate) status: i32,
    /// What it wrote to stdout and stderr, and may still write.
    output: PathBuf,
}

impl Step {
    pub(crate) fn new(command: &str) -> Self {
        Self { command: command.to_owned(), runs_on: None }
    }
}

impl CommandOutcome {
    pub(crate) fn output(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.output).unwrap_or_default()).into_owned()
    }
}

impl Shell {
    pub(crate) fn new() -> Self {
        let shell = Self { folder: tempfile::tempdir().unwrap() };
        for folder in ["work", "home", "bin", "runs", "running"] {
            fs::create_dir(shell.folder.path().join(folder)).unwrap();
        }
        symlink(env!("CARGO_BIN_EXE_switchboard"), shell.bin().join("switchboard")).unwrap();
        // The README's reader stands in the repository.
        symlink(repository().join("examples"), shell.work().join("examples")).unwrap();
        shell
    }

    /// The folder in which commands are run.
    pub(crate) fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// The folder of programs that are found first.
    pub(crate) fn bin(&self) -> PathBuf {
        self.folder.path().join("bin")
    }

    /// Writes a file into the folder, or adds to it.
    pub(crate) fn write(&self, name: &str, text: &str, is_appended: bool) {
        let home = self.folder.path().join("home");
        let file = match name.strip_prefix("~/") {
            Some(name) => home.join(name),
            None => self.work().join(name),
        };
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let before = match is_appended {
            true => fs::read_to_string(&file).unwrap_or_default() + "\n",
            false => String::new(),
        };
        fs::write(file, before + text).unwrap();
    }

    /// Runs commands one after the other in one shell.
    ///
    /// # Errors
    /// They took too long.
    pub(crate) fn run(&self, steps: &[&Step]) -> Result<Vec<CommandOutcome>, String> {
        let runs = tempfile::tempdir_in(self.folder.path().join("runs")).unwrap().keep();
        let mut script = PRELUDE.to_owned();
        for (index, step) in steps.iter().enumerate() {
            let (output, status) =
                (runs.join(format!("{index}.out")), runs.join(index.to_string()));
            let (output, status) = (output.display(), status.display());
            let command = &step.command;
            script += "ready\n";
            script += &match step.runs_on {
                None => format!("{{\n{command}\n}} >{output} 2>&1 </dev/null\n"),
                Some(name) => format!(
                    "stop {name}\n{} >{output} 2>&1 </dev/null &\necho $! >$RUNNING/{name}\n{}\ntrue\n",
                    without_comment(command),
                    match name {
                        // Nothing may have been called yet, and then there is nothing to say.
                        "follow" => "sleep 1".to_owned(),
                        "serve" => format!("said {output} $! http://"),
                        _ => format!("said {output} $! ''"),
                    },
                ),
            };
            script += &format!("echo $? >{status}\n");
        }
        let mut bash = self.bash(&script).spawn().unwrap();
        let is_over = wait(&mut bash, LIMIT);
        let ran = steps.iter().enumerate().map(|(index, _)| {
            let status = fs::read_to_string(runs.join(index.to_string())).unwrap_or_default();
            let output = runs.join(format!("{index}.out"));
            CommandOutcome { status: status.trim().parse().unwrap_or(-1), output }
        });
        let ran: Vec<_> = ran.collect();
        match (is_over, ran.iter().position(|ran| ran.status == -1)) {
            (false, Some(index)) => Err(format!(
                "not over within {LIMIT:?}: {}\n{}",
                steps[index].command,
                ran[index].output()
            )),
            _ => Ok(ran),
        }
    }

    fn bash(&self, script: &str) -> Command {
        let path = self.folder.path();
        let mut bash = Command::new("bash");
        bash.args(["-c", script]).current_dir(self.work()).env_clear();
        bash.env(
            "PATH",
            format!("{}:/usr/local/bin:/usr/bin:/bin:/usr/sbin", self.bin().display()),
        );
        bash.env("HOME", path.join("home")).env("RUNNING", path.join("running"));
        bash.env("LANG", "C.UTF-8").env("TMPDIR", path);
        bash.stdin(Stdio::null()).process_group(0);
        bash
    }

    /// Returns the names of commands that should still run, and do not.
    pub(crate) fn ended(&self) -> Vec<String> {
        let running = fs::read_dir(self.folder.path().join("running")).unwrap();
        let ended = running.filter_map(|entry| {
            let file = entry.unwrap().path();
            let pid = fs::read_to_string(&file).unwrap();
            if Path::new("/proc").join(pid.trim()).exists() {
                return None;
            }
            fs::remove_file(&file).unwrap();
            Some(file.file_name().unwrap().to_string_lossy().into_owned())
        });
        ended.collect()
    }
}

/// Waits until the process ends; one that takes too long is killed with all that it started.
fn wait(process: &mut Child, limit: Duration) -> bool {
    let began = Instant::now();
    while began.elapsed() < limit {
        if process.try_wait().unwrap().is_some() {
            return true;
        }
        thread::sleep(Duration::from_millis(20));
    }
    let group = format!("-{}", process.id());
    let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
    let _ = process.wait();
    false
}
