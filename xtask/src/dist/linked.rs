//! The crates that are linked into the program: what cargo knows of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::shell::{self, Run};

/// A crate that the program contains.
pub(super) struct LinkedCrate {
    pub(super) name: String,
    pub(super) version: String,
    /// In terms of SPDX; older crates write `/` for OR.
    pub(super) licence: String,
    pub(super) authors: Vec<String>,
    pub(super) folder: PathBuf,
    /// Whether it is one of this repository.
    pub(super) is_own: bool,
    /// The SHA-256 of its archive in the registry.
    pub(super) checksum: Option<String>,
    /// Name and version of the crates that it uses.
    pub(super) uses: BTreeSet<CrateKey>,
}

/// Name and version.
pub(super) type CrateKey = (String, String);

impl LinkedCrate {
    /// As package URLs name it.
    pub(super) fn url(&self) -> String {
        url(&(self.name.clone(), self.version.clone()))
    }
}

/// As package URLs name a crate.
pub(super) fn url((name, version): &CrateKey) -> String {
    format!("pkg:cargo/{name}@{version}")
}

/// Everything that is linked in for one of these targets, by name.
pub(super) fn crates(targets: &[String]) -> Result<Vec<LinkedCrate>> {
    let mut linked = BTreeSet::new();
    for target in targets {
        // Macros and build scripts run while the program is built, and are no part of it.
        let tree = ["tree", "--package", "switchboard", "--edges", "normal,no-proc-macro"];
        let only = ["--prefix", "none", "--format", "{p}", "--target", target];
        linked.extend(keys(&Run::cargo(tree).arguments(only).text()?));
    }
    let metadata = Run::cargo(["metadata", "--format-version", "1"]).text()?;
    let metadata: Value = serde_json::from_str(&metadata).context("cargo prints JSON")?;
    let lock = fs::read_to_string(shell::root().join("Cargo.lock"))?;
    let (checksums, uses) = (checksums(&lock), uses(&metadata));
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let described = packages.filter_map(|package| {
        let text = |field: &str| package[field].as_str().unwrap_or_default().to_owned();
        let key = (text("name"), text("version"));
        let authors = package["authors"].as_array().into_iter().flatten();
        linked.contains(&key).then(|| LinkedCrate {
            licence: text("license").replace('/', " OR "),
            authors: authors.filter_map(Value::as_str).map(str::to_owned).collect(),
            folder: PathBuf::from(text("manifest_path")).parent().unwrap_or(&PathBuf::new()).into(),
            is_own: package["source"].is_null(),
            checksum: checksums.get(&key).cloned(),
            uses: uses
                .get(&text("id"))
                .map(|uses| uses.intersection(&linked).cloned().collect())
                .unwrap_or_default(),
            name: key.0,
            version: key.1,
        })
    });
    let mut described: Vec<_> = described.collect();
    described.sort_by(|one, other| (&one.name, &one.version).cmp(&(&other.name, &other.version)));
    anyhow::ensure!(
        described.len() == linked.len(),
        "cargo describes {} of {} linked crates",
        described.len(),
        linked.len()
    );
    Ok(described)
}

/// The lines of `cargo tree`: `anyhow v1.0.104`, with more behind it for our own and for what was listed before.
fn keys(tree: &str) -> BTreeSet<CrateKey> {
    let key = |line: &str| {
        let mut words = line.split(' ');
        let name = words.next()?.to_owned();
        Some((name, words.next()?.strip_prefix('v')?.to_owned()))
    };
    tree.lines().filter_map(key).collect()
}

/// The checksums of Cargo.lock.
fn checksums(lock: &str) -> BTreeMap<CrateKey, String> {
    let field = |package: &str, name: &str| {
        let start = format!("{name} = \"");
        let line = package.lines().find_map(|line| line.strip_prefix(&start))?;
        Some(line.trim_end_matches('"').to_owned())
    };
    let packages = lock.split("[[package]]");
    let checksum = |package| {
        let key = (field(package, "name")?, field(package, "version")?);
        Some((key, field(package, "checksum")?))
    };
    packages.filter_map(checksum).collect()
}

/// Which crates each crate uses when it runs, by cargo's ids.
fn uses(metadata: &Value) -> BTreeMap<String, BTreeSet<CrateKey>> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let by_id: BTreeMap<String, CrateKey> = packages
        .map(|package| (text(&package["id"]), (text(&package["name"]), text(&package["version"]))))
        .collect();
    let nodes = metadata["resolve"]["nodes"].as_array().into_iter().flatten();
    let used = |node: &Value| {
        let uses = node["deps"].as_array().into_iter().flatten().filter(|used| {
            let kinds = used["dep_kinds"].as_array().into_iter().flatten();
            kinds.into_iter().any(|kind| kind["kind"].is_null())
        });
        let uses = uses.filter_map(|used| by_id.get(used["pkg"].as_str()?).cloned());
        (text(&node["id"]), uses.collect())
    };
    nodes.map(used).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str, version: &str) -> CrateKey {
        (name.to_owned(), version.to_owned())
    }

    #[test]
    fn trees_and_locks_are_read() {
        let tree = "switchboard v0.1.0 (/src/crates/app)\nanyhow v1.0.104\n\nring v0.17.14 (*)\n";
        let expected =
            [key("anyhow", "1.0.104"), key("ring", "0.17.14"), key("switchboard", "0.1.0")];
        assert_eq!(keys(tree), expected.into());
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"0f\"\n\n\
            [[package]]\nname = \"own\"\nversion = \"2.0.0\"\n";
        assert_eq!(checksums(lock), [(key("a", "1.0.0"), "0f".to_owned())].into());
    }
}
