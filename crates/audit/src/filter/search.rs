//! What people search for, as FTS5 and as a predicate.

use super::Filter;
use crate::{
    error::Error,
    index::search_text::{FAILED, UNKNOWN},
    record::Record,
};

/// A word, or several in their order.
struct SearchTerm<'a> {
    text: &'a str,
    /// Whether longer words count that begin like the last one.
    is_prefix: bool,
}

impl Filter {
    /// Returns the search in the language of FTS5. The names that the filter asks for are among the words of a call, too, and
    /// words for what came of it: with them, fewer calls have to be looked at.
    ///
    /// `complete` returns the words that begin like a text, if they are few. FTS5 merges all calls with any of them before
    /// it finds the first one; of words that are listed, it finds the latest calls at once.
    pub(super) fn words(
        &self,
        search: &str,
        complete: impl Fn(&str) -> Result<Option<Vec<String>>, Error>,
    ) -> Result<String, Error> {
        let mut words = Vec::new();
        let mut choices = Vec::new();
        for term in terms(search) {
            let completed = term.beginning().map(|begin| complete(&begin)).transpose()?.flatten();
            match completed {
                Some(several) if !several.is_empty() => choices.push(any_of(&several)),
                _ => words.push(term.quoted()),
            }
        }
        let is_name = |name: &&str| !name.contains(['*', '?', '[', '{', '\\']);
        let tool = self.tool.as_deref().filter(is_name);
        let names = [tool, self.server.as_deref(), self.caller.as_deref()];
        let outcomes = [self.failed.then_some(FAILED), self.unknown.then_some(UNKNOWN)];
        for name in names.into_iter().chain(outcomes).flatten() {
            words.push(SearchTerm { text: name, is_prefix: false }.quoted());
        }
        if !words.is_empty() {
            choices.insert(0, words.join(" "));
        }
        Ok(choices.join(" AND "))
    }

    /// Returns whether a record has the words, as far as it is known: without its result.
    pub(super) fn has_words(&self, record: &Record) -> bool {
        let Some(search) = &self.search else { return true };
        let names = [Some(&record.tool), record.server.as_ref(), record.caller.as_ref()];
        let mut text = words(&record.arguments);
        names.into_iter().flatten().for_each(|name| text.push_str(&words(name)));
        terms(search).all(|term| {
            let wanted = words(term.text);
            let wanted = if term.is_prefix { wanted.trim_end() } else { &*wanted };
            // FTS5 finds nothing where there is no word.
            !wanted.trim().is_empty() && text.contains(wanted)
        })
    }
}

/// Returns what finds calls with any of these words.
fn any_of(words: &[String]) -> String {
    let quoted = |word: &String| SearchTerm { text: word, is_prefix: false }.quoted();
    format!("({})", words.iter().map(quoted).collect::<Vec<_>>().join(" OR "))
}

impl SearchTerm<'_> {
    /// Returns the beginning of a word, as the index has words, if this is one.
    fn beginning(&self) -> Option<String> {
        let is_one_word =
            !self.text.is_empty() && self.text.bytes().all(|b| b.is_ascii_alphanumeric());
        (self.is_prefix && is_one_word).then(|| self.text.to_ascii_lowercase())
    }

    fn quoted(&self) -> String {
        // FTS5 reads up to a NUL.
        let text = self.text.replace('"', "\"\"").replace('\0', " ");
        format!("\"{text}\"{}", if self.is_prefix { "*" } else { "" })
    }
}

/// Returns the words of a search, quoted ones together.
fn terms(search: &str) -> impl Iterator<Item = SearchTerm<'_>> {
    let mut rest = search.trim_start();
    std::iter::from_fn(move || {
        let (text, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None if rest.is_empty() => return None,
            None => rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len())),
        };
        let (text, after, is_prefix) = match (text.strip_suffix('*'), after.strip_prefix('*')) {
            (Some(text), _) => (text, after, true),
            (None, Some(after)) => (text, after, true),
            (None, None) => (text, after, false),
        };
        rest = after.trim_start();
        Some(SearchTerm { text, is_prefix })
    })
}

/// Returns the words of a text in lower case, each between two spaces.
fn words(text: &str) -> String {
    let mut words = String::with_capacity(text.len() + 2);
    for word in text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty())
    {
        words.push(' ');
        words.extend(word.chars().flat_map(char::to_lowercase));
    }
    words.push(' ');
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_becomes_words_that_must_all_be_there() {
        let check = |search| words_of(&Filter::default(), search);
        assert_eq!(check("lamp kitchen"), r#""lamp" "kitchen""#);
        assert_eq!(check("  order-17  lam* "), r#""order-17" "lam"*"#);
        assert_eq!(check("\"in this order\" x"), r#""in this order" "x""#);
        assert_eq!(check("\"in this\"* x"), r#""in this"* "x""#);
        assert_eq!(check("a\"b OR \"open"), r#""a""b" "OR" "open""#);
        assert_eq!(check(""), "");
        let server = Some("time".to_owned());
        let filter = Filter { tool: Some("time__now".into()), server, ..Filter::default() };
        assert_eq!(words_of(&filter, "utc"), r#""utc" "time__now" "time""#);
        let glob = Filter { tool: Some("time__*".to_owned()), ..Filter::default() };
        assert_eq!(words_of(&glob, "utc"), r#""utc""#);
        let failed = Filter { failed: true, unknown: true, ..Filter::default() };
        let words = words_of(&failed, "utc");
        assert_eq!(words, "\"utc\" \"\u{e000}failed\" \"\u{e000}unknown\"");
    }

    #[test]
    fn the_beginning_of_few_words_becomes_these_words() {
        let complete = |beginning: &str| {
            Ok(match beginning {
                "lam" => Some(vec!["lamb".to_owned(), "lamp".to_owned()]),
                "zzz" => Some(Vec::new()),
                _ => None,
            })
        };
        let check = |search| Filter::default().words(search, complete).unwrap();
        assert_eq!(check("Lam* kitchen"), r#""kitchen" AND ("lamb" OR "lamp")"#);
        assert_eq!(check("lam*"), r#"("lamb" OR "lamp")"#);
        assert_eq!(check("zzz* a* order-lam* läm*"), r#""zzz"* "a"* "order-lam"* "läm"*"#);
        let tool = Filter { tool: Some("weather".into()), ..Filter::default() };
        let words = tool.words("lam* lam*", complete).unwrap();
        assert_eq!(words, r#""weather" AND ("lamb" OR "lamp") AND ("lamb" OR "lamp")"#);
    }

    fn words_of(filter: &Filter, search: &str) -> String {
        filter.words(search, |_| Ok(None)).unwrap()
    }
}
