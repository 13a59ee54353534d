//! Starting, living and dying badly.

use std::{
    env,
    fs::File,
    io::{self, Write},
    os::unix::process::CommandExt,
    path::Path,
    process::{self, Command},
    thread,
    time::Duration,
};

use crate::modes::Modes;

/// Set in the environment of the process that already ignores SIGTERM.
const STUBBORN: &str = "MISBEHAVING_SERVER_STUBBORN";

pub(crate) fn start(modes: &Modes) -> io::Result<()> {
    if modes.has("ignores-sigterm") && env::var_os(STUBBORN).is_none() {
        return Err(start_stubborn()?);
    }
    if let Some(milliseconds) = modes.number("slow-start", 500) {
        thread::sleep(Duration::from_millis(milliseconds));
    }
    for number in 1..=modes.number("stderr-lines", 10).unwrap_or_default() {
        eprintln!("line {number}");
    }
    if modes.has("stderr-long-line") {
        eprintln!("{}\nafter", "x".repeat(1_000_000));
    }
    if let Some(file) = modes.text("spawns-grandchild") {
        spawn_grandchild(file)?;
    }
    if modes.has("dies-at-start") {
        eprintln!("fatal: the device is not there");
        process::exit(1);
    }
    if let Some(file) = modes.text("reads-when") {
        while !Path::new(file).exists() {
            thread::sleep(Duration::from_millis(10));
        }
    }
    Ok(())
}

/// Becomes itself again with SIGTERM ignored; a shell does that without unsafe code. Returns only if it failed.
fn start_stubborn() -> io::Result<io::Error> {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "trap '' TERM; exec \"$0\" \"$@\""]).arg(env::current_exe()?);
    Ok(shell.args(env::args_os().skip(1)).env(STUBBORN, "1").exec())
}

fn spawn_grandchild(file: &str) -> io::Result<()> {
    let script = "trap '' TERM HUP INT; echo $$ > \"$0.part\"; mv \"$0.part\" \"$0\"; while :; do sleep 1; done";
    let mut grandchild = Command::new("/bin/sh").args(["-c", script, file]).spawn()?;
    // Nobody waits for it, as with what `npx` starts.
    thread::spawn(move || grandchild.wait());
    Ok(())
}

pub(crate) fn log_input(modes: &Modes, line: &str) -> io::Result<()> {
    let Some(file) = modes.text("logs-input") else { return Ok(()) };
    let mut file = File::options().create(true).append(true).open(file)?;
    file.write_all(format!("{line}\n").as_bytes())
}

/// Whether the method is to be answered at all; some are not survived.
pub(crate) fn survives(modes: &Modes, method: &str) -> io::Result<bool> {
    match method {
        "server/discover" if modes.has("dies-on-discover") => process::exit(1),
        "server/discover" if modes.has("silent-on-discover") => Ok(false),
        "initialize" if modes.has("dies-on-initialize") => process::exit(1),
        "tools/call" if modes.has("exits-on-call") => process::exit(3),
        "tools/call" if modes.has("never-answers-tools-call") => Ok(false),
        "tools/call" if modes.has("closes-stdout") => {
            let nothing = File::options().write(true).open("/dev/null")?;
            rustix::stdio::dup2_stdout(nothing)?;
            Ok(false)
        }
        _ => Ok(true),
    }
}

pub(crate) fn after_answer(modes: &Modes, answered: u64) {
    if modes.number("exits-after", 1).is_some_and(|limit| answered >= limit) {
        process::exit(3);
    }
}

pub(crate) fn input_ended(modes: &Modes) {
    while modes.has("ignores-stdin-end") {
        thread::sleep(Duration::from_secs(1));
    }
}
