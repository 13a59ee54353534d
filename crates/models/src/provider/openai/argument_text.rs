//! Arguments as far as they are written, and whether they are all there.
//!
//! Every fragment is looked at once. To parse all that came whenever a fragment ends in a brace took 23 s for a list of
//! ten thousand objects from a server that repeats the call's id.

use serde_json::Value;

/// The text of one call's arguments.
#[derive(Debug, Default)]
pub(super) struct ArgumentText {
    text: String,
    state: JsonState,
}

/// Where in the JSON the text ends.
#[derive(Debug, Default, PartialEq, Eq)]
enum JsonState {
    /// Before its first brace.
    #[default]
    Before,
    /// Inside of `depth` braces and brackets, perhaps within a string, perhaps after its backslash.
    Inside { depth: usize, string: bool, escaped: bool },
    /// After the last brace, and it is JSON.
    Whole,
    /// The text is something else.
    Other,
}

impl ArgumentText {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether the text is a JSON object with nothing missing.
    pub(super) fn is_whole(&self) -> bool {
        self.state == JsonState::Whole
    }

    /// Adds a fragment.
    pub(super) fn push(&mut self, fragment: &str) {
        self.text.push_str(fragment);
        let was_whole = self.is_whole();
        for byte in fragment.bytes() {
            self.step(byte);
        }
        // The braces match; whether it is JSON is asked once, because nothing but white space may follow.
        if self.is_whole() && !was_whole && serde_json::from_str::<Value>(&self.text).is_err() {
            self.state = JsonState::Other;
        }
    }

    fn step(&mut self, byte: u8) {
        match &mut self.state {
            JsonState::Before if byte == b'{' => {
                self.state = JsonState::Inside { depth: 1, string: false, escaped: false };
            }
            JsonState::Before | JsonState::Whole if byte.is_ascii_whitespace() => {}
            JsonState::Before | JsonState::Whole => self.state = JsonState::Other,
            JsonState::Inside { escaped: escaped @ true, .. } => *escaped = false,
            JsonState::Inside { string: true, escaped, .. } if byte == b'\\' => *escaped = true,
            JsonState::Inside { string, .. } if byte == b'"' => *string = !*string,
            JsonState::Inside { depth, string: false, .. } => match byte {
                b'{' | b'[' => *depth += 1,
                b'}' | b']' if *depth == 1 => self.state = JsonState::Whole,
                b'}' | b']' => *depth -= 1,
                _ => {}
            },
            JsonState::Inside { .. } | JsonState::Other => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // ML-3
    #[test]
    fn arguments_are_whole_when_nothing_is_missing() {
        for (text, whole) in [
            ("", false),
            ("{}", true),
            (" {\"a\": [{}, \"}\", \"\\\"}\"]} \n", true),
            ("{\"a\": {}", false),
            ("{\"a\": \"}", false),
            ("{]", false),
            ("{\"a\"}", false),
            ("{}{}", false),
            ("{} x", false),
            ("[1]", false),
            ("\"{}\"", false),
            ("{\"ü\": \"\\\\\"}", true),
        ] {
            for size in [1, 2, 100] {
                let (mut written, letters) =
                    (ArgumentText::default(), text.chars().collect::<Vec<_>>());
                for piece in letters.chunks(size) {
                    written.push(&piece.iter().collect::<String>());
                }
                assert_eq!((written.is_whole(), written.text()), (whole, text), "{text}");
            }
        }
    }
}
