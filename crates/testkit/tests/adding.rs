//! The walks of docs/adding.md have today's names: what their diffs add is in the files that they name.

use std::{fs, path::Path};

#[test]
fn the_diffs_of_the_walks_are_in_the_source() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("docs/adding.md")).expect("the page");
    let walks = page.split("\n## ").skip(1);
    // The provider of the walk was never merged.
    let merged = walks.filter(|walk| !walk.starts_with("A model provider"));
    let (mut source, mut checked) = (String::new(), 0);
    for line in merged.flat_map(|walk| walk.lines().skip_while(|line| *line != "```diff")) {
        if let Some(file) = line.strip_prefix("+++ b/") {
            source = fs::read_to_string(root.join(file)).unwrap_or_else(|_| panic!("no {file}"));
        } else if let Some(added) = line.strip_prefix('+') {
            assert!(source.contains(added.trim()), "`{added}` is not there any more");
            checked += 1;
        }
    }
    assert!(checked > 50, "only {checked} lines were found");
}
