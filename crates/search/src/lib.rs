//! Finds tools by what they do, without a service and without a model.
//!
//! An [`Index`] ranks tools by five things: the words of their names, descriptions and parameters (BM25), words that mean
//! the same in the world of tools (`thesaurus.txt`), how much of a tool's name the question asks for, word embeddings (feature `embeddings`, a table within the program that
//! is read on first use), and the server that the question names. It is built at once from all tools and never changes;
//! whoever holds it builds a new one if the tools have changed.
//!
//! ```
//! use serde_json::json;
//! use switchboard_search::{ToolDocument, Index};
//! use switchboard_toolcall::ToolSpec;
//!
//! let clock = ToolSpec::new("get_current_time", "Tells the time in a place", json!({"type": "object"}));
//! let lamp = ToolSpec::new("lamp_on", "Switches a lamp on", json!({"type": "object"}));
//! let index = Index::build(&[ToolDocument::new("clock", &clock), ToolDocument::new("lamp", &lamp)]);
//! assert_eq!(index.search("how late is it, what does the clock say")[0].document, 0);
//! ```

mod document;
mod words;
mod thesaurus;
mod postings;
mod typos;
#[cfg_attr(not(feature = "embeddings"), path = "no_embeddings.rs")]
mod embeddings;
mod vectors;
mod lexicon;
mod names;
mod index;
mod tokens;

pub use document::ToolDocument;
pub use index::{Index, SearchHit};
pub use tokens::estimate_tokens;
