//! Word embeddings: a table within the program (`data/words.bin`, made by `data/quantise.py`), read on first use.

use std::{collections::HashMap, sync::LazyLock};

/// How many numbers a vector has.
pub(crate) const DIMENSIONS: usize = 128;

/// Byte `n` of a character that the vocabulary does not have is token `n + FIRST_BYTE`.
const FIRST_BYTE: u32 = 3;

/// No token is longer: longer texts are cut, so that the work per character is bounded.
const LONGEST: usize = 48;

static TABLE: LazyLock<Table> =
    LazyLock::new(|| Table::read(include_bytes!("../data/words.bin")).unwrap_or_default());

/// The vocabulary, and a vector for each of its tokens.
#[derive(Default)]
struct Table {
    tokens: HashMap<&'static str, u32>,
    scales: &'static [u8],
    values: &'static [u8],
}

impl Table {
    fn read(mut bytes: &'static [u8]) -> Option<Self> {
        let mut number = || {
            let (first, rest) = bytes.split_first_chunk()?;
            bytes = rest;
            usize::try_from(u32::from_le_bytes(*first)).ok()
        };
        let count = number()?;
        let dimensions = number()?;
        let mut tokens = HashMap::with_capacity(count);
        for id in 0..u32::try_from(count).ok()? {
            let (length, rest) = bytes.split_first()?;
            let (text, rest) = rest.split_at_checked(usize::from(*length))?;
            tokens.insert(std::str::from_utf8(text).ok()?, id);
            bytes = rest;
        }
        let (scales, values) = bytes.split_at_checked(count * 4)?;
        (dimensions == DIMENSIONS && values.len() == count * DIMENSIONS).then_some(Self {
            tokens,
            scales,
            values,
        })
    }

    /// Splits a text without spaces into tokens, as the table's tokenizer does: again and again, the two neighbours are
    /// joined whose token has the lowest number.
    fn split(&self, text: &str) -> Vec<u32> {
        let mut ends: Vec<usize> = text.char_indices().map(|(at, c)| at + c.len_utf8()).collect();
        loop {
            let begins = std::iter::once(0).chain(ends.iter().copied());
            let pairs = begins.zip(ends.iter().skip(1)).enumerate();
            let known = pairs.filter_map(|(at, (begin, end))| {
                self.tokens.get(&text[begin..*end]).map(|token| (*token, at))
            });
            match known.min() {
                Some((_, at)) => _ = ends.remove(at),
                None => break,
            }
        }
        let mut begin = 0;
        let mut tokens = Vec::with_capacity(ends.len());
        for end in ends {
            let part = &text[begin..end];
            match self.tokens.get(part) {
                Some(token) => tokens.push(*token),
                None => tokens.extend(part.bytes().map(|byte| u32::from(byte) + FIRST_BYTE)),
            }
            begin = end;
        }
        tokens
    }

    /// Adds a token's vector.
    fn add(&self, token: u32, sum: &mut [f32]) {
        let token = token as usize;
        let scale = self.scales.get(token * 4..).and_then(<[u8]>::first_chunk);
        let values = self.values.get(token * DIMENSIONS..(token + 1) * DIMENSIONS);
        let (Some(scale), Some(values)) = (scale, values) else { return };
        let scale = f32::from_le_bytes(*scale);
        for (sum, value) in sum.iter_mut().zip(values) {
            *sum += scale * f32::from(value.cast_signed());
        }
    }
}

/// Returns the vector of a word; zeros if the table knows no part of it.
pub(crate) fn vector(word: &str) -> Vec<f32> {
    let mut sum = vec![0.0; DIMENSIONS];
    // Single bytes of characters say nothing.
    for token in tokens(word).into_iter().filter(|token| *token >= FIRST_BYTE + 256) {
        TABLE.add(token, &mut sum);
    }
    sum
}

/// Returns whether the table has the whole word, so that it is no typo.
pub(crate) fn is_word(word: &str) -> bool {
    TABLE.tokens.contains_key(&*format!("\u{2581}{word}"))
}

/// Returns the tokens of a word, which begins after a space.
pub(crate) fn tokens(word: &str) -> Vec<u32> {
    let word = format!("\u{2581}{word}");
    let mut rest = &*word;
    let mut tokens = Vec::new();
    while let Some((at, _)) = rest.char_indices().nth(LONGEST) {
        let (part, after) = rest.split_at(at);
        tokens.extend(TABLE.split(part));
        rest = after;
    }
    tokens.extend(TABLE.split(rest));
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    // What `wordllama`'s own tokenizer gives.
    #[test]
    fn words_are_split_as_the_table_expects() {
        assert_eq!(tokens("time"), [931]);
        assert!(is_word("time") && !is_word("screnshot"));
        assert_eq!(tokens("screenshot"), [17286]);
        assert_eq!(tokens("spreadsheet"), [9677, 9855]);
        assert_eq!(tokens("\u{1F99C}").len(), 5, "four bytes behind the space");
    }

    #[test]
    fn close_words_have_close_vectors() {
        let cosine = |one: &str, other: &str| {
            let (one, other) = (vector(one), vector(other));
            let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
            dot(&one, &other) / (dot(&one, &one) * dot(&other, &other)).sqrt()
        };
        assert!(cosine("delete", "remove") > cosine("delete", "weather") + 0.2);
        assert!(cosine("picture", "image") > cosine("picture", "email") + 0.2);
    }
}
