//! Estimates tokens, for what definitions cost in a model's context.

use std::collections::HashMap;

use crate::embeddings;

/// How many tokens of `o200k_base`, which OpenAI's models use, a hundred of ours are, in definitions of tools.
const OF_A_HUNDRED: usize = if cfg!(feature = "embeddings") { 83 } else { 100 };

/// Estimates the tokens of texts, remembering the words that it has seen.
///
/// With the feature `embeddings` it splits as a Llama tokenizer does and scales to `o200k_base`: of 1,101 real definitions, 95 % are less
/// than 12 % off, and all together 0.8 % (`recall/tokens.mjs`). Without it, four characters count as a token, which is up to 24 % off for 90 % of them.
#[derive(Default)]
pub struct TokenCounter {
    words: HashMap<String, usize>,
}

impl TokenCounter {
    /// Returns about how many tokens the text has.
    pub fn count(&mut self, text: &str) -> usize {
        let tokens: usize = text.split_whitespace().map(|word| self.word(word)).sum();
        (tokens * OF_A_HUNDRED).div_ceil(100)
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
