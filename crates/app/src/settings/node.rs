//! A config as a tree that knows its lines, whatever format it was written in.

use serde_json::Number;

/// A value and the line on which it begins.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) line: usize,
    pub(super) content: Content,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Content {
    Null,
    Bool(bool),
    /// With its digits as they were written.
    Number(Number),
    Text(String),
    List(Vec<Node>),
    /// In the order of the file; a key that is given twice is there twice.
    Table(Vec<(Key, Node)>),
}

/// The name of an entry and the line on which it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Key {
    pub(super) name: String,
    pub(super) line: usize,
}

impl Node {
    pub(super) fn new(line: usize, content: Content) -> Self {
        Self { line, content }
    }

    /// The entry of this name, where the node is a table that has one.
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        let Content::Table(entries) = &self.content else {
            return None;
        };
        entries.iter().find(|(key, _)| key.name == name).map(|(_, node)| node)
    }

    /// Whether the node is a table that says `enabled = false`.
    pub(super) fn is_switched_off(&self) -> bool {
        let Content::Table(entries) = &self.content else {
            return false;
        };
        let is_off = |(key, value): &(Key, Self)| {
            key.name == "enabled" && value.content == Content::Bool(false)
        };
        entries.iter().any(is_off)
    }

    /// The `name` that the node gives itself.
    pub(super) fn own_name(&self) -> Option<&str> {
        match &self.get("name")?.content {
            Content::Text(name) => Some(name),
            _ => None,
        }
    }
}

/// Finds the lines of byte offsets in a text.
pub(super) struct Lines(Vec<usize>);

impl Lines {
    pub(super) fn of(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(offset, _)| offset).collect())
    }

    /// The line of the byte at `offset`, from 1.
    pub(super) fn at(&self, offset: usize) -> usize {
        self.0.partition_point(|newline| *newline < offset) + 1
    }
}
