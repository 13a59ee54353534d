//! The comments that people wrote into a lock file: they stay when it is written again, above the table that they belong to.

use std::collections::BTreeMap;

use toml_edit::{Decor, DocumentMut, Item, Table};

/// The comments of a lock file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileComments {
    /// By the keys that lead to a table, such as `servers`, `files`, `tools`, `read_file`: the lines, each with its newline.
    tables: BTreeMap<Vec<String>, String>,
    /// Those after the last table.
    end: String,
}

impl FileComments {
    /// Returns the comments of a text; none if it is no TOML. `header` are the lines that every file begins with.
    pub(crate) fn of(text: &str, header: &str) -> Self {
        let Ok(document) = text.parse::<DocumentMut>() else { return Self::default() };
        let mut found = Self::default();
        found.collect(document.as_table(), &mut Vec::new());
        if let Some(top) = found.tables.get_mut(&Vec::new()) {
            let own = top.lines().filter(|line| !header.lines().any(|fixed| fixed == *line));
            let own: String = own.map(|line| format!("{line}\n")).collect();
            *top = own;
        }
        let end = document.trailing().as_str().unwrap_or_default();
        push(end, &mut found.end);
        found
    }

    /// Returns the comments of a table, which belong above it.
    pub(crate) fn above(&self, table: &[&str]) -> &str {
        let is_it = |(path, _): &(&Vec<String>, &String)| path.iter().eq(table);
        self.tables.iter().find(is_it).map(|(_, lines)| &**lines).unwrap_or_default()
    }

    /// The comments at the end of the file.
    pub(crate) fn end(&self) -> &str {
        &self.end
    }

    fn collect(&mut self, table: &Table, path: &mut Vec<String>) {
        let mut lines = String::new();
        push_all(table.decor(), &mut lines);
        for (name, item) in table {
            if let Some(key) = table.key(name) {
                push_all(key.leaf_decor(), &mut lines);
            }
            match item {
                Item::Table(inner) => {
                    path.push(name.to_owned());
                    self.collect(inner, path);
                    path.pop();
                }
                Item::Value(value) => push_all(value.decor(), &mut lines),
                Item::None | Item::ArrayOfTables(_) => {}
            }
        }
        if !lines.is_empty() {
            self.tables.insert(path.clone(), lines);
        }
    }
}

fn push_all(decor: &Decor, out: &mut String) {
    for text in [decor.prefix(), decor.suffix()].into_iter().flatten() {
        push(text.as_str().unwrap_or_default(), out);
    }
}

/// Appends the comments of what stands between two things.
fn push(text: &str, out: &mut String) {
    for line in text.lines().map(str::trim).filter(|line| line.starts_with('#')) {
        out.push_str(line);
        out.push('\n');
    }
}
