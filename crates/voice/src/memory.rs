//! The model's memory: the last turns, each complete.

use switchboard_agent::Conversation;
use switchboard_models::Message;

/// The conversation with only its last `turns` questions, and what followed each.
pub(crate) fn trimmed(conversation: &Conversation, turns: usize) -> Conversation {
    let messages = conversation.messages();
    let questions: Vec<usize> = messages
        .iter()
        .enumerate()
        .filter(|(_, message)| matches!(message, Message::User(_)))
        .map(|(place, _)| place)
        .collect();
    let Some(surplus) = questions.len().checked_sub(turns).filter(|surplus| *surplus > 0) else {
        return conversation.clone();
    };
    let from = questions.get(surplus).copied().unwrap_or(messages.len());
    let prompt = messages.iter().take_while(|message| matches!(message, Message::System(_)));
    let kept: Vec<Message> = prompt.chain(&messages[from..]).cloned().collect();
    kept.into()
}

/// How many questions it holds.
pub(crate) fn turns(conversation: &Conversation) -> usize {
    let is_question = |message: &&Message| matches!(message, Message::User(_));
    conversation.messages().iter().filter(is_question).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    // HM-2
    #[test]
    fn old_turns_are_forgotten_and_the_prompt_is_not() {
        let mut conversation = Conversation::with_system("Be brief.");
        for text in ["one", "two", "three"] {
            conversation.say(text);
        }
        for (kept, expected) in [
            (0, vec!["Be brief."]),
            (1, vec!["Be brief.", "three"]),
            (2, vec!["Be brief.", "two", "three"]),
            (9, vec!["Be brief.", "one", "two", "three"]),
        ] {
            let kept = trimmed(&conversation, kept);
            let texts: Vec<_> = kept
                .messages()
                .iter()
                .map(|message| match message {
                    Message::System(text) => text.as_str(),
                    Message::User(user) => user.content.as_str(),
                    _ => "?",
                })
                .collect();
            assert_eq!(texts, expected);
            assert_eq!(turns(&kept), expected.len() - 1);
        }
    }
}
