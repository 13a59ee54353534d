//! Finds ids in comments, and tells test code from the rest.

use std::path::{Component, Path};

use super::contract::{Contract, Id};

/// A line that names an id.
#[derive(Debug, PartialEq)]
pub(super) struct Mention {
    pub(super) id: Id,
    pub(super) line: usize,
    pub(super) in_test: bool,
}

/// Where an id is named.
pub(super) struct SourceLocation {
    pub(super) file: String,
    pub(super) line: usize,
}

/// Whether ids are looked for in this file: all Rust; other languages only where tests are written in them.
pub(super) fn may_name(file: &str) -> bool {
    file.ends_with(".rs") || is_test_file(file) || Path::new(file).starts_with("parts")
}

/// Every id that a comment of the file names, once per line.
pub(super) fn scan(file: &str, text: &str, contract: &Contract) -> Vec<Mention> {
    let marker = if file.ends_with(".py") { "#" } else { "//" };
    let tests_from = first_test_line(file, text);
    let mut mentions: Vec<Mention> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let Some(start) = line.find(marker) else {
            continue;
        };
        for id in ids_in(&line[start..], contract) {
            let mention = Mention {
                id,
                line: index + 1,
                in_test: tests_from.is_some_and(|from| index >= from),
            };
            if !mentions.contains(&mention) {
                mentions.push(mention);
            }
        }
    }
    mentions
}

/// The ids in one comment.
///
/// Words such as `CP-1252` look like ids too. What counts is an area of the contract anywhere (`EX-99` is a mistake),
/// and any other in the list that a comment opens with.
fn ids_in(comment: &str, contract: &Contract) -> Vec<Id> {
    let mut ids = Vec::new();
    let mut rest = comment.trim_start_matches(['/', '!', '#', ' ']);
    let mut in_opening_list = true;
    while !rest.is_empty() {
        if let Some((id, after)) = Id::at_start(rest) {
            if in_opening_list || contract.has_area(&id.area) {
                ids.push(id);
            }
            rest = after;
            continue;
        }
        // An id begins where a word begins: `UTF-8` has none.
        let word_end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
        let gap = rest[word_end..].find(is_word).unwrap_or(rest.len() - word_end);
        in_opening_list &= word_end == 0 && rest[..gap].chars().all(|c| c == ',' || c == ' ');
        rest = &rest[word_end + gap..];
    }
    ids
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}

/// The index of the line from which the file is test code.
fn first_test_line(file: &str, text: &str) -> Option<usize> {
    if is_test_file(file) || !file.ends_with(".rs") {
        return Some(0);
    }
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let opens_module = |index: usize| {
        let after_attributes = lines[index + 1..].iter().find(|line| !line.starts_with("#["));
        // `mod tests;` is in a file of its own, and what follows it here need not be tests.
        after_attributes.is_some_and(|line| line.contains("mod ") && line.ends_with('{'))
    };
    (0..lines.len()).find(|&index| lines[index] == "#[cfg(test)]" && opens_module(index))
}

/// Whether the whole file is test code: `tests.rs`, or anything in a folder `tests` or `benches`.
fn is_test_file(file: &str) -> bool {
    let path = Path::new(file);
    let is_test_folder =
        |part: Component<'_>| part.as_os_str() == "tests" || part.as_os_str() == "benches";
    path.file_name().is_some_and(|name| name == "tests.rs") || path.components().any(is_test_folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contract() -> Contract {
        Contract::parse("## 2. Calls\n- EX-1 a\n- EX-3 b\n- VA-1 c\n")
    }

    /// What is found in one comment.
    fn found(comment: &str) -> Vec<String> {
        ids_in(comment, &contract()).iter().map(Id::to_string).collect()
    }

    #[test]
    fn comments_name_ids_alone_in_lists_and_in_sentences() {
        assert_eq!(found("// EX-3"), ["EX-3"]);
        assert_eq!(found("// EX-3, VA-1: both"), ["EX-3", "VA-1"]);
        assert_eq!(found("/// The deadline holds (EX-3)."), ["EX-3"]);
        assert_eq!(found("//! VA-1/EX-1"), ["VA-1", "EX-1"]);
        assert_eq!(found("# EX-3"), ["EX-3"]);
    }

    #[test]
    fn ids_that_do_not_exist_are_found_where_an_id_is_meant() {
        assert_eq!(found("// EX-99"), ["EX-99"]);
        assert_eq!(found("// EX-3, XE-1"), ["EX-3", "XE-1"]);
        assert_eq!(found("// as in EX-99"), ["EX-99"]);
    }

    #[test]
    fn other_people_s_words_are_not_ids() {
        for comment in [
            "// UTF-8 and CP-1252",
            "// in the code page CP-1252",
            "// EX-3x, EX-3-4, EX-, EX",
            "// ÄÖ-1",
        ] {
            assert_eq!(found(comment), Vec::<String>::new(), "{comment}");
        }
    }

    /// The lines that name an id, and whether they are test code.
    fn lines(file: &str, text: &str) -> Vec<(usize, bool)> {
        scan(file, text, &contract())
            .into_iter()
            .map(|mention| (mention.line, mention.in_test))
            .collect()
    }

    #[test]
    fn only_test_code_proves_a_requirement() {
        let source =
            "// EX-1\nfn f() {}\n#[cfg(test)]\n#[expect(x)]\nmod tests {\n    // EX-1, EX-1\n}\n";
        assert_eq!(lines("crates/a/src/call.rs", source), [(1, false), (6, true)]);
        assert_eq!(lines("crates/a/tests/it/main.rs", "// EX-1"), [(1, true)]);
        assert_eq!(lines("crates/a/src/call/tests.rs", "f(); // EX-1"), [(1, true)]);
        assert_eq!(lines("crates/a/benches/b.rs", "// EX-1"), [(1, true)]);
        assert_eq!(lines("parts/mathjs/answers.mjs", "// EX-1"), [(1, true)]);
        assert_eq!(lines("crates/a/tests/peer.py", "x = 1  # EX-1"), [(1, true)]);
    }

    #[test]
    fn tests_in_another_file_do_not_turn_the_rest_of_this_one_into_tests() {
        assert_eq!(lines("src/a.rs", "#[cfg(test)]\nmod tests;\n// EX-1\n"), [(3, false)]);
        assert_eq!(lines("src/a.rs", "#[cfg(test)]\nuse x;\n// EX-1\n"), [(3, false)]);
    }

    #[test]
    fn code_is_not_a_comment() {
        assert_eq!(lines("tests/a.rs", "let id = \"EX-1\";"), []);
    }

    #[test]
    fn other_languages_count_only_beside_tests() {
        assert!(may_name("crates/a/src/lib.rs"));
        assert!(may_name("crates/a/tests/peer.py"));
        assert!(may_name("parts/mathjs/answers.mjs"));
        assert!(!may_name("docs/plot.py"));
    }
}
