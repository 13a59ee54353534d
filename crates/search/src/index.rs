//! The index: built from all tools at once, then only read.

mod build;
mod search;

use std::collections::HashMap;

use crate::{
    document::ToolDocument, lexicon::Lexicon, names::NameWords, postings::Postings,
    vectors::Vectors,
};

/// Finds tools by what they do.
pub struct Index {
    lexicon: Lexicon,
    /// The stems of names, descriptions and parameters.
    words: Postings,
    /// The concepts of the thesaurus.
    concepts: Postings,
    /// What the texts mean.
    vectors: Vectors,
    /// The words of servers' names and instructions; its documents are servers.
    server_words: Postings,
    /// Each tool's name and server.
    tools: Vec<IndexedTool>,
    /// The position of each tool, by its name.
    documents: HashMap<Box<str>, u32>,
    /// The stems of servers' names.
    servers: Vec<Vec<u32>>,
    /// Whole names without separators, and initials, with the tools that have them.
    short_names: HashMap<String, Vec<u32>>,
    /// The words that names are made of.
    names: NameWords,
}

struct IndexedTool {
    name: Box<str>,
    server: u32,
}

/// A tool that fits a question.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchHit {
    /// The position of the tool's document.
    pub document: usize,
    /// How well it fits; only for comparison.
    pub score: f32,
}

impl Index {
    /// Builds the index. May take long (about 0.1 s per 1,000 tools): must not run on a serving thread if there are many.
    pub fn build(documents: &[ToolDocument<'_>]) -> Self {
        build::build(documents)
    }

    /// Returns the tools that fit, best first.
    pub fn search(&self, query: &str) -> Vec<SearchHit> {
        self.search_preferring(query, &[])
    }

    /// Like [`search`](Self::search); of tools that fit about as well, the `preferred` documents come first.
    pub fn search_preferring(&self, query: &str, preferred: &[usize]) -> Vec<SearchHit> {
        search::search(self, query, preferred)
    }

    /// Returns the document of the tool with this name.
    pub fn document(&self, name: &str) -> Option<usize> {
        self.documents.get(name).map(|document| *document as usize)
    }

    /// Returns the name of a document's tool.
    pub fn name(&self, document: usize) -> Option<&str> {
        self.tools.get(document).map(|tool| &*tool.name)
    }
}
