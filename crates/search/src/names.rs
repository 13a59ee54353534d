//! How much of a tool's name a question asks for.

use std::collections::HashMap;

use crate::{
    lexicon::{Lexicon, Word, WordId},
    thesaurus::Concept,
};

// How well a question's word covers a word of a name: the same word, the same concept, or what people mean by it.
const SAME: f32 = 1.0;
const CONCEPT: f32 = 0.8;
const ASKED_CONCEPT: f32 = 0.6;
/// What a stop word of a question covers, compared with others.
const STOP_WORD: f32 = 0.5;
/// What a stop word of a name weighs.
const STOP_WORD_WEIGHT: f32 = 0.5;

/// The words that names and titles are made of.
#[derive(Default)]
pub(crate) struct NameWords {
    texts: Vec<String>,
    /// How much each word says.
    weights: Vec<f32>,
    stems: HashMap<String, Vec<u32>>,
    concepts: HashMap<Concept, Vec<u32>>,
    /// The words of each tool.
    of_tools: Vec<Box<[u32]>>,
}

impl NameWords {
    /// Reads the words of all names; `rarity` is how much a term says.
    pub(crate) fn new<'a>(
        names: impl Iterator<Item = [&'a [WordId]; 2]>,
        lexicon: &Lexicon,
        rarity: impl Fn(u32) -> f32,
    ) -> Self {
        let mut this = Self::default();
        let mut known = HashMap::new();
        for name in names {
            let mut words: Vec<u32> = Vec::new();
            for id in name.into_iter().flatten() {
                let word =
                    *known.entry(*id).or_insert_with(|| this.add(lexicon.word(*id), &rarity));
                if !words.contains(&word) {
                    words.push(word);
                }
            }
            this.of_tools.push(words.into());
        }
        this
    }

    fn add(&mut self, word: &Word, rarity: impl Fn(u32) -> f32) -> u32 {
        let at = self.texts.len() as u32;
        self.texts.push(word.text.clone());
        self.weights.push(word.term.map_or(STOP_WORD_WEIGHT, rarity));
        self.stems.entry(word.stem.clone()).or_default().push(at);
        for concept in &word.concepts {
            self.concepts.entry(*concept).or_default().push(at);
        }
        at
    }

    /// Returns the words as they are written, for typos.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(String::as_str)
    }

    /// Begins to look for the words of a question.
    pub(crate) fn coverage(&self) -> NameCoverage<'_> {
        NameCoverage { names: self, covered: vec![0.0; self.texts.len()] }
    }
}

/// Which words of names a question asks for, and how surely.
pub(crate) struct NameCoverage<'a> {
    names: &'a NameWords,
    covered: Vec<f32>,
}

impl NameCoverage<'_> {
    /// Adds a word of the question, which counts this much.
    pub(crate) fn add(&mut self, word: &Word, is_stop_word: bool, weight: f32) {
        let weight = if is_stop_word { weight * STOP_WORD } else { weight };
        let names = self.names;
        self.raise(names.stems.get(&word.stem), SAME * weight);
        for concept in &word.concepts {
            self.raise(names.concepts.get(concept), CONCEPT * weight);
        }
        for concept in &word.asked_concepts {
            self.raise(names.concepts.get(concept), ASKED_CONCEPT * weight);
        }
    }

    /// Adds the concept of a phrase in the question.
    pub(crate) fn add_phrase(&mut self, concept: Concept) {
        let words = self.names.concepts.get(&concept);
        self.raise(words, CONCEPT);
    }

    fn raise(&mut self, words: Option<&Vec<u32>>, least: f32) {
        for word in words.into_iter().flatten() {
            let covered = &mut self.covered[*word as usize];
            *covered = covered.max(least);
        }
    }

    /// Returns how much of each tool's name is covered: 1 if all of it is.
    pub(crate) fn of_tools(&self) -> impl Iterator<Item = f32> {
        self.names.of_tools.iter().map(|words| {
            let weight = |word: &u32| self.names.weights[*word as usize];
            let covered: f32 =
                words.iter().map(|word| weight(word) * self.covered[*word as usize]).sum();
            let all: f32 = words.iter().map(weight).sum();
            if all > 0.0 { covered / all } else { 0.0 }
        })
    }
}
