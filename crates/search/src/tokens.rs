//! Counts tokens, for what definitions cost in a model's context.

use std::collections::HashMap;

use crate::embeddings;

/// Counts the tokens of texts, remembering the words that it has seen.
///
/// With the feature `embeddings` it splits as a Llama tokenizer does, else it takes four characters for a token.
#[derive(Default)]
pub struct TokenCounter {
    words: HashMap<String, usize>,
}

impl TokenCounter {
    /// Returns how many tokens the text has.
    pub fn count(&mut self, text: &str) -> usize {
        text.split_whitespace().map(|word| self.word(word)).sum()
    }

    fn word(&mut self, word: &str) -> usize {
        if let Some(count) = self.words.get(word) {
            return *count;
        }
        let count = embeddings::tokens(word).len();
        self.words.insert(word.to_owned(), count);
        count
    }
}
