//! Results of tools that become one line.

use std::sync::PoisonError;

use serde::{Deserialize, Serialize};
use switchboard_models::{Message, ToolReply};
use switchboard_runtime::{ArtifactSource, artifacts::ArtifactContent};

use super::{ConversationEdit, ShortenedResult, estimate};
use crate::{Conversation, offered_tools, run::AgentRun};

/// A result stays unless this many characters are saved: a line about a short one would not be shorter.
const LEAST: usize = 400;

/// What an image counts as: its tokens, in characters.
const OF_IMAGE: usize = 4_000;

/// How many characters of a result its line shows.
const SHOWN: usize = 80;

/// Of large results that the model has not read yet, the lines show this part of the room for the request.
const SHOWN_OF_LARGE: u64 = 6;

/// A result that became one line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ShortenedReply {
    pub(crate) tool_call_id: String,
    pub(crate) artifact: String,
    pub(crate) line: String,
}

impl ShortenedReply {
    /// Returns what is told of it.
    pub(crate) fn entry(&self) -> ShortenedResult {
        let Self { tool_call_id, artifact, .. } = self.clone();
        ShortenedResult { tool_call_id, artifact }
    }
}

impl AgentRun<'_> {
    /// Shortens results that the model has read, the oldest first, as long as `goes_on` says so.
    pub(super) async fn shorten_old_results(
        &mut self,
        conversation: &mut Conversation,
        goes_on: impl Fn(&Self, &Conversation) -> bool + Send,
    ) {
        for place in 0..first_unread(conversation.messages()) {
            if !goes_on(self, conversation) {
                return;
            }
            self.shorten(conversation, place, SHOWN).await;
        }
    }

    /// Shortens results that the model has not read and that take much of the room: their lines show more of them.
    pub(super) async fn shorten_large_results(
        &mut self,
        conversation: &mut Conversation,
        available: u64,
    ) {
        let unread = first_unread(conversation.messages());
        let many = (conversation.messages().len() - unread).max(1) as u64;
        let most = available / SHOWN_OF_LARGE / many;
        // A token has two characters or more, in texts of most kinds.
        let shown = usize::try_from(most * 2).unwrap_or(usize::MAX).max(SHOWN);
        for place in unread..conversation.messages().len() {
            let tokens = self.fit.corrected(estimate::message(&conversation.messages()[place]));
            if tokens > most * 2 {
                self.shorten(conversation, place, shown).await;
            }
        }
    }

    /// Shortens results that the model has not read, of whatever size, as long as `goes_on` says so.
    pub(super) async fn shorten_last_results(
        &mut self,
        conversation: &mut Conversation,
        goes_on: impl Fn(&Self, &Conversation) -> bool + Send,
    ) {
        for place in first_unread(conversation.messages())..conversation.messages().len() {
            if !goes_on(self, conversation) {
                return;
            }
            self.shorten(conversation, place, SHOWN).await;
        }
    }

    /// Replaces a result by one line and stores the whole of it, unless it is short or cannot be stored.
    async fn shorten(&mut self, conversation: &mut Conversation, place: usize, shown: usize) {
        let messages = conversation.messages();
        let Some(Message::Tool(reply)) = messages.get(place) else { return };
        let name = name_of_call(messages, place, &reply.tool_call_id);
        let is_search = self.search.is_some() && name == offered_tools::SEARCH;
        // Its images go with the text, which names them.
        let images = reply.images.len();
        let saved = reply.content.chars().count().saturating_sub(shown) + images * OF_IMAGE;
        if is_search || saved < LEAST || self.is_line(&name, reply).await {
            return;
        }
        let id = reply.tool_call_id.clone();
        let (content, failed) = (reply.content.clone(), reply.is_error);
        let Some(artifact) = self.keep_whole(&id, &name, &content).await else { return };
        let line = line(&name, failed, &content, images, shown, &artifact);
        let edit = ShortenedReply { tool_call_id: id, artifact, line };
        self.record_edit(&ConversationEdit::Shortened(edit.clone()));
        self.redo_shortened(edit, conversation);
    }

    /// Returns whether a reply is the line that stands for a result: of this run, or of an earlier one of the chat. A tool can say
    /// anything, so a text that looks like such a line is none unless the artifact that it names says the same.
    async fn is_line(&self, name: &str, reply: &ToolReply) -> bool {
        if self.fit.shortened.iter().any(|entry| entry.tool_call_id == reply.tool_call_id) {
            return true;
        }
        let Some(LineParts { images, shown, artifact }) = parts_of_line(&reply.content) else {
            return false;
        };
        let kept = self.agent.executor.artifacts().get(artifact).await.ok().flatten();
        let Some(whole) = kept.as_ref().and_then(|kept| str::from_utf8(&kept.bytes).ok()) else {
            return false;
        };
        line(name, reply.is_error, whole, images, shown, artifact) == reply.content
    }

    /// Returns the artifact that has the whole of a result; stores it if none does yet.
    pub(super) async fn keep_whole(&self, id: &str, name: &str, content: &str) -> Option<String> {
        let known = self.fit.wholes.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned();
        match known {
            Some(artifact) => Some(artifact),
            None => self.keep(name, "text/plain", content.to_owned().into_bytes()).await,
        }
    }

    /// Stores something as an artifact, for the caller of the run, as long as the run is kept.
    pub(super) async fn keep(&self, name: &str, kind: &str, bytes: Vec<u8>) -> Option<String> {
        let size = bytes.len() as u64;
        let content = ArtifactContent { media_type: kind.to_owned(), bytes: bytes.into() };
        let source = ArtifactSource { tool: name.into(), caller: self.cx.caller.clone() };
        let kept = self.agent.executor.artifacts().put(content, source.clone()).await;
        let noted = kept.and_then(|artifact| {
            if let Some(live) = &self.live {
                live.note_artifact(&artifact, &source, size)?;
            }
            Ok(artifact)
        });
        noted
            .inspect_err(|error| {
                tracing::warn!(tool = name, %error, "nothing is shortened: the whole cannot be stored");
            })
            .ok()
    }

    pub(super) fn redo_shortened(&mut self, edit: ShortenedReply, conversation: &mut Conversation) {
        let entry = edit.entry();
        if conversation.shorten(&edit.tool_call_id, edit.line) {
            self.fit.shortened.push(entry);
        }
    }
}

/// Returns where the results begin that came after the model's last turn.
fn first_unread(messages: &[Message]) -> usize {
    let read = messages.iter().rposition(|message| matches!(message, Message::Ai(_)));
    read.map_or(0, |read| read + 1)
}

/// Returns the tool of the call that a message replies to.
pub(super) fn name_of_call(messages: &[Message], place: usize, id: &str) -> String {
    let before = messages[..place].iter().rev();
    let calls = before.filter_map(|message| match message {
        Message::Ai(said) => Some(&said.tool_calls),
        _ => None,
    });
    let call = calls.flatten().find(|call| call.id == id);
    call.map(|call| call.name.clone()).unwrap_or_default()
}

/// The end of every line that stands for a result.
const END: &str = " has the whole]";

/// What a line says of the result that it stands for.
#[derive(Debug, PartialEq)]
struct LineParts<'a> {
    images: usize,
    /// How many characters of it are shown.
    shown: usize,
    artifact: &'a str,
}

/// Reads such a line; returns `None` if it is none.
fn parts_of_line(content: &str) -> Option<LineParts<'_>> {
    let (before, rest) = content.split_once(" left out to fit, beginning: ")?;
    let (_, images) = before.rsplit_once(" characters")?;
    let images = match images.strip_prefix(" and ") {
        Some(images) => images.split_once(" image")?.0.parse().ok()?,
        None => 0,
    };
    let (shown, rest) = rest.rsplit_once("; read_result {\"id\":\"")?;
    let (artifact, end) = rest.split_once("\"}")?;
    (end == END).then_some(LineParts { images, shown: shown.chars().count(), artifact })
}

/// Returns the line that stands for a result (SPEC §12).
fn line(
    name: &str,
    failed: bool,
    content: &str,
    images: usize,
    shown: usize,
    artifact: &str,
) -> String {
    let outcome = if failed { "failed" } else { "succeeded" };
    let many = content.chars().count();
    let images = match images {
        0 => String::new(),
        1 => " and 1 image".to_owned(),
        many => format!(" and {many} images"),
    };
    let beginning = beginning(content, shown);
    format!(
        "[{name} {outcome}; {many} characters{images} left out to fit, beginning: {beginning}; \
         read_result {{\"id\":\"{artifact}\"}}{END}"
    )
}

/// Returns the first words, on one line, of at most `most` characters.
fn beginning(content: &str, most: usize) -> String {
    let mut beginning = String::new();
    let mut left = most;
    for word in content.split_whitespace() {
        let length = word.chars().count();
        if length > left && !beginning.is_empty() {
            break;
        }
        if !beginning.is_empty() {
            beginning.push(' ');
        }
        beginning.extend(word.chars().take(left));
        left = left.saturating_sub(length + 1);
    }
    beginning
}

#[cfg(test)]
mod tests {
    use super::*;

    // RN-3
    #[test]
    fn a_line_says_what_came_of_the_call_and_where_the_whole_is() {
        let content = format!("The first words\n  of {}", "many ".repeat(100));
        let many = content.chars().count();
        let expected = format!(
            "[fs__read succeeded; {many} characters left out to fit, beginning: The first words of many; \
             read_result {{\"id\":\"a1\"}} has the whole]"
        );
        assert_eq!(line("fs__read", false, &content, 0, 24, "a1"), expected);
        let shown = "The first words of many".len();
        let parts = |images| Some(LineParts { images, shown, artifact: "a1" });
        assert_eq!(parts_of_line(&expected), parts(0));
        assert_eq!(parts_of_line(&expected.replace(END, "")), None);
        let failed = line("f", true, &content, 2, 24, "a1");
        let begins = format!("[f failed; {many} characters and 2 images left out to fit, ");
        assert!(failed.starts_with(&begins), "{failed}");
        assert_eq!(parts_of_line(&failed), parts(2));
        assert_eq!(beginning(&"ä".repeat(200), 80), "ä".repeat(80));
        assert_eq!(beginning(" \n ", 80), "");
    }
}
