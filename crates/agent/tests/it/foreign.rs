//! Tools that the caller runs itself.

use serde_json::json;
use switchboard_agent::{AgentEvent, AgentOutcome, RequestOptions, StopCause};
use switchboard_models::{Message, StopReason, ToolChoice, ToolReply};
use switchboard_toolcall::ToolSpec;

use crate::scripted::{ScriptedReply, TestAgent, calls, check, says, turn};

/// Runs with tools of these names that are the caller's.
async fn run(stage: &mut TestAgent, foreign: &[&str], options: RequestOptions) -> AgentOutcome {
    let spec = |name: &&str| ToolSpec::new(*name, "The caller's", json!({"type": "object"}));
    let tools = foreign.iter().map(spec).collect();
    let agent = stage.agent().with_foreign_tools(tools).with_options(options);
    let watcher = stage.watcher();
    let outcome = agent.run(&mut stage.conversation, &watcher, &stage.cx).await;
    check(stage.conversation.messages());
    outcome
}

fn names(outcome: &AgentOutcome) -> Vec<&str> {
    outcome.foreign_calls.iter().map(|call| &*call.name).collect()
}

fn reply(id: &str, content: &str) -> ToolReply {
    let (tool_call_id, content) = (id.to_owned(), content.to_owned());
    ToolReply { content, tool_call_id, ..ToolReply::default() }
}

// ML-4, ML-5: ours run, theirs come back, and the conversation goes on from there.
#[tokio::test(start_paused = true)]
async fn a_turn_may_mix_ours_and_theirs() {
    let mixed = [("theirs", r#"{"x":1}"#), ("echo", r#"{"a":1}"#), ("theirs", "{}")];
    let mut stage = TestAgent::new([calls(&[("echo", "{}")]), calls(&mixed), says("Done.")]);
    let outcome = run(&mut stage, &["theirs"], RequestOptions::default()).await;
    assert_eq!((outcome.stop, outcome.answer.as_deref()), (StopCause::Foreign, None));
    assert_eq!(names(&outcome), ["theirs", "theirs"]);
    assert_eq!(outcome.turns.len(), 2);
    // Seven tools are shown: six of ours and theirs.
    assert_eq!(stage.asked()[0], (2, 7, ToolChoice::Auto));
    let left = "Error: this call was left to the caller, which has not said what became of it";
    assert_eq!(stage.texts(), ["{}", left, r#"{"a":1}"#, left]);

    let ids: Vec<_> = outcome.foreign_calls.iter().map(|call| call.id.clone()).collect();
    assert!(stage.conversation.reply(reply(&ids[1], "two")));
    assert!(!stage.conversation.reply(reply(&ids[1], "again")), "it is answered");
    assert!(!stage.conversation.reply(reply("nobody", "")), "there is no such call");
    let outcome = run(&mut stage, &["theirs"], RequestOptions::default()).await;
    assert_eq!(outcome.answer.as_deref(), Some("Done."));
    assert_eq!(stage.texts(), ["{}", left, r#"{"a":1}"#, "two"]);
    let told = stage.events.lock().unwrap();
    let begun = told.iter().filter(|event| matches!(event, AgentEvent::CallStarted { .. })).count();
    assert_eq!(begun, 2, "theirs are never begun here");
}

#[tokio::test(start_paused = true)]
async fn the_callers_tool_wins_over_ours() {
    let mut stage = TestAgent::new([calls(&[("write", "{}")])]);
    let outcome = run(&mut stage, &["write"], RequestOptions::default()).await;
    assert_eq!(names(&outcome), ["write"]);
    assert!(stage.witness.seen().is_empty());
    assert_eq!(stage.asked()[0].1, 6, "one of six is theirs now");
}

// ML-5: what may be cut is nobody's to run.
#[tokio::test(start_paused = true)]
async fn calls_of_a_cut_turn_do_not_come_back() {
    let cut = turn("", &[("theirs", r#"{"x":"#)], StopReason::MaxTokens);
    let mut stage = TestAgent::new([cut, says("Short.")]);
    let outcome = run(&mut stage, &["theirs"], RequestOptions::default()).await;
    assert_eq!((outcome.stop, names(&outcome)), (StopCause::Answer, vec![]));
    assert!(stage.texts()[0].contains("cut by its token limit"), "{:?}", stage.texts());
}

#[tokio::test(start_paused = true)]
async fn options_hold_as_long_as_they_can() {
    let choice = ToolChoice::One("echo".to_owned());
    let cases: [(ToolChoice, Vec<ScriptedReply>, Vec<ToolChoice>); 2] = [
        (
            choice.clone(),
            vec![calls(&[("echo", "{}")]), says("Ok.")],
            vec![choice, ToolChoice::Auto],
        ),
        (ToolChoice::Never, vec![says("Ok.")], vec![ToolChoice::Never]),
    ];
    for (choice, script, expected) in cases {
        let mut stage = TestAgent::new(script);
        let options = RequestOptions { choice, ..RequestOptions::default() };
        assert_eq!(run(&mut stage, &[], options).await.answer.as_deref(), Some("Ok."));
        let seen: Vec<_> = stage.asked().into_iter().map(|(_, _, choice)| choice).collect();
        assert_eq!(seen, expected);
    }
}

// ML-9: several restrictions all hold.
#[tokio::test(start_paused = true)]
async fn restrictions_add_up() {
    let mut stage =
        TestAgent::new([calls(&[("echo", "{}"), ("write", "{}"), ("wait", "{}")]), says("")]);
    let globs = switchboard_toolcall::ToolPatterns::new(&["e*", "w*"]).unwrap();
    let agent = stage.agent().offering(globs).offering_where(|name| name != "write");
    let watcher = stage.watcher();
    agent.run(&mut stage.conversation, &watcher, &stage.cx).await;
    assert_eq!(stage.asked()[0].1, 2, "echo and wait");
    assert_eq!(stage.texts(), ["{}", r#"Error: Unknown tool "write""#, "done"]);
    assert!(matches!(stage.conversation.messages().last(), Some(Message::Ai(_))));
}
