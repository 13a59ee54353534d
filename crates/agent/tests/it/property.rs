//! Random models, tools and cancellations.

use std::time::Duration;

use proptest::prelude::*;
use switchboard_agent::{AgentEvent, Conversation};
use switchboard_models::{Message, StopReason};

use crate::scripted::{ScriptedReply, TestAgent, check, says, turn};

fn a_call() -> impl Strategy<Value = (&'static str, &'static str)> {
    let names = ["echo", "fails", "panics", "wait", "write", "progress", "denied", "nobody", ""];
    let args = [r#"{"secs":1}"#, r#"{"secs":3}"#, r#"{"secs":60}"#, r#"{"secs":"#, "[]", ""];
    (prop::sample::select(names.to_vec()), prop::sample::select(args.to_vec()))
}

fn a_turn() -> impl Strategy<Value = ScriptedReply> {
    let reasons = prop_oneof![
        8 => Just(StopReason::ToolUse),
        1 => Just(StopReason::MaxTokens),
        1 => Just(StopReason::Answer),
        1 => Just(StopReason::Refusal),
        1 => Just(StopReason::ContextFull),
    ];
    let calls = prop::collection::vec(a_call(), 0..6);
    // Ids as careless providers give them: missing, or the same again.
    let ids = prop::sample::select(vec!["", "call_1", "call_2_0"]);
    let turn = (calls, reasons, ids).prop_map(|(calls, reason, id)| {
        let ScriptedReply::Turn(mut turn) = turn("text", &calls, reason) else { unreachable!() };
        turn.message.tool_calls.iter_mut().for_each(|call| call.id = id.to_owned());
        ScriptedReply::Turn(turn)
    });
    prop_oneof![12 => turn, 1 => Just(ScriptedReply::Fails), 1 => Just(ScriptedReply::Hangs), 1 => Just(ScriptedReply::Begins("half a")), 1 => Just(says("Hi"))]
}

const CONFIGS: [&str; 4] = [
    "",
    "max_parallel = 1\nmax_iterations = 4",
    "sequential_writes = true\ntime_budget = '20s'",
    "token_budget = 60\nmax_parallel = 2",
];

/// Runs twice, cancelled or dropped along the way, and looks at what is left.
async fn holds(script: Vec<ScriptedReply>, config: &str, cancel: u64, dropped: u64) {
    let mut stage = TestAgent::new(script)
        .denying("denied")
        .configured(config)
        .cancelled_after(Duration::from_millis(cancel));
    let limit = Duration::from_millis(dropped);
    let whole = tokio::time::timeout(limit, stage.run()).await.is_ok();
    check(stage.conversation.messages());
    let count = |wanted: fn(&AgentEvent) -> bool| {
        stage.events.lock().unwrap().iter().filter(|event| wanted(event)).count()
    };
    let finished = count(|event| matches!(event, AgentEvent::CallFinished { .. }));
    let asked: usize = stage
        .conversation
        .messages()
        .iter()
        .map(|message| match message {
            Message::Ai(message) => message.tool_calls.len(),
            _ => 0,
        })
        .sum();
    assert_eq!(stage.replies().len(), asked);
    if whole {
        assert_eq!(finished, asked);
    }
    let text = serde_json::to_string(&stage.conversation).unwrap();
    assert_eq!(serde_json::from_str::<Conversation>(&text).unwrap(), stage.conversation);
    stage.conversation.say("Go on");
    let _ = tokio::time::timeout(Duration::from_secs(600), stage.run()).await;
    check(stage.conversation.messages());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    // ML-5: always one reply per call, in order, and the conversation stays valid.
    #[test]
    fn every_call_has_one_reply(
        script in prop::collection::vec(a_turn(), 0..12),
        config in prop::sample::select(CONFIGS.to_vec()),
        cancel in prop_oneof![Just(900_000_u64), 0..70_000_u64],
        dropped in prop_oneof![3 => Just(1_000_000_u64), 1 => 0..70_000_u64],
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(holds(script, config, cancel, dropped));
    }

    // ML-5: loading makes any list of messages valid, and then changes nothing more.
    #[test]
    fn any_messages_become_a_conversation(kinds in prop::collection::vec((0..4_u8, 0..3_u8), 0..12)) {
        let messages: Vec<Message> = kinds.into_iter().map(|(kind, id)| {
            let text = match kind {
                0 => r#"{"role":"user","content":"u"}"#.to_owned(),
                1 => r#"{"role":"system","content":"s"}"#.to_owned(),
                2 => format!(r#"{{"role":"assistant","content":"","tool_calls":[
                    {{"id":"{id}","name":"f","args":{{}}}},{{"id":"1","name":"g","args":"x"}}]}}"#),
                _ => format!(r#"{{"role":"tool","content":"r","tool_call_id":"{id}"}}"#),
            };
            serde_json::from_str(&text).unwrap()
        }).collect();
        let once = Conversation::from(messages);
        check(once.messages());
        prop_assert_eq!(Conversation::from(once.messages().to_vec()), once);
    }
}
