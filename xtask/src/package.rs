//! Whether every published crate packages, says what it is, and shows how it is used.

use std::fs;

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
    let mut missing = missing(&packages);
    missing.extend(without_example(&packages)?);
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

/// Returns a line for each library without an example at its root. That of a program is nobody's to use.
fn without_example(packages: &[&Value]) -> Result<Vec<String>> {
    let mut missing = Vec::new();
    for package in packages {
        let targets = || package["targets"].as_array().into_iter().flatten();
        let is = |target: &Value, kind: &str| target["kind"][0] == kind;
        let Some(library) = targets().find(|target| is(target, "lib")) else { continue };
        if targets().any(|target| is(target, "bin")) {
            continue;
        }
        let path = library["src_path"].as_str().unwrap_or_default();
        let root = fs::read_to_string(path).with_context(|| format!("failed to read {path}"))?;
        if !has_example(&root) {
            let name = package["name"].as_str().unwrap_or_default();
            missing.push(format!("{name} has no example in the docs of its root"));
        }
    }
    Ok(missing)
}

/// Returns whether the docs at the root of a crate have an example that is compiled.
fn has_example(root: &str) -> bool {
    let fences = root.lines().filter_map(|line| line.strip_prefix("//! ```"));
    // Every second fence ends a block.
    fences.step_by(2).any(|language| ["", "no_run", "rust"].contains(&language))
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

    #[test]
    fn an_example_that_is_not_compiled_is_none() {
        assert!(has_example("//! A.\n//!\n//! ```\n//! a();\n//! ```\n"));
        assert!(has_example("//! ```no_run\n//! a();\n//! ```\n"));
        assert!(!has_example("//! A.\nmod a;\n"));
        assert!(!has_example("//! ```text\n//! a -> b\n//! ```\n"));
    }
}
