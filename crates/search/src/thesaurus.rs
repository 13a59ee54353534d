//! Words that mean the same in the world of tools: `thesaurus.txt`.

use std::collections::HashMap;

use crate::words::WordForms;

/// The number of a concept: a line of the thesaurus.
pub(crate) type Concept = u32;

/// How many words a star in a phrase stands for at most.
const MOST_BETWEEN: usize = 3;

/// The concepts of words and phrases, by their stems.
pub(crate) struct Thesaurus {
    /// What tools and questions mean by a word.
    tools: Meanings,
    /// What a word means in questions only.
    questions: Meanings,
}

/// The concepts of words and phrases on one side of the colon.
#[derive(Default)]
struct Meanings {
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
        let (mut tools, mut questions) = (Meanings::default(), Meanings::default());
        let lines = include_str!("thesaurus.txt").lines();
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        for (concept, line) in (0..).zip(lines) {
            let (both, only_questions) = line.split_once(':').unwrap_or((line, ""));
            tools.read(both, concept, forms);
            questions.read(only_questions, concept, forms);
        }
        Self { tools, questions }
    }

    /// Returns the concepts of a stem in a tool's definition.
    pub(crate) fn of_tool_word(&self, stem: &str) -> &[Concept] {
        self.tools.of_word(stem)
    }

    /// Returns the concepts of a stem in a question: first those that it has in tools as well.
    pub(crate) fn of_question_word(&self, stem: &str) -> (&[Concept], &[Concept]) {
        (self.tools.of_word(stem), self.questions.of_word(stem))
    }

    /// Returns the concept of each phrase in the stems of a tool's definition.
    pub(crate) fn tool_phrases(&self, stems: &[&str]) -> Vec<Concept> {
        self.tools.of_phrases(stems)
    }

    /// Returns the concept of each phrase in the stems of a question.
    pub(crate) fn question_phrases(&self, stems: &[&str]) -> Vec<Concept> {
        let mut found = self.tools.of_phrases(stems);
        found.extend(self.questions.of_phrases(stems));
        found
    }
}

impl Meanings {
    fn read(&mut self, line: &str, concept: Concept, forms: &WordForms) {
        // Every second part is between quotes.
        for (at, part) in line.split('"').enumerate() {
            let mut stems = part.split_whitespace().map(|word| forms.stem(word));
            if at % 2 == 1 {
                let Some(first) = stems.next() else { continue };
                let phrase = Phrase { rest: stems.collect(), concept };
                self.phrases.entry(first).or_default().push(phrase);
                continue;
            }
            for stem in stems {
                let concepts = self.words.entry(stem).or_default();
                if !concepts.contains(&concept) {
                    concepts.push(concept);
                }
            }
        }
    }

    fn of_word(&self, stem: &str) -> &[Concept] {
        self.words.get(stem).map_or(&[], Vec::as_slice)
    }

    fn of_phrases(&self, stems: &[&str]) -> Vec<Concept> {
        let mut found = Vec::new();
        for (at, first) in stems.iter().enumerate() {
            let phrases = self.phrases.get(*first).into_iter().flatten();
            let is_next = |phrase: &&Phrase| begins(&stems[at + 1..], &phrase.rest);
            found.extend(phrases.filter(is_next).map(|phrase| phrase.concept));
        }
        found
    }
}

/// Returns whether the stems begin with the phrase, whose stars stand for up to three of them.
fn begins(stems: &[&str], phrase: &[String]) -> bool {
    let Some((first, rest)) = phrase.split_first() else { return true };
    if first != "*" {
        return stems.first() == Some(&&**first) && begins(&stems[1..], rest);
    }
    (0..=MOST_BETWEEN.min(stems.len())).any(|between| begins(&stems[between..], rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_words_mean_a_concept_in_questions_only() {
        let thesaurus = Thesaurus::new(&WordForms::default());
        let (delete, _) = thesaurus.of_question_word("delet");
        let (_, ditch) = thesaurus.of_question_word("ditch");
        assert!(ditch.iter().all(|concept| delete.contains(concept)) && !ditch.is_empty());
        assert!(thesaurus.of_tool_word("ditch").is_empty());
    }

    #[test]
    fn a_star_stands_for_a_few_words() {
        let thesaurus = Thesaurus::new(&WordForms::default());
        let phrases = |text: &str| {
            let forms = WordForms::default();
            let stems: Vec<_> = text.split(' ').map(|word| forms.stem(word)).collect();
            thesaurus.question_phrases(&stems.iter().map(String::as_str).collect::<Vec<_>>())
        };
        let send = thesaurus.of_tool_word("send")[0];
        assert!(phrases("let them know").contains(&send));
        assert!(phrases("let all of them know").contains(&send));
        assert!(!phrases("let all of them here know").contains(&send));
    }
}
