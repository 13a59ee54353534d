//! What can be said of every block without running it.

use std::fs;

use crate::{
    cargo, commands,
    page::{self, Block, Kind},
    report, repository,
};

/// There is no block that nobody looks at: a new one runs as it is, or says how it is checked.
#[test]
fn every_block_is_understood() {
    let mut complaints = Vec::new();
    for page in page::all() {
        complaints.extend(page.complaints);
        for block in &page.blocks {
            let checked = block.kind().and_then(|kind| check(block, kind));
            complaints.extend(checked.err());
        }
    }
    report(&complaints);
}

fn check(block: &Block, kind: Kind) -> Result<(), String> {
    let place = &block.place;
    match (kind, &*block.language) {
        (Kind::Commands | Kind::Parsed, "sh" | "bash" | "console") => {
            let shown = commands::of(&block.language, &block.text);
            let shown = shown.map_err(|error| format!("{place}: {error}"))?;
            if shown.len() < block.notes.status.len() {
                return Err(format!("{place}: more exit statuses than commands"));
            }
            for shown in shown.iter().filter(|shown| cargo::is_only_checked(&shown.command)) {
                let command = &shown.command;
                cargo::check(command).map_err(|error| format!("{place}: `{command}`: {error}"))?;
            }
            Ok(())
        }
        (Kind::Parsed, "toml") => {
            let parsed = block.text.parse::<toml::Table>();
            parsed.map(drop).map_err(|error| format!("{place}: {error}"))
        }
        (Kind::Parsed, "json") => {
            let parsed = serde_json::from_str::<serde_json::Value>(&block.text);
            parsed.map(drop).map_err(|error| format!("{place}: {error}"))
        }
        (Kind::Excerpt, _) => check_excerpt(block),
        _ => Ok(()),
    }
}

/// Each line of the block stands in the file, in the same order.
fn check_excerpt(block: &Block) -> Result<(), String> {
    let file = block.notes.excerpt_of.as_deref().unwrap_or_default();
    let source = fs::read_to_string(repository().join(file));
    let source = source.map_err(|error| format!("{}: `{file}`: {error}", block.place))?;
    let source = source.lines().map(plain).collect::<String>().replace(",}", "}");
    let mut rest = &*source;
    for line in block.text.lines() {
        let line = plain(line).replace(",}", "}");
        let line = line.trim_end_matches(',');
        match rest.find(line) {
            Some(at) => rest = &rest[at + line.len()..],
            None => return Err(format!("{}: this line is not in {file}: {line}", block.place)),
        }
    }
    Ok(())
}

/// A line of code without spaces and comments: rustfmt breaks lines (and adds commas) where pages do not, and doc tests stand in
/// comments.
fn plain(line: &str) -> String {
    let code = line.trim_start().trim_start_matches(['/', '!']).split(" // ").next();
    code.unwrap_or_default().split_whitespace().collect()
}
