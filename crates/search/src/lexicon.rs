//! All words of the index, each analysed once.

use std::collections::HashMap;

use crate::{
    thesaurus::{Concept, Thesaurus},
    words::{self, WordForms},
};

/// The number of a word, as it is written.
pub(crate) type WordId = u32;

/// All words, with their stems and concepts.
pub(crate) struct Lexicon {
    forms: WordForms,
    thesaurus: Thesaurus,
    ids: HashMap<String, WordId>,
    words: Vec<Word>,
    /// The number of each stem.
    stems: HashMap<String, u32>,
}

/// An analysed word.
pub(crate) struct Word {
    /// As it is written, in lower case.
    pub(crate) text: String,
    pub(crate) stem: String,
    /// The number of its stem; `None` if it says nothing.
    pub(crate) term: Option<u32>,
    /// What it means in a tool's definition.
    pub(crate) concepts: Box<[Concept]>,
    /// What it means besides, in a question.
    pub(crate) asked_concepts: Box<[Concept]>,
}

impl Default for Lexicon {
    fn default() -> Self {
        let forms = WordForms::default();
        let thesaurus = Thesaurus::new(&forms);
        let (ids, stems) = (HashMap::new(), HashMap::new());
        Self { forms, thesaurus, ids, words: Vec::new(), stems }
    }
}

impl Lexicon {
    /// Returns the words of a text, at most `most`, adding those that are new.
    pub(crate) fn read(&mut self, text: &str, most: usize) -> Vec<WordId> {
        words::first(text, most).map(|word| self.id(word)).collect()
    }

    fn id(&mut self, text: String) -> WordId {
        if let Some(id) = self.ids.get(&text) {
            return *id;
        }
        let stem = self.forms.stem(&text);
        let next = self.stems.len() as u32;
        let is_stop_word = self.forms.is_stop_word(&text);
        let term = (!is_stop_word).then(|| *self.stems.entry(stem.clone()).or_insert(next));
        let concepts = self.thesaurus.of_tool_word(&stem).into();
        let id = self.words.len() as WordId;
        let asked_concepts = Box::default();
        self.words.push(Word { text: text.clone(), stem, term, concepts, asked_concepts });
        self.ids.insert(text, id);
        id
    }

    pub(crate) fn word(&self, id: WordId) -> &Word {
        &self.words[id as usize]
    }

    /// Returns the number of all words.
    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    /// Analyses a word of a question, which may be new.
    pub(crate) fn analyse(&self, text: &str) -> Word {
        let stem = self.forms.stem(text);
        let is_stop_word = self.is_stop_word(text);
        let term = self.stems.get(&stem).copied().filter(|_| !is_stop_word);
        let (concepts, asked_concepts) = self.thesaurus.of_question_word(&stem);
        let (concepts, asked_concepts) = (concepts.into(), asked_concepts.into());
        Word { text: text.to_owned(), stem, term, concepts, asked_concepts }
    }

    pub(crate) fn is_stop_word(&self, text: &str) -> bool {
        self.forms.is_stop_word(text)
    }

    /// Returns the concepts of the phrases in the stems of a tool's definition.
    pub(crate) fn tool_phrases(&self, stems: &[&str]) -> Vec<Concept> {
        self.thesaurus.tool_phrases(stems)
    }

    /// Returns the concepts of the phrases in the stems of a question.
    pub(crate) fn question_phrases(&self, stems: &[&str]) -> Vec<Concept> {
        self.thesaurus.question_phrases(stems)
    }
}
