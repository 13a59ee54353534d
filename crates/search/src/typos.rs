//! Words of names that are close to a misspelt one.

use strsim::osa_distance;

/// How many words a misspelt one may stand for.
const MOST: usize = 2;

/// Returns the words that `misspelt` may stand for, best first.
pub(crate) fn close<'a>(misspelt: &str, words: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let length = misspelt.chars().count();
    let most = match length {
        0..=3 => return Vec::new(),
        4..=7 => 1,
        _ => 2,
    };
    let first = misspelt.chars().next();
    let near = words.filter(|word| {
        word.len().abs_diff(misspelt.len()) <= 2 * most && word.chars().next() == first
    });
    let distances = near.map(|word| (osa_distance(misspelt, word), word));
    let mut found: Vec<_> = distances.filter(|(distance, _)| *distance <= most).collect();
    found.sort_unstable();
    found.truncate(MOST);
    found.into_iter().map(|(_, word)| word).collect()
}

#[cfg(test)]
mod tests {
    use super::close;

    #[test]
    fn a_typo_finds_its_word() {
        let words = ["screenshot", "repository", "time", "file"];
        assert_eq!(close("screnshot", words.into_iter()), ["screenshot"]);
        assert_eq!(close("repositroy", words.into_iter()), ["repository"]);
        assert_eq!(close("fiel", words.into_iter()), ["file"]);
        assert_eq!(close("tme", words.into_iter()), [""; 0], "too short to tell");
        assert_eq!(close("zebra", words.into_iter()), [""; 0]);
    }
}
