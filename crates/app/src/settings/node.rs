//! A config as a tree that knows its lines, the same for all formats.

use serde_json::Number;

/// A value and the line on which it begins.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ConfigNode {
    pub(super) line: usize,
    pub(super) content: NodeContent,
}

/// The content of a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum NodeContent {
    Null,
    Bool(bool),
    /// With its digits as they were written.
    Number(Number),
    Text(String),
    List(Vec<ConfigNode>),
    /// In the order of the file; a key that is given twice is there twice.
    Table(Vec<(ConfigKey, ConfigNode)>),
}

/// The name of an entry and the line on which it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ConfigKey {
    pub(super) name: String,
    pub(super) line: usize,
}

impl ConfigNode {
    pub(super) fn new(line: usize, content: NodeContent) -> Self {
        Self { line, content }
    }

    /// The entry of this name, if the node is a table that has one.
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        let NodeContent::Table(entries) = &self.content else {
            return None;
        };
        entries.iter().find(|(key, _)| key.name == name).map(|(_, node)| node)
    }

    /// Whether the node is a table that says `enabled = false`.
    pub(super) fn is_switched_off(&self) -> bool {
        let NodeContent::Table(entries) = &self.content else {
            return false;
        };
        let is_off = |(key, value): &(ConfigKey, Self)| {
            key.name == "enabled" && value.content == NodeContent::Bool(false)
        };
        entries.iter().any(is_off)
    }

    /// The `name` that the node gives itself.
    pub(super) fn own_name(&self) -> Option<&str> {
        match &self.get("name")?.content {
            NodeContent::Text(name) => Some(name),
            _ => None,
        }
    }
}

/// Finds the lines of byte offsets in a text.
pub(super) struct LineIndex(Vec<usize>);

impl LineIndex {
    pub(super) fn of(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(offset, _)| offset).collect())
    }

    /// The line of the byte at `offset`, from 1.
    pub(super) fn at(&self, offset: usize) -> usize {
        self.0.partition_point(|newline| *newline < offset) + 1
    }
}
