//! Words that mean the same in the world of tools: `thesaurus.txt`.

use std::collections::HashMap;

use crate::words::WordForms;

/// The number of a concept: a line of the thesaurus.
pub(crate) type Concept = u32;

/// The concepts of words and phrases, by their stems.
pub(crate) struct Thesaurus {
    words: HashMap<String, Vec<Concept>>,
    /// Phrases, by their first stem.
    phrases: HashMap<String, Vec<Phrase>>,
}

/// The stems behind the first one, and what they mean.
struct Phrase {
    rest: Vec<String>,
    concept: Concept,
}

impl Thesaurus {
    pub(crate) fn new(forms: &WordForms) -> Self {
        let mut thesaurus = Self { words: HashMap::new(), phrases: HashMap::new() };
        let lines = include_str!("thesaurus.txt").lines();
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        for (concept, line) in (0..).zip(lines) {
            // Every second part is between quotes.
            for (at, part) in line.split('"').enumerate() {
                let mut stems = part.split_whitespace().map(|word| forms.stem(word));
                if at % 2 == 1 {
                    let Some(first) = stems.next() else { continue };
                    let phrase = Phrase { rest: stems.collect(), concept };
                    thesaurus.phrases.entry(first).or_default().push(phrase);
                    continue;
                }
                for stem in stems {
                    let concepts = thesaurus.words.entry(stem).or_default();
                    if !concepts.contains(&concept) {
                        concepts.push(concept);
                    }
                }
            }
        }
        thesaurus
    }

    /// Returns the concepts of a stem.
    pub(crate) fn of_word(&self, stem: &str) -> &[Concept] {
        self.words.get(stem).map_or(&[], Vec::as_slice)
    }

    /// Returns the concept of each phrase in a row of stems.
    pub(crate) fn phrases(&self, stems: &[&str]) -> Vec<Concept> {
        let mut found = Vec::new();
        for (at, first) in stems.iter().enumerate() {
            let rest = &stems[at + 1..];
            let phrases = self.phrases.get(*first).into_iter().flatten();
            let is_next = |phrase: &&Phrase| {
                phrase.rest.len() <= rest.len() && phrase.rest.iter().zip(rest).all(|(a, b)| a == b)
            };
            found.extend(phrases.filter(is_next).map(|phrase| phrase.concept));
        }
        found
    }
}
