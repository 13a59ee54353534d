//! Links between pages: each leads to a file, and to a heading of it if it names one.

use std::{collections::BTreeSet, fs, path::Path};

use regex::Regex;

use crate::{page, report, repository};

/// Pages beside those of docs/ that people read.
const OTHERS: [&str; 4] = ["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"];

#[test]
fn every_link_leads_somewhere() {
    let pages = page::all().into_iter().map(|page| page.path);
    let pages = pages.chain(OTHERS.map(str::to_owned));
    let complaints: Vec<_> = pages.flat_map(|path| broken(&path, &read(&path))).collect();
    report(&complaints);
}

fn read(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap()
}

/// The links of a page that lead nowhere; addresses of the web are not looked at.
fn broken(path: &str, text: &str) -> Vec<String> {
    let link = Regex::new(r"\]\(([^)\s]+)\)").unwrap();
    let folder = Path::new(path).parent().unwrap();
    let mut complaints = Vec::new();
    for (index, line) in outside_of_blocks(text) {
        for found in link.captures_iter(line) {
            let target = &found[1];
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            if target.contains("://") {
                continue;
            }
            let file = if file.is_empty() { path.into() } else { folder.join(file) };
            let there = repository().join(&file);
            let place = format!("{path}:{}", index + 1);
            if !there.exists() {
                complaints.push(format!("{place}: there is no `{}`", file.display()));
            } else if !heading.is_empty()
                && !slugs(&fs::read_to_string(there).unwrap()).contains(heading)
            {
                complaints.push(format!("{place}: `{}` has no #{heading}", file.display()));
            }
        }
    }
    complaints
}

/// The lines with their numbers, without fenced blocks.
fn outside_of_blocks(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_block = false;
    text.lines().enumerate().filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_block ^= is_fence;
        !is_block && !is_fence
    })
}

/// The headings of a page as links name them: in lower case, spaces as `-`, without other signs.
fn slugs(text: &str) -> BTreeSet<String> {
    let headings = outside_of_blocks(text).filter(|(_, line)| line.starts_with('#'));
    let slug = |(_, line): (usize, &str)| {
        let kept = line.trim_start_matches('#').trim().to_lowercase();
        let kept = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(slug).collect()
}

#[test]
fn what_leads_nowhere_is_found() {
    let text = "# One `[two]`: 3\n\n[a](README.md#install) [b](docs/gone.md)\n[c](#one-two-3) [d](#two)\n```\n[e](x)\n```\n";
    let complaints = broken("p.md", text);
    // `p.md` itself is not there, so that its own headings cannot be looked for.
    assert_eq!(complaints.len(), 3, "{complaints:?}");
    assert!(complaints[0].contains("docs/gone.md"), "{complaints:?}");
    assert!(slugs(text).contains("one-two-3"));
    assert_eq!(broken("README.md", "[x](#no-such-heading)\n").len(), 1);
}
