//! The walks of docs/adding.md have today's names: what their diffs add is in the files that they name.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The provider that the walk of a provider is compared with: one that is merged.
const MERGED_PROVIDER: &str = "crates/models/src/provider/openai";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page() -> String {
    fs::read_to_string(root().join("docs/adding.md")).expect("the page")
}

#[test]
fn the_diffs_of_the_walks_are_in_the_source() {
    let page = page();
    let walks = page.split("\n## ").skip(1);
    // The provider of the walk was never merged; the tests below check it.
    let merged = walks.filter(|walk| !walk.starts_with("A model provider"));
    let (mut source, mut checked) = (String::new(), 0);
    for line in merged.flat_map(|walk| walk.lines().skip_while(|line| *line != "```diff")) {
        if let Some(file) = line.strip_prefix("+++ b/") {
            source = fs::read_to_string(root().join(file)).unwrap_or_else(|_| panic!("no {file}"));
        } else if let Some(added) = line.strip_prefix('+') {
            assert!(source.contains(added.trim()), "`{added}` is not there any more");
            checked += 1;
        }
    }
    assert!(checked > 50, "only {checked} lines were found");
}

#[test]
fn the_provider_of_the_walk_has_the_fields_and_types_of_a_merged_one() {
    let page = page();
    let (_, walk) = page.split_once("\n## A model provider").expect("the walk");
    let (walk, _) = walk.split_once("\n## ").expect("a walk follows");
    let (_, diff) = walk.split_once("```diff\n").expect("the diff");
    let added: Vec<_> = diff.lines().filter_map(|line| line.strip_prefix('+')).collect();
    let added = added.join("\n");
    let mut merged = fs::read_to_string(root().join(format!("{MERGED_PROVIDER}.rs")))
        .expect("the provider's description");
    assert_eq!(info_fields(&added), info_fields(&merged), "the fields of `INFO`");

    for file in ["client.rs", "convert.rs", "wire.rs"] {
        let path = root().join(MERGED_PROVIDER).join(file);
        merged.push_str(&fs::read_to_string(path).expect("siblings have the same files"));
    }
    // `Lines` is Ollama's framing.
    let known = |name: &str| name.contains("Toy") || name == "Lines" || merged.contains(name);
    let unknown: Vec<_> = types(&added).into_iter().filter(|name| !known(name)).collect();
    assert!(unknown.is_empty(), "no merged provider has {unknown:?}");
}

/// Returns the fields of the provider's `INFO`, in order.
fn info_fields(source: &str) -> Vec<&str> {
    let (_, fields) = source.split_once("INFO: ProviderInfo = ProviderInfo {\n").expect("`INFO`");
    let (fields, _) = fields.split_once("\n};").expect("its end");
    let own_lines = fields.lines().filter_map(|line| line.strip_prefix("    "));
    own_lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, _)| name)
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'))
        .collect()
}

/// Returns the words in camel case outside of comments and strings.
fn types(source: &str) -> Vec<&str> {
    let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
    let outside_of_strings = code.flat_map(|line| line.split('"').step_by(2));
    let words = outside_of_strings.flat_map(|code| code.split(|c: char| !c.is_alphanumeric()));
    words
        .filter(|word| word.starts_with(|c: char| c.is_ascii_uppercase()))
        .filter(|word| word.contains(|c: char| c.is_ascii_lowercase()))
        .collect()
}
