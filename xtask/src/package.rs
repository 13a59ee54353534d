//! Whether every published crate packages, and says what it is.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::shell::Run;

/// What a registry shows of a crate.
const FIELDS: [&str; 6] =
    ["description", "repository", "license", "readme", "keywords", "categories"];

/// Checks the metadata, then packages every crate without building it: all other steps show whether it builds.
pub(crate) fn check() -> Result<()> {
    let arguments = ["metadata", "--no-deps", "--format-version", "1"];
    let metadata = Run::cargo(arguments).text()?;
    let metadata: Value = serde_json::from_str(&metadata).context("cargo prints JSON")?;
    let packages: Vec<_> = metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        // `publish = false` is an empty list of registries.
        .filter(|package| package["publish"].is_null())
        .collect();
    let missing = missing(&packages);
    ensure!(missing.is_empty(), "{}", missing.join("\n"));
    let mut run = Run::cargo(["package", "--no-verify", "--allow-dirty", "--quiet"]);
    for package in &packages {
        run = run.arguments(["--package", package["name"].as_str().unwrap_or_default()]);
    }
    run.stream()
}

/// What crates do not say of themselves; a description that two crates share says nothing, either.
fn missing(packages: &[&Value]) -> Vec<String> {
    let mut missing = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        for field in FIELDS {
            let value = &package[field];
            if value.is_null() || value.as_array().is_some_and(Vec::is_empty) {
                missing.push(format!("{name} has no `{field}`"));
            }
        }
        let same = |other: &&&Value| other["description"] == package["description"];
        if packages.iter().filter(same).count() > 1 {
            missing.push(format!("{name} shares its `description` with another crate"));
        }
    }
    missing
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_crate_does_not_say_is_named() {
        let whole = json!({
            "name": "a", "description": "A.", "repository": "r", "license": "MIT", "readme": "README.md",
            "keywords": ["k"], "categories": ["c"],
        });
        assert!(missing(&[&whole]).is_empty());
        let mut bare = whole.clone();
        bare["name"] = json!("b");
        bare["keywords"] = json!([]);
        let texts = missing(&[&whole, &bare]);
        assert_eq!(texts.len(), 3, "{texts:?}");
        assert!(texts.contains(&"b has no `keywords`".to_owned()), "{texts:?}");
    }
}
