//! Rust programs whose dependencies the workspace does not share: `parts/NAME/Cargo.toml`, its lock file and `src`, built to
//! `.parts/NAME/target/debug`.

use std::fs;

use anyhow::{Context, Result, bail};

use super::stamp::Stamp;
use super::{TestPart, data, declaration};
use crate::shell::Run;

/// Builds the part's Rust program, if it has one and it is not built yet.
pub(super) fn install(part: &TestPart) -> Result<()> {
    let Some(package) = declaration(part, "Cargo.toml")? else {
        return Ok(());
    };
    let Some(lock) = declaration(part, "Cargo.lock")? else {
        bail!(
            "`parts/{0}/Cargo.toml` has no Cargo.lock beside it; make and commit one: \
             (cd parts/{0} && cp ../../Cargo.lock . && cargo update --workspace)",
            part.name
        );
    };
    // The toolchain of the workspace, whose folder it is in.
    let compiler = Run::new("rustc").within(&part.declared).arguments(["--version"]).text()?;
    let target = part.installed.join("target");
    let source = source(part)?;
    let stamp = Stamp::new(&target, &[&compiler, &package, &lock, &source]);
    if stamp.is_current() {
        return Ok(());
    }

    eprintln!("building {} (rust)…", part.name);
    let folder = target.to_str().context("the path is not UTF-8")?;
    // --locked: exactly the versions of the lock file, whose hashes cargo checks.
    let build = ["build", "--locked", "--target-dir", folder];
    Run::new("cargo").within(&part.declared).arguments(build).quiet()?;
    stamp.write()
}

/// Returns the text of all source files, each after its path.
fn source(part: &TestPart) -> Result<String> {
    let mut files = data::files_under(&part.declared.join("src"))?;
    files.sort();
    let mut whole = String::new();
    for file in files {
        let text = fs::read_to_string(&file)
            .with_context(|| format!("failed to read `{}`", file.display()))?;
        let name = file.strip_prefix(&part.declared)?.display();
        whole.push_str(&format!("{name}\n{text}"));
    }
    Ok(whole)
}
