use proptest::prelude::*;

use super::*;

/// The text as it is shown, whole and letter by letter alike, with styles as tags.
fn render(text: &str) -> String {
    let mut whole = Markdown::default();
    let at_once = whole.push(text) + &whole.finish();
    let mut pieces = Markdown::default();
    let mut in_pieces: String =
        text.chars().map(|letter| pieces.push(&letter.to_string())).collect();
    in_pieces.push_str(&pieces.finish());
    assert_eq!(at_once, in_pieces, "{text:?}");
    let tags = [
        ("\x1b[1m", "<b>"),
        ("\x1b[2m", "<d>"),
        ("\x1b[22m", "</>"),
        ("\x1b[3m", "<i>"),
        ("\x1b[23m", "</i>"),
        ("\x1b[36m", "<c>"),
        ("\x1b[39m", "</c>"),
    ];
    tags.iter().fold(at_once, |text, (code, tag)| text.replace(code, tag))
}

// ML-8
#[test]
fn text_is_laid_out() {
    for (text, expected) in [
        ("plain text", "plain text"),
        ("a **bold** and *italic* _word_", "a <b>bold</> and <i>italic</i> <i>word</i>"),
        ("run `a*b*c` now", "run <c>a*b*c</c> now"),
        ("**bold with `code`**", "<b>bold with <c>code</c></>"),
        ("## Title\ntext", "<b>Title</>\ntext"),
        ("- one\n  * two\n1. three", "• one\n  • two\n1. three"),
        ("> said\nnot", "<d>│ said</>\nnot"),
        (
            "```rust\nlet a = *b;\n\n```\n*end*",
            "<d>```rust</>\n<c>let a = *b;</c>\n\n<d>```</>\n<i>end</i>",
        ),
        ("````\n```\n````", "<d>````</>\n<c>```</c>\n<d>````</>"),
    ] {
        assert_eq!(render(text), expected);
    }
}

#[test]
fn what_is_no_markdown_stays() {
    for text in [
        "2*3*4 and 2 * 3 * 4",
        "snake_case_name and __init",
        "*args and **kwargs",
        "an `open mark\nand more",
        "#hashtag, -5, >3, ***\n#",
        "-",
        "|a|b|\n|-|-|",
        "``",
        "",
        "\n\n",
    ] {
        assert_eq!(render(text), text);
    }
}

#[test]
fn text_does_not_wait_for_its_line() {
    let mut markdown = Markdown::default();
    assert_eq!(markdown.push("So "), "So ");
    assert_eq!(markdown.push("it **be"), "it ");
    assert_eq!(markdown.push("gins** h"), "\x1b[1mbegins\x1b[22m h");
    assert_eq!(markdown.push("\x1b[31mere\n"), "\\u{1b}[31mere\n");
}

#[test]
fn lines_break_between_words_but_not_in_code() {
    let mut markdown = Markdown::for_width(10);
    let text = "- one **two** three\n```\nlet one = two;\n```\nfour five six";
    let shown = markdown.push(text) + &markdown.finish();
    let expected = "• one \x1b[1mtwo\x1b[22m\n  three\n\x1b[2m```\x1b[22m\n\x1b[36mlet one = two;\x1b[39m\n\
                    \x1b[2m```\x1b[22m\nfour five\nsix";
    assert_eq!(shown, expected);
}

#[test]
fn a_line_without_an_end_is_shown_all_the_same() {
    let text = "*ä ".repeat(3000);
    let mut markdown = Markdown::default();
    assert_eq!(markdown.push(&text) + &markdown.finish(), text);
}

proptest! {
    #[test]
    fn pieces_show_what_the_whole_shows(text in "([-*_`#>~+| ab1.\\n]|\\*\\*|```){0,60}", width in 1_usize..20) {
        render(&text);
        let mut whole = Markdown::for_width(width);
        let at_once = whole.push(&text) + &whole.finish();
        let mut pieces = Markdown::for_width(width);
        let mut in_pieces: String = text.chars().map(|c| pieces.push(&c.to_string())).collect();
        in_pieces.push_str(&pieces.finish());
        prop_assert_eq!(&at_once, &in_pieces);
        // Whatever is laid out, every word is still there.
        let words = |text: &str| text.chars().filter(char::is_ascii_alphanumeric).collect::<String>();
        let codes = ["\x1b[1m", "\x1b[2m", "\x1b[22m", "\x1b[3m", "\x1b[23m", "\x1b[36m", "\x1b[39m"];
        let plain = codes.iter().fold(at_once, |text, code| text.replace(code, ""));
        prop_assert_eq!(words(&plain), words(&text));
    }
}
