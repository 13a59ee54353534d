//! Estimates tokens, for what definitions cost in a model's context.

// What parts of a text cost in `o200k_base`, which OpenAI's models use, in hundredths of a token. Fitted to the definitions of
// `recall/own` (`recall/tokens.mjs` compares).
const WORD: usize = 105;
const LONG_WORD_LETTER: usize = 40;
const DIGIT_GROUP: usize = 145;
const PUNCTUATION: usize = 66;
const FURTHER_PUNCTUATION: usize = 24;
const WIDE_SPACE: usize = 100;
/// What a letter or sign outside of ASCII costs besides.
const FOREIGN_LETTER: usize = 30;
const FOREIGN_SIGN: usize = 100;
/// Longer words are several tokens.
const LONG_WORD: usize = 12;

#[derive(Clone, Copy, PartialEq, Eq)]
enum CharKind {
    Upper,
    Lower,
    Digit,
    Space,
    Sign,
}

impl CharKind {
    fn of(c: char) -> Self {
        match c {
            _ if c.is_uppercase() => Self::Upper,
            _ if c.is_alphabetic() => Self::Lower,
            _ if c.is_numeric() => Self::Digit,
            _ if c.is_whitespace() => Self::Space,
            _ => Self::Sign,
        }
    }
}

/// Returns about how many tokens the text has in `o200k_base`: words, groups of three digits and runs of signs are about one
/// each.
///
/// Of 1,101 real definitions of tools half are less than 2.3 % off, 95 % less than 8.1 % (`recall/tokens.mjs`).
pub fn estimate_tokens(text: &str) -> usize {
    let mut hundredths = 0;
    let mut before = None;
    // How many characters of the same kind there are up to this one; "getTime" has two words, "Time" one.
    let mut run = 0;
    for c in text.chars() {
        let kind = CharKind::of(c);
        let goes_on =
            before == Some(kind) || (before == Some(CharKind::Upper) && kind == CharKind::Lower);
        run = if goes_on { run + 1 } else { 1 };
        before = Some(kind);
        hundredths += match (kind, run) {
            (CharKind::Upper | CharKind::Lower, 1) => WORD,
            (CharKind::Upper | CharKind::Lower, 2..=LONG_WORD) => 0,
            (CharKind::Upper | CharKind::Lower, _) => LONG_WORD_LETTER,
            (CharKind::Digit, _) if run % 3 == 1 => DIGIT_GROUP,
            (CharKind::Space, 2) => WIDE_SPACE,
            (CharKind::Digit | CharKind::Space, _) => 0,
            (CharKind::Sign, 1) => PUNCTUATION,
            (CharKind::Sign, _) => FURTHER_PUNCTUATION,
        };
        hundredths += match kind {
            _ if c.is_ascii() => 0,
            CharKind::Sign => FOREIGN_SIGN,
            _ => FOREIGN_LETTER,
        };
    }
    (hundredths + 50) / 100
}

#[cfg(test)]
mod tests {
    use super::estimate_tokens;

    // FT-4
    #[test]
    fn parts_of_a_text_cost_what_they_are() {
        let cases = [
            ("", 0),
            ("the time", 2),
            ("getCurrentTime", 3),
            ("HTTP", 1),
            ("123456", 3),
            ("a    b", 3),
            ("{\"a\":1}", 5),
            ("electroencephalographically", 7),
            ("\u{1F99C}", 2),
        ];
        for (text, tokens) in cases {
            assert_eq!(estimate_tokens(text), tokens, "{text}");
        }
        // o200k_base has 700.
        let text = "Returns what is in a file. ".repeat(100);
        assert!((660..740).contains(&estimate_tokens(&text)), "{}", estimate_tokens(&text));
    }
}
