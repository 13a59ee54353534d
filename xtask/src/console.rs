//! Checks the console's page, and takes its pictures again.
//!
//! What ships is what is in `crates/gateway/console`, as it was written; so types, lints and weight are all that can be
//! checked without a browser. The pictures are taken by the browser tests of `app`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::shell::{self, Run};
use crate::{parts, test};

const PAGE: &str = "crates/gateway/console";

/// The scripts of the page, and those that look at it in a browser.
const SCRIPTS: [&str; 2] =
    ["crates/gateway/console/**/*.{js,mjs}", "crates/app/tests/real/console/*.mjs"];

/// The variable with the folder in which the tests store pictures.
const PICTURES_VARIABLE: &str = "SWITCHBOARD_PICTURES";
const PICTURES: &str = "docs/console";

/// What all files of the page may weigh together, in bytes.
const MOST: u64 = 340_000;

/// Checks the page, then takes the pictures of the documentation.
pub(crate) fn run() -> Result<()> {
    check()?;
    let (parts, pictures) = (parts::install()?, shell::root().join(PICTURES));
    fs::create_dir_all(&pictures)
        .with_context(|| format!("failed to create `{}`", pictures.display()))?;
    let tests = ["test", "-p", "switchboard", "--features", "real-parts", "--test", "real"];
    Run::cargo(tests)
        .arguments(["--", "console::pictures"])
        .environment(test::PARTS_VARIABLE, text(&parts)?)
        .environment(PICTURES_VARIABLE, text(&pictures)?)
        .stream()
}

/// Fails if the page has a type error, a finding of the linter or the formatter, or is too large.
pub(crate) fn check() -> Result<()> {
    let programs = parts::install()?.join("console/node_modules/.bin");
    let page = shell::root().join(PAGE);
    Run::new(programs.join("tsc")).arguments(["--project", "."]).within(&page).stream()?;
    Run::new(programs.join("eslint")).arguments(["."]).within(&page).stream()?;
    let style = ["--config", "crates/gateway/console/.prettierrc.json", "--check"];
    Run::new(programs.join("prettier")).arguments(style).arguments(SCRIPTS).stream()?;
    let weight = weigh(&page)?;
    if weight > MOST {
        bail!("the files in `{PAGE}` weigh {weight} bytes together; {MOST} are allowed");
    }
    eprintln!("the console weighs {weight} bytes");
    Ok(())
}

/// The bytes of all files that are sent to browsers.
fn weigh(folder: &Path) -> Result<u64> {
    let mut weight = 0;
    for entry in
        fs::read_dir(folder).with_context(|| format!("failed to read `{}`", folder.display()))?
    {
        let entry = entry?;
        let path = entry.path();
        let is_sent = matches!(
            path.extension().and_then(|ending| ending.to_str()),
            Some("html" | "js" | "css" | "svg")
        );
        weight += match entry.file_type()?.is_dir() {
            true => weigh(&path)?,
            false if is_sent => entry.metadata()?.len(),
            false => 0,
        };
    }
    Ok(weight)
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().with_context(|| format!("the path `{}` is not UTF-8", path.display()))
}
