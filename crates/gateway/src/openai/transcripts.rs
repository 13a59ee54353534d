//! Our own calls, remembered while a client runs its calls.
//!
//! A turn can call our tools and the client's. The client only sees its own calls, so its next request lacks ours. We keep
//! ours for a while, under the ids of the client's calls, and insert them where they were. After that time the conversation
//! goes on without them.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use indexmap::IndexMap;
use switchboard_access::Caller;
use switchboard_models::{AiMessage, Message, ModelCall};
use switchboard_toolcall::CallId;
use tokio::time::Instant;

/// How long a client may take to send the results of its calls.
const LONGEST: Duration = Duration::from_secs(60 * 60);
/// How much is kept for all clients together, in bytes.
const MOST: usize = 32 << 20;

/// The conversations between requests, the one that was used last at the end.
#[derive(Default)]
pub(super) struct Transcripts(Mutex<IndexMap<String, PartialTranscript>>);

#[derive(Clone)]
struct PartialTranscript {
    /// Only this caller gets it.
    caller: Option<Arc<str>>,
    messages: Arc<[Message]>,
    size: usize,
    used: Instant,
}

impl Transcripts {
    /// Keeps the messages of a run that ended with calls of the client's tools, and returns those calls with ids by which the
    /// messages are found again.
    pub(super) fn keep(
        &self,
        mut messages: Vec<Message>,
        mut calls: Vec<ModelCall>,
        caller: &Caller,
    ) -> Vec<ModelCall> {
        let key = CallId::generate().to_string();
        for (position, call) in calls.iter_mut().enumerate() {
            let id = format!("call_{key}_{position}");
            rename(&mut messages, &call.id, &id);
            call.id = id;
        }
        let size = serde_json::to_string(&messages).map_or(0, |text| text.len());
        let (caller, used) = (caller.name.clone(), Instant::now());
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(key, PartialTranscript { caller, messages: messages.into(), size, used });
        forget(&mut kept);
        calls
    }

    /// Inserts our calls into the client's messages.
    pub(super) fn attach(&self, messages: Vec<Message>, caller: &Caller) -> Vec<Message> {
        let mut attached = Vec::with_capacity(messages.len());
        let mut messages = messages.into_iter().peekable();
        while let Some(message) = messages.next() {
            let kept = match &message {
                Message::Ai(said) => self.find(said, caller),
                _ => None,
            };
            let Some(kept) = kept else {
                attached.push(message);
                continue;
            };
            let begin = attached.len();
            attached.extend(kept.iter().cloned());
            while let Some(reply) = messages.next_if(|next| matches!(next, Message::Tool(_))) {
                answer(&mut attached[begin..], reply);
            }
        }
        attached
    }

    fn find(&self, said: &AiMessage, caller: &Caller) -> Option<Arc<[Message]>> {
        let key = said.tool_calls.iter().find_map(|call| key(&call.id))?;
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        forget(&mut all);
        all.get(key).filter(|kept| kept.caller == caller.name)?;
        let (key, mut kept) = all.shift_remove_entry(key)?;
        kept.used = Instant::now();
        let messages = kept.messages.clone();
        all.insert(key, kept);
        Some(messages)
    }
}

/// Returns the key within a call's id.
fn key(id: &str) -> Option<&str> {
    id.strip_prefix("call_")?.rsplit_once('_').map(|(key, _)| key)
}

/// Changes the id of a call and of its reply.
fn rename(messages: &mut [Message], old: &str, new: &str) {
    for message in messages {
        match message {
            Message::Ai(said) => {
                for call in said.tool_calls.iter_mut().filter(|call| call.id == old) {
                    call.id = new.to_owned();
                }
            }
            Message::Tool(reply) if reply.tool_call_id == old => {
                reply.tool_call_id = new.to_owned();
            }
            _ => {}
        }
    }
}

/// Puts a client's reply into the slot of its call.
fn answer(messages: &mut [Message], reply: Message) {
    let Message::Tool(reply) = reply else { return };
    let slot = messages.iter_mut().find_map(|message| match message {
        Message::Tool(slot) if slot.tool_call_id == reply.tool_call_id => Some(slot),
        _ => None,
    });
    match slot {
        Some(slot) => *slot = reply,
        None => tracing::warn!(call = reply.tool_call_id, "a reply to no call was dropped"),
    }
}

/// Drops those that are too old, and the oldest beyond the size limit.
fn forget(all: &mut IndexMap<String, PartialTranscript>) {
    let mut size: usize = all.values().map(|kept| kept.size).sum();
    let is_old = |kept: &PartialTranscript| kept.used.elapsed() > LONGEST;
    let mut many = 0;
    for kept in all.values() {
        if size <= MOST && !is_old(kept) {
            break;
        }
        size -= kept.size;
        many += 1;
    }
    all.drain(..many);
}

#[cfg(test)]
mod tests {
    use switchboard_models::{Arguments, ToolReply};

    use super::*;

    fn caller(name: &str) -> Caller {
        Caller::new(Some(name.into()), None)
    }

    /// Keeps a turn with a call of ours and one of the client's, whose reply has `size` characters.
    fn run(transcripts: &Transcripts, size: usize) -> Vec<Message> {
        let call = |id: &str| ModelCall {
            id: id.to_owned(),
            name: id.to_owned(),
            args: Arguments::parse("{}"),
            recovered: false,
        };
        let reply = |id: &str, content: String| {
            Message::Tool(ToolReply { content, tool_call_id: id.to_owned(), ..Default::default() })
        };
        let tool_calls = vec![call("ours"), call("theirs")];
        let messages = vec![
            Message::Ai(AiMessage { tool_calls, ..AiMessage::default() }),
            reply("ours", "x".repeat(size)),
            reply("theirs", "left".to_owned()),
        ];
        let calls = transcripts.keep(messages, vec![call("theirs")], &caller("a"));
        let id = calls[0].id.clone();
        let said = AiMessage { tool_calls: calls, ..AiMessage::default() };
        vec![Message::User("go".into()), Message::Ai(said), reply(&id, "done".to_owned())]
    }

    /// Returns how many messages there are once our calls are inserted, and the text of the last.
    fn attached(transcripts: &Transcripts, sent: &[Message], name: &str) -> (usize, String) {
        let messages = transcripts.attach(sent.to_vec(), &caller(name));
        let Some(Message::Tool(reply)) = messages.last() else { panic!("{messages:?}") };
        (messages.len(), reply.content.clone())
    }

    #[tokio::test(start_paused = true)]
    async fn ours_come_back_for_their_caller_and_for_a_while() {
        let transcripts = Transcripts::default();
        let sent = run(&transcripts, 1);
        assert_eq!(attached(&transcripts, &sent, "a"), (4, "done".to_owned()));
        assert_eq!(attached(&transcripts, &sent, "b"), (3, "done".to_owned()), "not theirs");
        tokio::time::advance(LONGEST).await;
        assert_eq!(attached(&transcripts, &sent, "a").0, 4, "just in time, and used again");
        tokio::time::advance(LONGEST + Duration::from_secs(1)).await;
        assert_eq!(attached(&transcripts, &sent, "a").0, 3, "forgotten");
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_make_room() {
        let transcripts = Transcripts::default();
        let first = run(&transcripts, MOST / 2);
        let second = run(&transcripts, MOST / 2);
        assert_eq!(attached(&transcripts, &first, "a").0, 3);
        assert_eq!(attached(&transcripts, &second, "a").0, 4);
    }
}
