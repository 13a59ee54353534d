//! Has the functions that a start and a call pass through lie side by side in the released program.
//!
//! The system brings a program into memory sixteen pages at a time. Functions that lie scattered among megabytes of
//! others hold all of these there, and each call fetches its code from everywhere. `crates/app/layout.ld` tells the linker
//! which ones belong together; this task writes it, from what valgrind sees.

mod script;

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result, ensure};

use crate::{
    program,
    shell::{Run, bold, root},
    workload::{self, Crowd, Way},
};

/// Few calls, for under valgrind each takes long.
const CROWD: Crowd = Crowd { clients: 4, calls: 100, ways: Way::MOST };

/// Builds the program, watches it at work, and writes down what it passed through.
pub(crate) fn run() -> Result<()> {
    let is_there = Run::new("valgrind").arguments(["--version"]).succeeds();
    ensure!(is_there, "valgrind is missing: install it (Debian: `apt install valgrind`)");
    eprintln!("{}", bold("Building the program as it is released"));
    let program = program::build(&[])?;
    let symbols = Run::new("nm").arguments(["-n", "--defined-only"]);
    let symbols = symbols.arguments([program.to_string_lossy()]).text()?;
    eprintln!("{}", bold("Watching it start and serve"));
    let profile = observe(&program, &root().join("target/layout"))?;
    let (functions, calls) = (script::functions(&symbols), script::calls(&profile));
    let script = script::write(&functions, &calls, CROWD.of_a_way());
    let count = script.matches(".text.unlikely.").count();
    let path = root().join("crates/app/layout.ld");
    fs::write(&path, script).with_context(|| format!("failed to write {}", path.display()))?;
    eprintln!(
        "{count} functions are named in crates/app/layout.ld; the next release build heeds them."
    );
    Ok(())
}

/// Runs the program in `folder` under callgrind; returns the profile, with the compiler's own names.
fn observe(program: &Path, folder: &Path) -> Result<String> {
    let mut watched = Command::new("valgrind");
    watched
        .args(["--tool=callgrind", "--demangle=no", "--callgrind-out-file=profile"])
        .arg(program);
    workload::run(&mut watched, &mut Command::new(program), folder, &[CROWD])?;
    let path = folder.join("profile");
    fs::read_to_string(&path).with_context(|| format!("valgrind left no {}", path.display()))
}
