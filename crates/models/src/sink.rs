//! Passes a turn on while it comes, and holds back text that may turn out to be a call.

use crate::{Event, Usage, lower::Names, model::Events};

/// How text begins that servers should have turned into calls.
const MARKS: &[&str] = &["<tool_call", "<function="];

/// Where a reader reports to.
pub(crate) struct Sink<'a> {
    events: Events<'a>,
    names: &'a Names,
    /// Whether the turn comes in pieces; otherwise it is passed on when it is whole.
    live: bool,
    /// Whether text may be a leaked call.
    wary: bool,
    text: String,
    passed: usize,
    shown: bool,
}

impl<'a> Sink<'a> {
    pub(crate) fn new(events: Events<'a>, names: &'a Names, live: bool, wary: bool) -> Self {
        Self { events, names, live, wary, text: String::new(), passed: 0, shown: false }
    }

    /// Whether anything was passed on.
    pub(crate) fn shown(&self) -> bool {
        self.shown
    }

    /// More of the answer.
    pub(crate) fn text(&mut self, delta: &str) {
        self.text.push_str(delta);
        if self.live {
            let end = if self.wary { self.safe_end() } else { self.text.len() };
            self.pass(end);
        }
    }

    /// More of the model's thoughts.
    pub(crate) fn reasoning(&mut self, delta: &str) {
        if self.live && !delta.is_empty() {
            self.tell(Event::Reasoning(delta.to_owned()));
        }
    }

    /// A call has begun.
    pub(crate) fn call(&mut self, wire_name: &str) {
        if self.live && !wire_name.is_empty() {
            self.tell(Event::CallSeen { name: self.names.from_wire(wire_name).to_owned() });
        }
    }

    /// Something the user should know.
    pub(crate) fn warn(&self, text: String) {
        tracing::warn!("{text}");
        (self.events)(Event::Warning(text));
    }

    /// The turn is whole: passes on what was held back, unless it was a call.
    pub(crate) fn finish(&mut self, whole: &Whole<'_>) {
        if !self.live && !whole.reasoning.is_empty() {
            self.tell(Event::Reasoning(whole.reasoning.to_owned()));
        }
        if whole.recovered {
            if self.passed == 0 && !whole.content.is_empty() {
                self.tell(Event::Text(whole.content.to_owned()));
            }
        } else {
            self.pass(self.text.len());
        }
        if !self.live || whole.recovered {
            for name in &whole.calls {
                self.tell(Event::CallSeen { name: (*name).to_owned() });
            }
        }
        (self.events)(Event::Usage(whole.usage));
    }

    /// How much of the text is surely no call. What was passed on was, so only the rest is looked at: a long answer is
    /// not read again for each of its words.
    fn safe_end(&self) -> usize {
        match self.passed {
            0 => safe_end(&self.text),
            passed => passed + before_mark(&self.text[passed..]),
        }
    }

    fn pass(&mut self, end: usize) {
        if end > self.passed {
            let text = self.text[self.passed..end].to_owned();
            self.passed = end;
            self.tell(Event::Text(text));
        }
    }

    fn tell(&mut self, event: Event) {
        self.shown = true;
        (self.events)(event);
    }
}

/// What became of a turn.
pub(crate) struct Whole<'a> {
    pub(crate) content: &'a str,
    pub(crate) reasoning: &'a str,
    pub(crate) calls: Vec<&'a str>,
    pub(crate) recovered: bool,
    pub(crate) usage: Usage,
}

/// How much of an answer's beginning is surely no call. A call can be bare JSON, but only as the whole answer.
fn safe_end(text: &str) -> usize {
    let start = text.trim_start();
    if start.is_empty() || start.starts_with(['{', '`']) { 0 } else { before_mark(text) }
}

/// How much of the text comes before what is, or may become, the mark of a call.
fn before_mark(text: &str) -> usize {
    if let Some(mark) = MARKS.iter().filter_map(|mark| text.find(mark)).min() {
        return mark;
    }
    // The last characters may be the first of a mark.
    let Some(open) = text.rfind('<') else { return text.len() };
    let begun = MARKS.iter().any(|mark| mark.starts_with(&text[open..]));
    if begun { open } else { text.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    // ML-2: however the text comes, the same is shown in the end, and never a part of a mark.
    #[test]
    fn pieces_do_not_matter() {
        for (text, shown) in [
            ("See <toad> and <tool_call>{\"a\": \"<\"}", "See <toad> and "),
            ("a < b <function=f>", "a < b "),
            ("Hé <é> <", "Hé <é> "),
            ("{\"name\": 1}", ""),
        ] {
            for size in [1, 2, 3, 100] {
                let heard = std::sync::Mutex::new(String::new());
                let events = |event| match event {
                    Event::Text(text) => heard.lock().unwrap().push_str(&text),
                    other => panic!("{other:?}"),
                };
                let names = Names::default();
                let mut sink = Sink::new(&events, &names, true, true);
                let letters: Vec<char> = text.chars().collect();
                for piece in letters.chunks(size) {
                    sink.text(&piece.iter().collect::<String>());
                }
                assert_eq!(*heard.lock().unwrap(), shown, "in pieces of {size}");
            }
        }
    }

    // ML-2
    #[test]
    fn only_what_may_be_a_call_is_held_back() {
        for (text, shown) in [
            ("Hello", "Hello"),
            ("a < b", "a < b"),
            ("See <to", "See "),
            ("See <tool_call>\n{", "See "),
            ("See <toad>", "See <toad>"),
            ("x <function=f>", "x "),
            ("{\"name\"", ""),
            ("  ", ""),
            ("```json", ""),
        ] {
            assert_eq!(&text[..safe_end(text)], shown);
        }
    }
}
