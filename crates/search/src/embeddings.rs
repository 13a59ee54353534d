//! Word embeddings: a table within the program (`data/words.bin`, made by `data/distil.py`), read on first use.

use std::{collections::HashMap, sync::LazyLock};

/// How many numbers a vector has.
pub(crate) const DIMENSIONS: usize = 128;

/// No part of a word is longer, in bytes: the work per character is bounded.
const LONGEST: usize = 24;

static TABLE: LazyLock<Table> =
    LazyLock::new(|| Table::read(include_bytes!("../data/words.bin")).unwrap_or_default());

/// The vocabulary, and a vector for each entry of it.
#[derive(Default)]
struct Table {
    /// The numbers of words and of beginnings of words.
    beginnings: HashMap<&'static str, u32>,
    /// The numbers of what may follow them.
    continuations: HashMap<&'static str, u32>,
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
        let (mut beginnings, mut continuations) = (HashMap::new(), HashMap::new());
        for id in 0..u32::try_from(count).ok()? {
            let (length, rest) = bytes.split_first()?;
            let (text, rest) = rest.split_at_checked(usize::from(*length))?;
            let text = std::str::from_utf8(text).ok()?;
            match text.strip_prefix("##").filter(|text| !text.is_empty()) {
                Some(text) => continuations.insert(text, id),
                None => beginnings.insert(text, id),
            };
            bytes = rest;
        }
        let (scales, values) = bytes.split_at_checked(count * 4)?;
        (dimensions == DIMENSIONS && values.len() == count * DIMENSIONS).then_some(Self {
            beginnings,
            continuations,
            scales,
            values,
        })
    }

    /// Splits a word into the longest entries that it is made of, from left to right. Characters that no entry has are left out.
    fn split(&self, word: &str) -> Vec<u32> {
        let mut parts = Vec::new();
        let mut rest = word;
        while let Some(first) = rest.chars().next() {
            let entries =
                if rest.len() == word.len() { &self.beginnings } else { &self.continuations };
            let ends =
                (1..=rest.len().min(LONGEST)).rev().filter(|end| rest.is_char_boundary(*end));
            let longest = ends
                .map(|end| rest.split_at(end))
                .find_map(|(part, after)| entries.get(part).map(|entry| (*entry, after)));
            rest = match longest {
                Some((entry, after)) => {
                    parts.push(entry);
                    after
                }
                None => &rest[first.len_utf8()..],
            };
        }
        parts
    }

    /// Adds an entry's vector.
    fn add(&self, entry: u32, sum: &mut [f32]) {
        let entry = entry as usize;
        let scale = self.scales.get(entry * 4..).and_then(<[u8]>::first_chunk);
        let values = self.values.get(entry * DIMENSIONS..(entry + 1) * DIMENSIONS);
        let (Some(scale), Some(values)) = (scale, values) else { return };
        let scale = f32::from_le_bytes(*scale);
        for (sum, value) in sum.iter_mut().zip(values) {
            *sum += scale * f32::from(value.cast_signed());
        }
    }
}

/// Returns the vector of a word in lower case; zeros if the table knows no part of it.
pub(crate) fn vector(word: &str) -> Vec<f32> {
    let mut sum = vec![0.0; DIMENSIONS];
    for entry in TABLE.split(word) {
        TABLE.add(entry, &mut sum);
    }
    sum
}

/// Returns whether the table has the whole word, so that it is no typo.
pub(crate) fn is_word(word: &str) -> bool {
    TABLE.beginnings.contains_key(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(word: &str) -> Vec<String> {
        let begin = TABLE.beginnings.iter().map(|(text, at)| (*at, (*text).to_owned()));
        let rest = TABLE.continuations.iter().map(|(text, at)| (*at, format!("##{text}")));
        let texts: HashMap<u32, String> = begin.chain(rest).collect();
        TABLE.split(word).iter().map(|part| texts[part].clone()).collect()
    }

    #[test]
    fn words_are_split_into_the_longest_parts() {
        assert_eq!(parts("time"), ["time"]);
        assert!(is_word("time") && is_word("kubernetes") && !is_word("screnshot"));
        assert_eq!(parts("gatewayless"), ["gateway", "##less"]);
        assert_eq!(parts("\u{1F99C}time"), ["##time"], "what no entry has is left out");
        assert_eq!(vector("\u{1F99C}"), [0.0; DIMENSIONS]);
        assert!(parts(&"x".repeat(1000)).len() > 30);
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
