//! Compares the requirement ids of docs/spec.md with those that tests name in comments (`// EX-3, VA-1`).
//!
//! Ids that no test names yet are information. An id that the spec does not have is an error: a typing mistake, or a
//! requirement that is gone.

mod contract;
mod mentions;
mod report;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};

use self::contract::{Contract, Id};
use self::mentions::SourceLocation;
use crate::shell::{self, Run};

/// Prints the comparison.
pub(crate) fn run(json: bool) -> Result<()> {
    let comparison = SpecComparison::read()?;
    let mut stdout = io::stdout();
    let written = if json {
        writeln!(stdout, "{:#}", report::json(&comparison))
    } else {
        write!(stdout, "{}", report::text(&comparison, stdout.is_terminal()))
    };
    // A reader that has seen enough, such as `head`, is no error.
    written.or_else(
        |error| {
            if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) }
        },
    )?;
    comparison.judge()
}

/// Prints one line, and fails if the code names ids that do not exist.
pub(crate) fn check() -> Result<()> {
    let comparison = SpecComparison::read()?;
    eprintln!("{}", report::summary(&comparison));
    comparison.judge()
}

/// The contract, and where the code names its ids.
struct SpecComparison {
    contract: Contract,
    /// Where tests name each id of the contract that they do name.
    named: BTreeMap<Id, Vec<SourceLocation>>,
    /// Where the code, tests or not, names ids that the contract does not have.
    unknown: BTreeMap<Id, Vec<SourceLocation>>,
}

impl SpecComparison {
    fn read() -> Result<Self> {
        let path = shell::root().join("docs/spec.md");
        let text = fs::read_to_string(&path)
            .with_context(|| format!("failed to read `{}`", path.display()))?;
        let contract = Contract::parse(&text);
        if contract.ids().next().is_none() {
            bail!("`{}` has no requirement, such as `- EX-1 Given a name …`", path.display());
        }
        let mut comparison = Self { contract, named: BTreeMap::new(), unknown: BTreeMap::new() };
        for file in files()? {
            comparison.add(&file)?;
        }
        Ok(comparison)
    }

    fn add(&mut self, file: &str) -> Result<()> {
        let path = shell::root().join(file);
        // git also lists what is deleted but not yet committed.
        if !path.exists() {
            return Ok(());
        }
        let text = fs::read_to_string(&path).with_context(|| format!("failed to read `{file}`"))?;
        for mention in mentions::scan(file, &text, &self.contract) {
            let place = SourceLocation { file: file.to_owned(), line: mention.line };
            if !self.contract.has(&mention.id) {
                self.unknown.entry(mention.id).or_default().push(place);
            } else if mention.in_test {
                self.named.entry(mention.id).or_default().push(place);
            }
        }
        Ok(())
    }

    fn judge(&self) -> Result<()> {
        if self.unknown.is_empty() {
            return Ok(());
        }
        let lines: Vec<String> =
            self.unknown.iter().map(|(id, places)| report::line(id, places)).collect();
        bail!("the code names ids that docs/spec.md does not have:\n{}", lines.join("\n"));
    }
}

/// The files that may name ids: tracked or new, but not ignored; relative to the root.
fn files() -> Result<Vec<String>> {
    let list = ["ls-files", "-co", "--exclude-standard", "--", "*.rs", "*.mjs", "*.py"];
    let list = Run::new("git").arguments(list).text()?;
    // xtask's own tests are full of ids that prove nothing about Switchboard.
    let is_ours = |file: &&str| !Path::new(file).starts_with("xtask");
    Ok(list
        .lines()
        .filter(is_ours)
        .filter(|file| mentions::may_name(file))
        .map(str::to_owned)
        .collect())
}
