//! What the sets of `recall/` find must not get worse.

#[path = "../../examples/recall/set.rs"]
mod set;

use std::collections::HashSet;

use set::{AnswerRanks, RecallSet};

// FT-1
#[cfg(feature = "embeddings")]
#[test]
fn questions_that_do_not_name_the_tool_find_it() {
    // The least hit@1, hit@5 and recall@5.
    let least = [
        ("own", 0.42, 0.74, 0.66),
        ("unseen", 0.51, 0.82, 0.81),
        ("corpus-v1", 0.46, 0.80, 0.79),
        ("reference", 0.50, 0.80, 0.79),
        ("other", 0.42, 0.71, 0.67),
        ("steps", 0.78, 0.98, 0.92),
        ("languages", 0.16, 0.32, 0.26),
    ];
    for (name, least_first, least_of_five, least_recall) in least {
        let set = RecallSet::read(&set::stored(name));
        for (question, answers) in &set.questions {
            for answer in answers {
                assert!(set.tools.iter().any(|tool| tool.name == *answer), "{question}: {answer}");
            }
        }
        let ranks = set.ranks(&set.index());
        let (first, of_five) = (set::hits(&ranks, 1), set::hits(&ranks, 5));
        assert!(first >= least_first, "{name}: {first}");
        assert!(of_five >= least_of_five, "{name}: {of_five}");
        let recall = set::recall(&ranks, 5);
        assert!(recall >= least_recall && recall <= of_five, "{name}: {recall}");
    }
}

/// Words that say nothing of what a tool does.
const LITTLE_WORDS: [&str; 26] = [
    "a", "an", "and", "as", "at", "be", "by", "for", "from", "in", "into", "is", "it", "of", "off",
    "on", "or", "out", "over", "the", "this", "to", "up", "with", "not", "all",
];

/// The words of a text or a name, without the endings of plurals.
fn words(text: &str) -> HashSet<String> {
    let mut split = String::new();
    let mut before = ' ';
    for letter in text.chars() {
        if letter.is_uppercase() && (before.is_lowercase() || before.is_numeric()) {
            split.push(' ');
        }
        split.push(if letter.is_alphanumeric() { letter } else { ' ' });
        before = letter;
    }
    let words = split.split_whitespace().map(str::to_lowercase);
    let words = words.filter(|word| !LITTLE_WORDS.contains(&&**word));
    words.map(|word| singular(&word)).collect()
}

fn singular(word: &str) -> String {
    let ends = |ending: &str| word.strip_suffix(ending).filter(|start| start.len() > 1);
    if let Some(start) = ends("ies") {
        return format!("{start}y");
    }
    let start = ["ses", "xes", "zes", "hes"].iter().find_map(|ending| {
        ends(ending)?;
        word.strip_suffix("es")
    });
    let start = start.or_else(|| ends("s").filter(|start| !start.ends_with('s')));
    start.unwrap_or(word).to_owned()
}

// FT-1: whoever asks does not know what the tool is called.
#[test]
fn no_question_uses_a_word_of_its_tools_name() {
    for (name, least) in [("own", 200), ("reference", 47), ("unseen", 47), ("other", 56)] {
        let set = RecallSet::read(&set::stored(name));
        assert!(set.questions.len() >= least, "{name}: {}", set.questions.len());
        let mut asked = HashSet::new();
        for (question, answers) in &set.questions {
            assert!(asked.insert(question), "twice in {name}: {question}");
            let of_question = words(question);
            for answer in answers {
                let (_, tool) = answer.split_once("__").expect("a server and a tool");
                let of_both: Vec<_> = words(tool).intersection(&of_question).cloned().collect();
                assert!(of_both.is_empty(), "{name}: {question} ({answer}): {of_both:?}");
            }
        }
    }
}

// FT-1: a question with two answers of which one is found is a hit, and half of its recall.
#[test]
fn recall_counts_all_answers() {
    let ranks = |answers: &[&str]| {
        let answers: Vec<_> = answers.iter().map(|&name| name.to_owned()).collect();
        AnswerRanks::of(&answers, &["a", "b", "c"])
    };
    let ranks = [ranks(&["b"]), ranks(&["a", "c"]), ranks(&["d"]), ranks(&["c", "d"])];
    let of = |most| (set::hits(&ranks, most), set::recall(&ranks, most));
    assert_eq!(of(1), (0.25, 0.125));
    assert_eq!(of(2), (0.5, 0.375));
    assert_eq!(of(3), (0.75, 0.625));
}

// The set with the names and descriptions of mcpproxy-go's corpus is asked our own questions.
#[test]
fn the_corpus_is_asked_the_unseen_questions() {
    let sets = ["unseen", "corpus-v1"].map(|name| RecallSet::read(&set::stored(name)));
    assert_eq!(sets[0].questions, sets[1].questions);
    let names =
        |set: &RecallSet| set.tools.iter().map(|tool| tool.name.clone()).collect::<HashSet<_>>();
    assert_eq!(names(&sets[0]), names(&sets[1]));
}

#[test]
fn words_of_names_are_found_in_any_form() {
    let found = words("jira_getUserProfiles v2 batches-of Boxes");
    let expected = ["jira", "get", "user", "profile", "v2", "batch", "box"];
    assert_eq!(found, expected.map(str::to_owned).into());
}
