//! Sentences, as words with their classes.

use std::sync::LazyLock;

use regex::Regex;

use super::{
    TextRole,
    combinations::Combination,
    words::{Classes, classify},
};

/// How many words after `e.g.` an address is only an example.
const EXAMPLE_WORDS: usize = 6;

/// Where sentences, paragraphs and items of lists end.
static END: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"[.!?;][\s)"'`*]*\s[\s)"'`*]*|\n\s*\n|\n\s*[-*\d]"#).expect("a fixed pattern")
});

static WORD: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"[^\s,;()"<>{}\[\]|=]+"#).expect("a fixed pattern"));

/// Text that says that it is for the model, or pretends to be the system's.
static TO_MODEL: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"\b(note|notice|instruction|attention|message|hint)s? (to|for) (the )?(ai|llm|model|assistant|agent)s?\b|system[ _:-]+(instruction|note|override|directive|message)s? ?[:\]>]|(^|[\[<(*#|])\s*(system|admin|developer|sys)\b ?[:\]>_]|override directive|_override\b|[\[<]/?(important|critical|mandatory)\b|<\|";
    Regex::new(pattern).expect("a fixed pattern")
});

/// Two classes which near each other have a mark: the first one within so many words before the second.
const PAIRS: &[(&str, usize, &str, &str)] = &[
    ("not", 3, "tell", "not-tell"),
    ("not", 3, "ask", "not-ask"),
    ("ask", 3, "override", "not-ask"),
    ("not", 4, "know", "not-know"),
    ("private", 2, "key", "secret-key"),
    ("environment", 2, "variable", "secret-key"),
    ("model", 2, "must", "model-must"),
    ("other|all", 2, "tool", "other-tool"),
    ("past|all", 2, "message|talk", "past-message"),
];

struct Pair {
    before: Classes,
    within: usize,
    then: Classes,
    mark: Classes,
}

static PAIR: LazyLock<Vec<Pair>> = LazyLock::new(|| {
    let pair = |&(before, within, then, mark): &(&str, usize, &str, &str)| Pair {
        before: Classes::named(before),
        within,
        then: Classes::named(then),
        mark: Classes::named(mark),
    };
    PAIRS.iter().map(pair).collect()
});

/// Returns the sentences of a text.
pub(super) fn split(text: &str) -> impl Iterator<Item = &str> {
    let ends = END.find_iter(text).map(|end| (end.start(), end.end()));
    let mut begin = 0;
    ends.chain([(text.len(), text.len())]).map(move |(end, next)| {
        let sentence = &text[begin..end];
        begin = next;
        sentence
    })
}

/// A sentence in lower case.
pub(super) struct Sentence<'a> {
    text: &'a str,
    words: Vec<Word>,
    /// What holds for all of it.
    whole: Classes,
}

struct Word {
    begin: usize,
    end: usize,
    classes: Classes,
}

impl<'a> Sentence<'a> {
    pub(super) fn new(text: &'a str, role: TextRole) -> Self {
        let mut whole = match role {
            TextRole::Parameter => Classes::named("in-parameter"),
            TextRole::ParameterName => Classes::named("in-parameter-name"),
            TextRole::Name | TextRole::Text => Classes::default(),
        };
        if TO_MODEL.is_match(text) {
            whole = whole.with(Classes::named("to-model"));
        }
        let mut words = words(text);
        mark_pairs(&mut words);
        Self { text, words, whole }
    }

    /// Returns the words in which one of the combinations is.
    pub(super) fn find(&self, combinations: &[Combination]) -> Option<&'a str> {
        combinations.iter().find_map(|combination| {
            let last = self.words.len().saturating_sub(combination.within);
            (0..=last).find_map(|first| {
                let end = self.words.len().min(first + combination.within);
                let window = self.words.get(first..end)?;
                let all = window.iter().fold(self.whole, |all, word| all.with(word.classes));
                let found = combination.is_in(all).then_some(window)?;
                self.text.get(found.first()?.begin..found.last()?.end)
            })
        })
    }
}

fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut example: Option<usize> = None;
    for found in WORD.find_iter(text) {
        let word = found.as_str();
        let plain = word.trim_matches(['\'', ':', '!', '?', '*']).trim_end_matches('.');
        if plain.is_empty() {
            continue;
        }
        let mut classes = classify(plain);
        if matches!(plain, "e.g" | "eg" | "example" | "like") {
            example = Some(words.len());
        }
        if example.is_some_and(|at| words.len() - at <= EXAMPLE_WORDS) {
            classes = classes.without(Classes::named("address"));
        }
        if word.starts_with('\'') || text[..found.start()].ends_with('"') {
            classes = classes.with(Classes::named("quoted"));
        }
        words.push(Word { begin: found.start(), end: found.end(), classes });
    }
    words
}

fn mark_pairs(words: &mut [Word]) {
    for index in 0..words.len() {
        let (before, rest) = words.split_at_mut(index);
        let Some(word) = rest.first_mut() else { return };
        for pair in PAIR.iter() {
            let mut near = before.iter().rev().take(pair.within);
            if pair.then.meets(word.classes) && near.any(|before| pair.before.meets(before.classes))
            {
                word.classes = word.classes.with(pair.mark);
            }
        }
    }
}
