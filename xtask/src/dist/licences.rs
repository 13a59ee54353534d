//! The licences of everything that is linked in, with their texts, which have to be distributed with the program.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result, bail};

use super::linked::LinkedCrate;
use crate::shell;

const LINE: &str =
    "--------------------------------------------------------------------------------";

/// The file's content: each text once, with the crates that it stands for.
pub(super) fn document(crates: &[LinkedCrate], musl: Option<&str>) -> Result<String> {
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut names = String::new();
    for one in crates.iter().filter(|one| !one.is_own) {
        let named = format!("{} {}", one.name, one.version);
        names += &format!("{named}: {}\n", one.licence);
        let found = texts_of(&one.folder)
            .with_context(|| format!("failed to read the licences of `{named}`"))?;
        let found = if found.is_empty() { usual_texts(one)? } else { found };
        for text in found {
            texts.entry(text).or_default().push(named.clone());
        }
    }
    if let Some(text) = musl {
        names += "musl, the C library: MIT\n";
        texts.entry(text.to_owned()).or_default().push("musl".to_owned());
    }
    let mut document = format!(
        "Switchboard contains the following crates, and Rust's standard library (MIT OR Apache-2.0).\n\
         NOTICE says more about those that ask for more. The texts follow.\n\n{names}"
    );
    for (text, holders) in texts {
        document += &format!("\n{LINE}\n{}\n{LINE}\n\n{}\n", holders.join("\n"), text.trim_end());
    }
    Ok(document)
}

/// The files of a crate that hold licences and notices.
fn texts_of(folder: &Path) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        let is_text = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"]
            .iter()
            .any(|start| name.starts_with(start));
        if is_text && path.is_file() {
            texts.push(String::from_utf8_lossy(&fs::read(&path)?).replace("\r\n", "\n"));
        }
    }
    texts.sort();
    Ok(texts)
}

/// The text for a crate that brings none: its archive lacks the file of its repository.
fn usual_texts(one: &LinkedCrate) -> Result<Vec<String>> {
    let whose = match one.authors.is_empty() {
        true => format!("the authors of {}", one.name),
        false => one.authors.join(", "),
    };
    let choices: Vec<_> =
        one.licence.split(" OR ").map(|choice| choice.trim_matches(['(', ')', ' '])).collect();
    let text = |file: &str| fs::read_to_string(shell::root().join(file));
    if choices.contains(&"MIT") {
        let text = text("LICENSE-MIT")?;
        let lines = text.lines().map(|line| match line.starts_with("Copyright") {
            true => format!("Copyright (c) {whose}"),
            false => line.to_owned(),
        });
        return Ok(vec![lines.collect::<Vec<_>>().join("\n")]);
    }
    if choices.contains(&"Apache-2.0") {
        return Ok(vec![format!("Copyright {whose}\n\n{}", text("LICENSE-APACHE")?)]);
    }
    // `cargo xtask deny` sees to it that NOTICE has what the others demand.
    let notice = text("NOTICE")?;
    match notice.lines().any(|line| line == one.name) {
        true => Ok(Vec::new()),
        false => {
            bail!("`{}` ({}) has no text of its licence, nor has NOTICE", one.name, one.licence)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn bare(licence: &str) -> LinkedCrate {
        LinkedCrate {
            name: "nobody-has-it".to_owned(),
            version: "1.0.0".to_owned(),
            licence: licence.to_owned(),
            authors: vec!["Ada".to_owned()],
            // Has no licence of its own.
            folder: shell::root().join("xtask/src"),
            is_own: false,
            checksum: None,
            uses: BTreeSet::new(),
        }
    }

    #[test]
    fn a_crate_without_a_text_gets_the_usual_one_or_is_refused() {
        let mit = document(&[bare("MIT OR Apache-2.0")], Some("Rich")).unwrap();
        assert!(mit.contains("musl, the C library: MIT\n") && mit.contains("\nRich\n"), "{mit}");
        assert!(mit.contains("nobody-has-it 1.0.0: MIT OR Apache-2.0\n"), "{mit}");
        assert!(mit.contains("\nCopyright (c) Ada\n") && mit.contains("Permission is hereby"));
        assert!(document(&[bare("Apache-2.0")], None).unwrap().contains("Apache License"));
        let refused = document(&[bare("BSD-3-Clause")], None).unwrap_err().to_string();
        assert!(refused.contains("has no text of its licence"), "{refused}");
    }

    #[test]
    fn the_same_text_stands_once() {
        let both = document(&[bare("MIT"), bare("MIT")], None).unwrap();
        assert_eq!(both.matches("Permission is hereby").count(), 1, "{both}");
    }
}
