//! The generated parts of a document, each between two lines that say so.

use anyhow::{Context, Result};

/// Puts `content` between the markers of the part `name`.
pub(super) fn replace(document: &str, name: &str, content: &str) -> Result<String> {
    let (start, end) = (start(name), end(name));
    let missing = |marker: &str| format!("docs/conformance.md has no line `{marker}`");
    let (before, rest) = document.split_once(&start).with_context(|| missing(&start))?;
    let (_, after) = rest.split_once(&end).with_context(|| missing(&end))?;
    Ok(format!("{before}{start}\n\n{}\n\n{end}{after}", content.trim_end()))
}

fn start(name: &str) -> String {
    format!("<!-- {name}: written by `cargo xtask conformance`, not by hand -->")
}

fn end(name: &str) -> String {
    format!("<!-- end of {name} -->")
}

/// The number of the first line that is not the same, if there is one.
pub(super) fn first_change(old: &str, new: &str) -> Option<usize> {
    if old == new {
        return None;
    }
    let same = old.lines().zip(new.lines()).take_while(|(old, new)| old == new).count();
    Some(same + 1)
}
