//! A page of Markdown: its fenced blocks, each with the notes that stand before it.

use std::fs;

use crate::{notes::Notes, repository};

/// A page, by its path in the repository.
pub(crate) struct Page {
    pub(crate) path: String,
    pub(crate) blocks: Vec<Block>,
    /// What is wrong with the page itself: blocks that are not closed, notes that belong to none.
    pub(crate) complaints: Vec<String>,
}

/// A fenced block.
pub(crate) struct Block {
    /// `docs/scale.md:32`, the line of the opening fence.
    pub(crate) place: String,
    /// The line of the opening fence.
    line: usize,
    /// What stands after the fence: `sh`, `toml` …
    pub(crate) language: String,
    pub(crate) text: String,
    pub(crate) notes: Notes,
    /// Whether the page is among the doc tests of a crate.
    is_doc_test: bool,
}

/// What is done with a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Its commands are run.
    Commands,
    /// It is loaded as a config, by itself or with what the same file has already.
    Config,
    /// It becomes a file.
    File,
    /// It is compared with what a command prints.
    Output,
    /// Its lines stand in a file of the repository, which is compiled or run elsewhere.
    Excerpt,
    /// rustdoc compiles it: a crate has the page among its doc tests.
    DocTest,
    /// Only its syntax is looked at.
    Parsed,
}

impl Block {
    /// Returns the place of a line of the text, counted from 0: `docs/scale.md:33`.
    pub(crate) fn place_of(&self, offset: usize) -> String {
        let page = self.place.split(':').next().unwrap_or_default();
        format!("{page}:{}", self.line + 1 + offset)
    }

    /// Returns what is done with the block.
    ///
    /// # Errors
    /// Neither its language nor its notes say so: there is no default that ignores a block.
    pub(crate) fn kind(&self) -> Result<Kind, String> {
        let (notes, language) = (&self.notes, &*self.language);
        match language {
            _ if notes.parse.is_some() => Ok(Kind::Parsed),
            _ if notes.excerpt_of.is_some() => Ok(Kind::Excerpt),
            _ if notes.output.is_some() => Ok(Kind::Output),
            "toml" => Ok(Kind::Config),
            _ if notes.file.is_some() => Ok(Kind::File),
            "sh" | "bash" | "console" => Ok(Kind::Commands),
            _ if language.starts_with("rust") && self.is_doc_test => Ok(Kind::DocTest),
            _ => Err(format!(
                "{}: nothing says how this block of `{language}` is checked; write `<!-- test output: COMMAND -->`, \
                 `file: NAME` with `then: COMMAND`, `in: FILE` or `parse: REASON` before it (docs/writing.md)",
                self.place
            )),
        }
    }
}

/// Returns README.md and the pages of docs/ that tell readers what to do.
pub(crate) fn all() -> Vec<Page> {
    let mut names = vec!["README.md".to_owned()];
    let listed = fs::read_dir(repository().join("docs")).unwrap();
    for entry in listed {
        let name = entry.unwrap().file_name().into_string().unwrap();
        // spec.md is the contract, word for word as it was agreed: it takes no notes, and tells nobody to run anything.
        if name.ends_with(".md") && name != "spec.md" {
            names.push(format!("docs/{name}"));
        }
    }
    names.sort();
    names.iter().map(|name| read(name)).collect()
}

/// Reads a page of the repository.
pub(crate) fn read(path: &str) -> Page {
    let mut page = parse(path, &fs::read_to_string(repository().join(path)).unwrap());
    let is_doc_test = is_doc_test(path);
    page.blocks.iter_mut().for_each(|block| block.is_doc_test = is_doc_test);
    page
}

/// Returns whether a crate has the page among its doc tests: `#[doc = include_str!("…/docs/page.md")]`.
fn is_doc_test(path: &str) -> bool {
    let crates = fs::read_dir(repository().join("crates")).unwrap();
    let includes = |root: std::io::Result<String>| {
        root.is_ok_and(|text| {
            let mut lines = text.lines().map(str::trim);
            lines.any(|line| {
                line.starts_with("#[doc = include_str!(") && line.ends_with(&format!("/{path}\")]"))
            })
        })
    };
    crates
        .map(|found| found.unwrap().path().join("src/lib.rs"))
        .map(fs::read_to_string)
        .any(includes)
}

fn parse(path: &str, text: &str) -> Page {
    let mut page = Page { path: path.to_owned(), blocks: Vec::new(), complaints: Vec::new() };
    let mut lines = text.lines().enumerate().peekable();
    let mut pending: Option<(usize, Notes)> = None;
    while let Some((index, line)) = lines.next() {
        let place = format!("{path}:{}", index + 1);
        let trimmed = line.trim_start();
        if let Some(first) = trimmed.strip_prefix("<!-- test") {
            let mut comment = first.to_owned();
            while !comment.contains("-->") {
                let Some((_, next)) = lines.next() else { break };
                comment.push('\n');
                comment.push_str(next);
            }
            let notes = Notes::parse(comment.split("-->").next().unwrap_or_default());
            page.complaints.extend(notes.as_ref().err().map(|wrong| format!("{place}: {wrong}")));
            pending = Some((index, notes.unwrap_or_default()));
        } else if let Some(language) = trimmed.strip_prefix("```") {
            let indent = &line[..line.len() - trimmed.len()];
            let mut text = String::new();
            let is_closed = lines.by_ref().any(|(_, line)| {
                let line = line.strip_prefix(indent).unwrap_or(line);
                let closes = line.trim() == "```";
                if !closes {
                    text.push_str(line);
                    text.push('\n');
                }
                closes
            });
            if !is_closed {
                page.complaints.push(format!("{place}: this block is not closed"));
            }
            let notes = pending.take().map(|(_, notes)| notes).unwrap_or_default();
            let line = index + 1;
            page.blocks.push(Block {
                place,
                line,
                language: language.trim().to_owned(),
                text,
                notes,
                is_doc_test: false,
            });
        } else if !trimmed.is_empty()
            && let Some((index, _)) = pending.take()
        {
            page.complaints.push(format!("{path}:{}: no block follows this comment", index + 1));
        }
    }
    page
}

#[test]
fn blocks_have_places_languages_and_notes() {
    let text = "a\n\n<!-- test file: a.toml -->\n\n```toml\n[x]\n```\n\n- b\n\n  ```sh\n  one\n    two\n  ```\n";
    let page = parse("p.md", text);
    let seen: Vec<_> = page.blocks.iter().map(|b| (&*b.place, &*b.language, &*b.text)).collect();
    assert_eq!(seen, [("p.md:5", "toml", "[x]\n"), ("p.md:11", "sh", "one\n  two\n")]);
    assert_eq!(page.blocks[0].notes.file.as_ref().unwrap().name, "a.toml");
    assert_eq!(page.complaints, [""; 0]);
}

#[test]
fn what_nobody_understands_is_a_complaint() {
    let page =
        parse("p.md", "<!-- test file: x -->\ntext\n\n<!-- test play: x -->\n```klingon\nQapla\n");
    assert_eq!(page.complaints.len(), 3, "{:?}", page.complaints);
    assert!(page.complaints[0].starts_with("p.md:1: no block follows"), "{:?}", page.complaints);
    assert!(page.complaints[1].contains("`play`"), "{:?}", page.complaints);
    assert!(page.complaints[2].contains("not closed"), "{:?}", page.complaints);
    assert!(page.blocks[0].kind().unwrap_err().contains("`klingon`"));
    assert!(
        parse("p.md", "```rust\n```\n").blocks[0].kind().is_err(),
        "no crate has it as a doc test"
    );
}
