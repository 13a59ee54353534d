//! Splits texts and names into words.

use rust_stemmers::{Algorithm, Stemmer};

/// Words that say nothing of what a tool does.
const STOP_WORDS: &str = "a an the of to in on at is are was be been and or for with by from this that these those it its as \
    i me my we our you your he she they them their what which who whom how when where why do does did can could may might \
    must shall should will would have has had if then than so not no any all some there here into out up down about over \
    under again once only own same too very just but because until while against between through during before after above \
    below off further each few more most other such nor s t don now get got let want need please make";

/// Longer runs of letters are no words; in bytes.
const LONGEST: usize = 128;

/// Returns the first words of the text, in lower case. `getCurrentTime` and `get_current_time` have three.
pub(crate) fn first(text: &str, most: usize) -> impl Iterator<Item = String> {
    let runs = text.split(|c: char| !c.is_alphanumeric());
    let runs = runs.filter(|run| (1..=LONGEST).contains(&run.len()));
    runs.flat_map(camel_parts).take(most).map(str::to_lowercase)
}

/// Splits `getHTMLPage` into `get`, `HTML` and `Page`.
fn camel_parts(run: &str) -> impl Iterator<Item = &str> {
    let mut rest = run;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (part, after) = rest.split_at(camel_end(rest));
        rest = after;
        Some(part)
    })
}

/// Returns where the first word of the run ends.
fn camel_end(run: &str) -> usize {
    let mut chars = run.char_indices().peekable();
    let mut was_upper = false;
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let is_upper = c.is_uppercase();
        // "getCurrent": a capital after a small letter begins a word.
        if at > 0 && is_upper && !was_upper {
            return at;
        }
        // "HTMLPage": the last of several capitals begins a word; not in "URLs".
        let is_plural = next == Some('s') && at + 2 == run.len();
        if at > 0 && is_upper && was_upper && !is_plural && next.is_some_and(char::is_lowercase) {
            return at;
        }
        was_upper = is_upper;
    }
    run.len()
}

/// Removes endings, and knows the words to leave out.
pub(crate) struct WordForms {
    stemmer: Stemmer,
    stop_words: Vec<&'static str>,
}

impl Default for WordForms {
    fn default() -> Self {
        let mut stop_words: Vec<_> = STOP_WORDS.split_whitespace().collect();
        stop_words.sort_unstable();
        Self { stemmer: Stemmer::create(Algorithm::English), stop_words }
    }
}

impl WordForms {
    /// Returns the word without its English ending.
    pub(crate) fn stem(&self, word: &str) -> String {
        self.stemmer.stem(word).into_owned()
    }

    /// Returns whether the word says nothing of what a tool does.
    pub(crate) fn is_stop_word(&self, word: &str) -> bool {
        self.stop_words.binary_search(&word).is_ok()
    }
}

#[cfg(test)]
mod tests {
    fn all(text: &str) -> Vec<String> {
        super::first(text, 9).collect()
    }

    #[test]
    fn names_are_split_as_people_write_them() {
        assert_eq!(all("getCurrentTime"), ["get", "current", "time"]);
        assert_eq!(all("get_current-time2"), ["get", "current", "time2"]);
        assert_eq!(all("readHTMLPage, URLs"), ["read", "html", "page", "urls"]);
        assert_eq!(all("Größe 天気"), ["größe", "天気"]);
        assert_eq!(all("__"), [""; 0]);
    }
}
