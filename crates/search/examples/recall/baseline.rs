//! What simpler searches find, to compare with: counted substrings, and BM25 over plain words.

use std::collections::{HashMap, HashSet};

use switchboard_toolcall::ToolSpec;

use crate::set::{AnswerRanks, RecallSet};

/// BM25's usual weights.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// Returns where the answers of each question are if a tool counts for as many words of the question as its name and description
/// contain.
pub(crate) fn substrings(set: &RecallSet) -> Vec<AnswerRanks> {
    let text = |tool: &ToolSpec| format!("{} {}", tool.name, tool.description).to_lowercase();
    let texts: Vec<_> = set.tools.iter().map(text).collect();
    ranks(set, |question| {
        let words: HashSet<_> = words(question).into_iter().collect();
        let count = |text: &String| words.iter().filter(|word| text.contains(*word)).count() as f64;
        texts.iter().map(count).collect()
    })
}

/// Returns the same for BM25 over the words of name, description and parameters, as they are.
pub(crate) fn bm25(set: &RecallSet) -> Vec<AnswerRanks> {
    let text = |tool: &ToolSpec| {
        let words = words(&format!("{} {} {}", tool.name, tool.description, tool.parameters));
        words.into_iter().fold(HashMap::<_, f64>::new(), |mut counts, word| {
            *counts.entry(word).or_default() += 1.0;
            counts
        })
    };
    let texts: Vec<_> = set.tools.iter().map(text).collect();
    let lengths: Vec<f64> = texts.iter().map(|counts| counts.values().sum()).collect();
    let average = lengths.iter().sum::<f64>() / lengths.len() as f64;
    ranks(set, |question| {
        let mut scores = vec![0.0; texts.len()];
        for word in words(question) {
            let with = texts.iter().filter(|counts| counts.contains_key(&word)).count() as f64;
            let rarity = (1.0 + (texts.len() as f64 - with + 0.5) / (with + 0.5)).ln();
            for ((score, counts), length) in scores.iter_mut().zip(&texts).zip(&lengths) {
                let count = counts.get(&word).copied().unwrap_or_default();
                let norm = K1 * (1.0 - B + B * length / average);
                *score += rarity * count * (K1 + 1.0) / (count + norm);
            }
        }
        scores
    })
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// Returns where the answers of each question are. A tool without any score is not found.
fn ranks(set: &RecallSet, scores: impl Fn(&str) -> Vec<f64>) -> Vec<AnswerRanks> {
    let ranks = |(question, answers): &(String, Vec<String>)| {
        let scores = scores(question);
        let mut order: Vec<_> = (0..scores.len()).filter(|tool| scores[*tool] > 0.0).collect();
        order.sort_by(|one, other| scores[*other].total_cmp(&scores[*one]));
        let names = order.iter().map(|tool| &*set.tools[*tool].name);
        AnswerRanks::of(answers, &names.collect::<Vec<_>>())
    };
    set.questions.iter().map(ranks).collect()
}
