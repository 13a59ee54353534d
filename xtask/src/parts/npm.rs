//! npm packages: `parts/NAME/package.json` and its lock file, installed to `.parts/NAME/node_modules`.

use std::fs;

use anyhow::{Context, Result, bail};

use super::stamp::Stamp;
use super::{TestPart, declaration};
use crate::shell::Run;

/// Installs the part's npm packages, if it has any and they are not installed yet.
pub(super) fn install(part: &TestPart) -> Result<()> {
    let Some(package) = declaration(part, "package.json")? else {
        return Ok(());
    };
    let Some(lock) = declaration(part, "package-lock.json")? else {
        bail!(
            "`parts/{0}/package.json` has no package-lock.json beside it; make and commit one: \
             (cd parts/{0} && npm install --package-lock-only --omit-lockfile-registry-resolved)",
            part.name
        );
    };
    // Packages with native code are built for one version of Node.js.
    let node = Run::new("node")
        .arguments(["--version"])
        .text()
        .context("npm packages need Node.js and npm")?;
    let stamp = Stamp::new(&part.installed.join("node_modules"), &[&node, &package, &lock]);
    if stamp.is_current() {
        return Ok(());
    }

    eprintln!("installing {} (npm)…", part.name);
    fs::create_dir_all(part.installed.join("node_modules"))?;
    fs::write(part.installed.join("package.json"), &package)?;
    fs::write(part.installed.join("package-lock.json"), &lock)?;
    // `npm ci` takes exactly what the lock file says, and starts by removing node_modules with its stamp.
    let ci = ["ci", "--no-audit", "--no-fund"];
    Run::new("npm").arguments(ci).within(&part.installed).quiet()?;
    // npm creates no folder if a package has no dependencies.
    fs::create_dir_all(part.installed.join("node_modules"))?;
    stamp.write()
}
