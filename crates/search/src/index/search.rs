//! Answers a question from an index.

use std::collections::HashSet;

use super::{Index, SearchHit};
use crate::{
    embeddings,
    lexicon::Word,
    postings::{Postings, rarity},
    typos,
    vectors::VectorSum,
    words,
};

// What each part of the score weighs, beside the cosine of the vectors, which is at most 1. Chosen on the set in
// `recall/own`; `cargo xtask recall` prints what they find.
const WORD: f32 = 0.02;
const CONCEPT: f32 = 0.07;
const STOP_WORD_CONCEPT: f32 = 0.05;
const PHRASE: f32 = 0.06;
const NAME: f32 = 0.45;
const SERVER_NAME: f32 = 0.4;
const SERVER_WORD: f32 = 0.02;
const SHORT_NAME: f32 = 2.0;
const PREFERRED: f32 = 0.05;
/// What a word that was corrected counts.
const CORRECTED: f32 = 0.7;
/// How close a tool's vector is to the question's if no word is common to both and it is found nevertheless.
const CLOSE: f32 = 0.3;
/// A word that may mean several things says less of each: its number of concepts to the power of this.
const AMBIGUITY: f32 = 0.3;
/// How many words of a question are read.
const MOST_WORDS: usize = 64;
/// How many words of a question are corrected.
const MOST_CORRECTED: usize = 4;

pub(super) fn search(index: &Index, query: &str, preferred: &[usize]) -> Vec<SearchHit> {
    let texts: Vec<_> = words::first(query, MOST_WORDS).collect();
    let asked: Vec<Word> = texts.iter().map(|text| index.lexicon.analyse(text)).collect();
    let mut scores = Scores::new(index.tools.len());
    let mut names = index.names.coverage();
    for word in &asked {
        let is_stop_word = index.lexicon.is_stop_word(&word.text);
        scores.add(&index.words, word.term, WORD);
        scores.add_concepts(index, word, if is_stop_word { STOP_WORD_CONCEPT } else { CONCEPT });
        names.add(word, is_stop_word, 1.0);
    }
    let stems: Vec<_> = asked.iter().map(|word| &*word.stem).collect();
    for concept in index.lexicon.question_phrases(&stems) {
        scores.add(&index.concepts, Some(concept), PHRASE);
        names.add_phrase(concept);
    }
    for word in corrected(index, &asked) {
        scores.add(&index.words, word.term, WORD * CORRECTED);
        scores.add_concepts(index, &word, CONCEPT * CORRECTED);
        names.add(&word, false, CORRECTED);
    }
    for (sum, covered) in scores.sums.iter_mut().zip(names.of_tools()) {
        *sum += NAME * covered;
    }
    for tool in index.short_names.get(&texts.concat()).into_iter().flatten() {
        scores.sums[*tool as usize] += SHORT_NAME;
    }
    let of_servers = server_scores(index, &asked);
    let cosines = cosines(index, &asked);
    let found = scores.sums.iter().enumerate().filter_map(|(document, &common)| {
        let cosine = cosines.get(document).copied().unwrap_or_default();
        let server = of_servers[index.tools[document].server as usize];
        (common > 0.0 || server > 0.0 || cosine > CLOSE)
            .then_some(SearchHit { document, score: common + server + cosine })
    });
    let mut found: Vec<_> = found.collect();
    if !preferred.is_empty() {
        let preferred: HashSet<usize> = preferred.iter().copied().collect();
        for one in found.iter_mut().filter(|found| preferred.contains(&found.document)) {
            one.score += PREFERRED;
        }
    }
    // A stable sort keeps the tools' own order among equals.
    found.sort_by(|one, other| other.score.total_cmp(&one.score));
    found
}

/// The scores of all tools.
struct Scores {
    sums: Vec<f32>,
    best: Vec<f32>,
}

impl Scores {
    fn new(tools: usize) -> Self {
        Self { sums: vec![0.0; tools], best: vec![0.0; tools] }
    }

    fn add(&mut self, postings: &Postings, term: Option<u32>, weight: f32) {
        let scores = term.map_or(&[][..], |term| postings.scores(term));
        for (tool, score) in scores {
            self.sums[*tool as usize] += weight * score;
        }
    }

    /// Adds the best of a word's concepts: one with several meanings counts once.
    fn add_concepts(&mut self, index: &Index, word: &Word, weight: f32) {
        let all = || word.concepts.iter().chain(&word.asked_concepts);
        let weight = weight / (all().count().max(1) as f32).powf(AMBIGUITY);
        let scores = || all().flat_map(|concept| index.concepts.scores(*concept));
        for (tool, score) in scores() {
            let best = &mut self.best[*tool as usize];
            *best = best.max(*score);
        }
        for (tool, _) in scores() {
            let best = std::mem::take(&mut self.best[*tool as usize]);
            self.sums[*tool as usize] += weight * best;
        }
    }
}

/// Returns the words that misspelt ones may stand for.
fn corrected(index: &Index, asked: &[Word]) -> Vec<Word> {
    let is_odd = |word: &&Word| {
        word.term.is_none()
            && word.concepts.is_empty()
            && word.asked_concepts.is_empty()
            && !index.lexicon.is_stop_word(&word.text)
            && !embeddings::is_word(&word.text)
    };
    let odd = asked.iter().filter(is_odd).take(MOST_CORRECTED);
    odd.flat_map(|word| typos::close(&word.text, index.names.texts()))
        .map(|text| index.lexicon.analyse(text))
        .collect()
}

/// Returns what each server adds to the scores of its tools.
fn server_scores(index: &Index, asked: &[Word]) -> Vec<f32> {
    let terms = || asked.iter().filter_map(|word| word.term);
    let is_named = |stems: &Vec<u32>| terms().any(|term| stems.contains(&term));
    let named = index.servers.iter().map(|stems| if is_named(stems) { SERVER_NAME } else { 0.0 });
    let mut scores: Vec<f32> = named.collect();
    for term in terms() {
        for (server, score) in index.server_words.scores(term) {
            scores[*server as usize] += SERVER_WORD * score;
        }
    }
    scores
}

/// Returns how close each tool's vector is to the question's.
fn cosines(index: &Index, asked: &[Word]) -> Vec<f32> {
    let mut sum = VectorSum::default();
    for word in asked.iter().filter(|word| !index.lexicon.is_stop_word(&word.text)) {
        let known = word.term.and_then(|term| index.words.rarity(term));
        let weight = known.unwrap_or_else(|| rarity(index.tools.len() as f32, 0)).sqrt();
        sum.add(&embeddings::vector(&word.text), weight);
    }
    index.vectors.cosines(&sum).collect()
}
