//! The history of typed lines, one per line of a file.

use std::{
    fs::{self, File},
    io::Write,
    path::PathBuf,
};

use switchboard_runtime::private_files;

/// How many lines are remembered.
const MOST: usize = 1000;

/// The file of the history; `None` if there is no folder for it.
pub(super) struct History(Option<PathBuf>);

impl History {
    pub(super) fn at(file: Option<PathBuf>) -> Self {
        Self(file)
    }

    /// Returns the lines, oldest first.
    pub(super) fn lines(&self) -> Vec<String> {
        let text = self.0.as_ref().and_then(|file| fs::read_to_string(file).ok());
        let text = text.unwrap_or_default();
        let all: Vec<_> = text.lines().map(unescaped).collect();
        all[all.len().saturating_sub(MOST)..].to_vec()
    }

    /// Adds a line; errors are ignored, because the chat works without a history.
    pub(super) fn add(&self, line: &str) {
        let Some(file) = &self.0 else { return };
        let written = file.parent().map_or(Ok(()), private_files::create_dir).and_then(|()| {
            let mut file = private_files::open(File::options().append(true).create(true), file)?;
            file.write_all(format!("{}\n", escaped(line)).as_bytes())
        });
        if let Err(error) = written {
            tracing::debug!("the history is not written: {error}");
        }
    }
}

/// Escapes line breaks: pasted text may have several lines.
fn escaped(line: &str) -> String {
    line.replace('\\', "\\\\").replace('\n', "\\n")
}

fn unescaped(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (letter, letter == '\\') {
            (_, true) => match letters.next() {
                Some('n') => text.push('\n'),
                Some(other) => text.push(other),
                None => {}
            },
            (letter, false) => text.push(letter),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back_as_they_were_typed() {
        let folder = tempfile::tempdir().unwrap();
        let history = History::at(Some(folder.path().join("deep/history")));
        let typed = ["plain", "two\nlines", r"C:\new \\ \", "ünï"];
        typed.iter().for_each(|line| history.add(line));
        assert_eq!(history.lines(), typed);
        (0..MOST).for_each(|number| history.add(&number.to_string()));
        let lines = history.lines();
        assert_eq!((lines.len(), lines[0].as_str(), lines[MOST - 1].as_str()), (MOST, "0", "999"));
    }
}
