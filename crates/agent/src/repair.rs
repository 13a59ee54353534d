//! Makes a valid conversation of messages that were kept somewhere (ML-5).

use switchboard_models::{AiMessage, Message, ToolReply};

use crate::Conversation;

/// Replays the messages; invalid ones are dropped, missing ones are replaced by a note.
pub(crate) fn conversation(messages: Vec<Message>) -> Conversation {
    let mut conversation = Conversation::new();
    let mut asked = false;
    let mut messages = messages.into_iter().peekable();
    while let Some(message) = messages.next() {
        match message {
            Message::System(text) => conversation.remind(text),
            Message::User(message) => {
                asked = true;
                conversation.say(message);
            }
            Message::Ai(message) => {
                let mut replies = Vec::new();
                while let Some(Message::Tool(reply)) =
                    messages.next_if(|next| matches!(next, Message::Tool(_)))
                {
                    replies.push(reply);
                }
                // Providers want the user to speak first.
                if asked {
                    append(&mut conversation, message, replies);
                }
            }
            Message::Tool(reply) => dropped(&reply),
        }
    }
    conversation
}

/// Appends a model's message with the replies to its calls.
fn append(conversation: &mut Conversation, message: AiMessage, replies: Vec<ToolReply>) {
    // By the ids as they were stored, before duplicates are replaced.
    let ids: Vec<_> = message.tool_calls.iter().map(|call| call.id.clone()).collect();
    let mut replies: Vec<_> = replies.into_iter().map(Some).collect();
    let mut slots = conversation.append(message);
    for (position, id) in ids.iter().enumerate() {
        let answers = |reply: &Option<ToolReply>| {
            reply.as_ref().is_some_and(|reply| reply.tool_call_id == *id)
        };
        if let Some(reply) = replies.iter().position(answers)
            && let Some(reply) = replies[reply].take()
        {
            slots.fill(position, reply);
        }
    }
    for (_, call) in slots.open() {
        tracing::warn!(call = call.id, tool = call.name, "a call without a reply was given one");
    }
    replies.iter().flatten().for_each(dropped);
}

fn dropped(reply: &ToolReply) {
    tracing::warn!(call = reply.tool_call_id, "a reply to no call was dropped");
}
