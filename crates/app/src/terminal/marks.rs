//! Our marks in ASCII, for locales that are not UTF-8: `✓`, `✗`, `…`, bars and spinners.

use std::{borrow::Cow, sync::LazyLock};

use crate::environment;

/// The frames of the spinner.
const FRAMES: &str = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";
/// The bars of a chart, from low to high.
const BARS: &str = "▁▂▃▄▅▆▇█";

static IS_UTF8: LazyLock<bool> = LazyLock::new(|| is_utf8(|name| environment::variable(name).ok()));

/// Returns our text with ASCII in place of marks if the locale is not UTF-8. Other characters stay.
pub(crate) fn for_locale(text: &str) -> Cow<'_, str> {
    if *IS_UTF8 || text.is_ascii() { Cow::Borrowed(text) } else { Cow::Owned(ascii(text)) }
}

/// The mark for text that was cut.
pub(crate) fn ellipsis() -> &'static str {
    if *IS_UTF8 { "…" } else { "..." }
}

/// Whether the locale is UTF-8. Without any locale, as in most containers, UTF-8 is assumed.
fn is_utf8(variable: impl Fn(&str) -> Option<String>) -> bool {
    let value = |name: &&str| variable(name).filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(value);
    locale.is_none_or(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

fn ascii(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '✓' => plain.push('+'),
            '✗' | '❌' => plain.push('x'),
            '•' | '●' => plain.push('*'),
            '⚠' => plain.push('!'),
            '…' => plain.push_str("..."),
            '→' => plain.push_str("->"),
            '│' => plain.push('|'),
            '–' => plain.push('-'),
            // The variation selector, which turns the mark before it into an emoji.
            '\u{fe0f}' => {}
            c => plain.push(picture(c).unwrap_or(c)),
        }
    }
    plain
}

/// The ASCII version of a frame or a bar.
fn picture(c: char) -> Option<char> {
    let place = |pictures: &str| pictures.chars().position(|picture| picture == c);
    let frame = place(FRAMES).map(|frame| ['|', '/', '-', '\\'][frame % 4]);
    frame.or_else(|| place(BARS).map(|bar| ['.', '.', ':', ':', '=', '=', '#', '#'][bar]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_have_an_ascii_form_and_letters_stay() {
        assert_eq!(ascii("✓ math_eval … ✗ • ⚠️ ❌ a → b"), "+ math_eval ... x * ! x a -> b");
        assert_eq!(ascii(FRAMES), "|/-\\|/-\\|/");
        assert_eq!(ascii(&format!("{BARS} Grüße 日本")), "..::==## Grüße 日本");
    }

    #[test]
    fn the_first_variable_that_is_set_names_the_locale() {
        let check = |set: &[(&str, &str)]| {
            is_utf8(|name| set.iter().find(|pair| pair.0 == name).map(|pair| pair.1.to_owned()))
        };
        assert!(check(&[]) && check(&[("LC_ALL", ""), ("LANG", "de_DE.UTF-8")]));
        assert!(check(&[("LC_ALL", "C.utf8"), ("LANG", "C")]));
        assert!(!check(&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")]));
        assert!(!check(&[("LC_CTYPE", "POSIX")]) && !check(&[("LANG", "de_DE.ISO-8859-1")]));
    }
}
