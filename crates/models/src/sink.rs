//! Passes a turn on while it comes, and holds back text that may turn out to be a call (SPEC ML-2).
//!
//! A reply counts as calls only if it is nothing but calls. So text is held back from its beginning, or from the end of its
//! thoughts, as long as it may still be such a reply; after the first word that does not fit, all of it is prose.

use crate::{ContextEdits, ModelEvent, Usage, lower::Names, model::ModelEvents};

const THOUGHTS: &str = "<think>";
const THOUGHTS_END: &str = "</think>";

/// How text begins that servers should have turned into calls.
const MARKS: &[&str] = &["<tool_call", "<function="];

/// Where a reader reports to.
pub(crate) struct Sink<'a> {
    events: ModelEvents<'a>,
    names: &'a Names,
    /// Whether the turn comes in pieces; otherwise it is passed on when it is whole.
    live: bool,
    /// Whether text may be a leaked call.
    wary: bool,
    text: String,
    passed: usize,
    /// Where the answer begins, after thoughts within the text.
    answer: usize,
    /// How far the end of thoughts was looked for.
    searched: usize,
    has_emitted: bool,
}

impl<'a> Sink<'a> {
    pub(crate) fn new(events: ModelEvents<'a>, names: &'a Names, live: bool, wary: bool) -> Self {
        Self {
            events,
            names,
            live,
            wary,
            text: String::new(),
            passed: 0,
            answer: 0,
            searched: 0,
            has_emitted: false,
        }
    }

    /// Returns whether any event was passed on.
    pub(crate) fn has_emitted(&self) -> bool {
        self.has_emitted
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
            self.emit(ModelEvent::Reasoning(delta.to_owned()));
        }
    }

    /// A call has begun.
    pub(crate) fn call(&mut self, wire_name: &str) {
        if self.live && !wire_name.is_empty() {
            self.emit(ModelEvent::CallSeen { name: self.names.tool_name(wire_name).to_owned() });
        }
    }

    /// Something the user should know.
    pub(crate) fn warn(&self, text: String) {
        tracing::warn!("{text}");
        (self.events)(ModelEvent::Warning(text));
    }

    /// The provider left something out of the conversation.
    pub(crate) fn edited(&self, edits: ContextEdits) {
        (self.events)(ModelEvent::ContextEdited(edits));
    }

    /// The turn is complete: passes on the text that was held back, unless it was a call.
    pub(crate) fn finish(&mut self, whole: &TurnSummary<'_>) {
        if !self.live && !whole.reasoning.is_empty() {
            self.emit(ModelEvent::Reasoning(whole.reasoning.to_owned()));
        }
        if !whole.recovered {
            self.pass(self.text.len());
        }
        if !self.live || whole.recovered {
            for name in &whole.calls {
                self.emit(ModelEvent::CallSeen { name: (*name).to_owned() });
            }
        }
        (self.events)(ModelEvent::Usage(whole.usage));
    }

    /// How much of the text is surely no call. Reads no text twice: a long answer comes word by word.
    fn safe_end(&mut self) -> usize {
        // The end of the thoughts may have come in two pieces.
        let from = self.answer.max(self.searched.saturating_sub(THOUGHTS_END.len()));
        self.searched = self.text.len();
        let mut ends = self.text.as_bytes()[from..].windows(THOUGHTS_END.len());
        if let Some(end) = ends.rposition(|found| found == THOUGHTS_END.as_bytes()) {
            self.answer = from + end + THOUGHTS_END.len();
        }
        let begin = self.answer.max(self.passed);
        if self.passed > self.answer {
            // Something of it was passed on: prose, or thoughts that are not closed yet.
            let is_thinking = self.answer == 0 && self.text.trim_start().starts_with(THOUGHTS);
            let safe = if is_thinking { before_mark(&self.text[begin..]) } else { usize::MAX };
            return begin.saturating_add(safe).min(self.text.len());
        }
        begin + safe_end(&self.text[begin..])
    }

    fn pass(&mut self, end: usize) {
        if end > self.passed {
            let text = self.text[self.passed..end].to_owned();
            self.passed = end;
            self.emit(ModelEvent::Text(text));
        }
    }

    fn emit(&mut self, event: ModelEvent) {
        self.has_emitted = true;
        (self.events)(event);
    }
}

/// The outcome of a turn.
pub(crate) struct TurnSummary<'a> {
    pub(crate) reasoning: &'a str,
    pub(crate) calls: Vec<&'a str>,
    pub(crate) recovered: bool,
    pub(crate) usage: Usage,
}

/// How much of an answer is surely no call: nothing while it may be nothing but calls, with tags or as bare JSON.
fn safe_end(text: &str) -> usize {
    let start = text.trim_start();
    if start.starts_with(THOUGHTS) {
        return before_mark(text);
    }
    let may_be = |mark: &&str| start.starts_with(*mark) || mark.starts_with(start);
    let is_held = start.starts_with(['{', '[']) || MARKS.iter().chain([&THOUGHTS]).any(may_be);
    if is_held { 0 } else { text.len() }
}

/// Returns how much of the text comes before what is, or may become, the mark of a call.
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
            (
                "See <toad> and <tool_call>{\"a\": \"<\"}",
                "See <toad> and <tool_call>{\"a\": \"<\"}",
            ),
            ("\n<tool_call>{\"a\": \"<\"}", ""),
            ("<toad>", "<toad>"),
            ("<function=f>", ""),
            ("Hé <é> <", "Hé <é> <"),
            ("{\"name\": 1}", ""),
            ("[{\"name\": 1}]", ""),
            ("<think>Hé</think>\n<tool_call>{", "<think>Hé</think>"),
            ("Hé, so.</think>\n<tool_call>{", "Hé, so.</think>"),
            ("<think>Hé</think>So <tool_call>", "<think>Hé</think>So <tool_call>"),
            ("<think>Hé <tool_call>{", "<think>Hé "),
        ] {
            for size in [1, 2, 3, 100] {
                let heard = std::sync::Mutex::new(String::new());
                let events = |event| match event {
                    ModelEvent::Text(text) => heard.lock().unwrap().push_str(&text),
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
            ("<to", ""),
            ("See <tool_call>\n{", "See <tool_call>\n{"),
            (" <tool_call>\n{", ""),
            ("<toad>", "<toad>"),
            ("x <function=f>", "x <function=f>"),
            ("<function=f>", ""),
            ("<th", ""),
            ("{\"name\"", ""),
            ("  ", ""),
            ("```json\n{", "```json\n{"),
        ] {
            assert_eq!(&text[..safe_end(text)], shown);
        }
    }
}
