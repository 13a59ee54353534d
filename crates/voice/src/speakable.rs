//! Converts models' Markdown to text that can be spoken (SPEC HM-2).

use std::{borrow::Cow, mem::take};

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// Returns the text without Markdown, URLs and emoji: lists and tables become sentences, long code is left out.
pub fn speakable(text: &str) -> String {
    let mut speech = SpeakableText::default();
    for event in Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
        speech.hear(event);
    }
    speech.end_sentence();
    speech.said.join(" ")
}

/// The text to say, sentence by sentence.
#[derive(Default)]
struct SpeakableText {
    said: Vec<String>,
    /// The sentence that is being built.
    open: String,
    /// The headers of the current table, and the index of the next cell.
    heads: Vec<String>,
    cell: usize,
    is_head: bool,
    /// Whether this is a code block.
    is_code: bool,
}

impl SpeakableText {
    fn hear(&mut self, event: Event<'_>) {
        match event {
            Event::Text(text) | Event::Code(text) => self.open.push_str(&text),
            Event::SoftBreak | Event::HardBreak => self.open.push(' '),
            Event::Start(tag) => self.begin(&tag),
            Event::End(tag) => self.end(&tag),
            // HTML, rules and the like are not spoken.
            _ => {}
        }
    }

    fn begin(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::CodeBlock(kind) => {
                self.end_sentence();
                // Text that is only indented is rarely code.
                self.is_code = matches!(kind, CodeBlockKind::Fenced(_));
            }
            Tag::Item | Tag::Paragraph | Tag::Heading { .. } => self.end_sentence(),
            Tag::Table(_) => self.heads.clear(),
            Tag::TableHead | Tag::TableRow => {
                self.end_sentence();
                self.is_head = matches!(tag, Tag::TableHead);
                self.cell = 0;
            }
            Tag::TableCell if !self.is_head => {
                if self.cell > 0 {
                    self.open.push_str(", ");
                }
                if let Some(head) = self.heads.get(self.cell).filter(|head| !head.is_empty()) {
                    self.open.push_str(&format!("{head}: "));
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: &TagEnd) {
        match tag {
            TagEnd::CodeBlock => {
                if self.is_code && self.open.trim().lines().count() > 1 {
                    self.open = "There is some code, which I leave out".to_owned();
                }
                self.is_code = false;
                self.end_sentence();
            }
            TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::Item | TagEnd::TableRow => {
                self.end_sentence();
            }
            TagEnd::TableHead => self.is_head = false,
            TagEnd::TableCell => {
                self.cell += 1;
                if self.is_head {
                    self.heads.push(take(&mut self.open).trim().to_owned());
                }
            }
            _ => {}
        }
    }

    /// Ends the sentence, so that the voice pauses after it.
    fn end_sentence(&mut self) {
        let mut sentence = plain(&take(&mut self.open));
        if !sentence.contains(char::is_alphanumeric) {
            return;
        }
        if !sentence.ends_with(['.', '!', '?', ':', ';', ',', '…', '。', '！', '？']) {
            sentence.push('.');
        }
        self.said.push(sentence);
    }
}

/// Returns the words without URLs and emoji.
fn plain(text: &str) -> String {
    let mut said = String::new();
    for word in text.split_whitespace() {
        let word = without_address(word);
        let rest: String = word.chars().filter(|letter| !is_picture(*letter)).collect();
        // A joiner after an emoji belongs to the word before it.
        let is_lone = rest.len() < word.len() && !rest.contains(char::is_alphanumeric);
        if !rest.is_empty() && !said.is_empty() && !is_lone {
            said.push(' ');
        }
        said.push_str(&rest);
    }
    said
}

/// Replaces a URL in the word by its name, so that it is not spelt out.
fn without_address(word: &str) -> Cow<'_, str> {
    let Some(at) = ["https://", "http://", "www."].iter().find_map(|mark| word.find(mark)) else {
        return word.into();
    };
    // Closing punctuation stays.
    let address = word[at..].trim_end_matches(['.', ',', ';', ':', '!', '?', ')']);
    format!("{}a link{}", &word[..at], &word[at + address.len()..]).into()
}

/// Whether it is a symbol that a voice would have to describe.
fn is_picture(letter: char) -> bool {
    matches!(letter,
        '\u{1F000}'..='\u{1FAFF}' // emoji, cards, symbols
        | '\u{2600}'..='\u{27BF}' // weather, ticks, dingbats
        | '\u{2B00}'..='\u{2BFF}' // stars and arrows
        | '\u{2190}'..='\u{21FF}' // arrows
        | '\u{2500}'..='\u{25FF}' // lines and boxes
        | '\u{FE00}'..='\u{FE0F}' | '\u{200D}' | '\u{20E3}' // what joins emoji
        | '\u{E0000}'..='\u{E007F}')
}

#[cfg(test)]
mod tests {
    use super::*;

    // HM-2
    #[test]
    fn what_is_written_becomes_what_is_said() {
        let cases = [
            ("The light is on.", "The light is on."),
            ("The **kitchen** light is _on_ \u{1F389}!", "The kitchen light is on!"),
            ("# Lights\n\n- kitchen: on\n- hall: `off`\n", "Lights. kitchen: on. hall: off."),
            ("1. First\n2. Second\n   - inner", "First. Second. inner."),
            (
                "See [the manual](https://a.example/x) and https://b.example/y.",
                "See the manual and a link.",
            ),
            ("![a cat](cat.png) sits", "a cat sits."),
            (
                "| room | temp |\n|---|---|\n| hall | 20 °C |\n| bath | 23 °C |",
                "room: hall, temp: 20 °C. room: bath, temp: 23 °C.",
            ),
            ("Run this:\n\n```sh\nls\n```", "Run this: ls."),
            (
                "Code:\n\n```rust\nfn a() {}\nfn b() {}\n```\nDone",
                "Code: There is some code, which I leave out. Done.",
            ),
            ("one\ntwo  \nthree", "one two three."),
            ("> quoted\n\n---\n\n<b>bold</b> 2 * 3 = 6", "quoted. bold 2 * 3 = 6."),
            ("\u{2705} Done \u{2192} ok", "Done ok."),
            ("~~old~~ new", "old new."),
            ("21.5 °C, 45 %, 3 €", "21.5 °C, 45 %, 3 €."),
            ("\u{1F600}", ""),
            ("", ""),
        ];
        for (written, said) in cases {
            assert_eq!(speakable(written), said, "{written}");
        }
    }
}
