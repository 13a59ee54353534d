//! What the program is made of, for programs that look for known faults: CycloneDX 1.6, as JSON.

use std::fs;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{
    Release,
    linked::{self, LinkedCrate},
};
use crate::shell::Run;

/// The file's content.
pub(super) fn document(release: &Release, crates: &[LinkedCrate]) -> Result<String> {
    let own =
        crates.iter().find(|one| one.name == "switchboard").context("no crate `switchboard`")?;
    let mut program = component(own);
    program["type"] = "application".into();
    let others = crates.iter().filter(|one| one.name != own.name);
    let mut components: Vec<Value> = others.map(component).collect();
    components.extend(of_other_languages(crates)?);
    let dependencies = crates.iter().map(|one| {
        let uses: Vec<String> = one.uses.iter().map(linked::url).collect();
        json!({"ref": one.url(), "dependsOn": uses})
    });
    let document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"timestamp": release.date, "component": program},
        "components": components,
        "dependencies": dependencies.collect::<Vec<_>>(),
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn component(one: &LinkedCrate) -> Value {
    let mut component = json!({
        "type": "library",
        "bom-ref": one.url(),
        "name": one.name,
        "version": one.version,
        "purl": one.url(),
        "licenses": [{"expression": one.licence}],
    });
    if let Some(checksum) = &one.checksum {
        component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
    }
    component
}

/// What is linked in but is no crate of its own: Rust's library, and SQLite, which a crate brings as source.
fn of_other_languages(crates: &[LinkedCrate]) -> Result<Vec<Value>> {
    let rust = Run::new("rustc").arguments(["--version"]).text()?;
    let rust = rust.split(' ').nth(1).context("rustc names no version")?.to_owned();
    let mut found = vec![json!({
        "type": "library", "bom-ref": "rust-std", "name": "rust-std", "version": rust,
        "licenses": [{"expression": "MIT OR Apache-2.0"}],
    })];
    if let Some(bundled) = crates.iter().find(|one| one.name == "libsqlite3-sys") {
        let header = fs::read_to_string(bundled.folder.join("sqlite3/sqlite3.h"))?;
        let version = sqlite_version(&header).context("sqlite3.h names no version")?;
        found.push(json!({
            "type": "library", "bom-ref": "sqlite", "name": "sqlite", "version": version,
            "cpe": format!("cpe:2.3:a:sqlite:sqlite:{version}:*:*:*:*:*:*:*"),
            "licenses": [{"expression": "blessing"}],
        }));
    }
    Ok(found)
}

fn sqlite_version(header: &str) -> Option<&str> {
    let mut lines = header.lines().filter_map(|line| line.strip_prefix("#define SQLITE_VERSION "));
    Some(lines.next()?.trim().trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_sqlite_is_in_its_header() {
        let header = "#define SQLITE_X 1\n#define SQLITE_VERSION        \"3.50.2\"\n";
        assert_eq!(sqlite_version(header), Some("3.50.2"));
        assert_eq!(sqlite_version(""), None);
    }
}
