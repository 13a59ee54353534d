//! Every way in which the loop stops.

use std::time::Duration;

use switchboard_agent::{AgentEvent, Conversation, StopCause};
use switchboard_models::{AiMessage, Message, StopReason, ToolChoice, Usage};
use switchboard_toolcall::{CallContext, ToolPatterns};

use crate::scripted::{ScriptedReply, TestAgent, calls, says, turn};

// ML-4, ML-7
#[tokio::test(start_paused = true)]
async fn an_answer_ends_it() {
    let mut stage = TestAgent::new([calls(&[("echo", r#"{"a":1}"#)]), says("It is 1.")]);
    let outcome = stage.run().await;
    assert_eq!((outcome.stop, outcome.answer.as_deref()), (StopCause::Answer, Some("It is 1.")));
    assert_eq!(outcome.usage, Usage { input_tokens: 20, output_tokens: 10 });
    assert_eq!(outcome.turns.len(), 2);
    // The whole history goes back: system, user, call, reply.
    assert_eq!(stage.asked(), [(2, 6, ToolChoice::Auto), (4, 6, ToolChoice::Auto)]);
    assert_eq!(stage.texts(), [r#"{"a":1}"#]);
    assert_eq!(stage.conversation.messages().len(), 5);
}

// ML-4: the last turn is asked without tools.
#[tokio::test(start_paused = true)]
async fn the_last_turn_has_no_tools() {
    let script = (0..9).map(|n| calls(&[("echo", &format!(r#"{{"n":{n}}}"#))]));
    let mut stage = TestAgent::new(script.chain([says("That is all I found.")]));
    let outcome = stage.run().await;
    assert_eq!(outcome.stop, StopCause::MaxIterations);
    assert_eq!(outcome.answer.as_deref(), Some("That is all I found."));
    let choices: Vec<_> = stage.asked().into_iter().map(|(_, _, choice)| choice).collect();
    assert_eq!(choices[..9], [const { ToolChoice::Auto }; 9]);
    assert_eq!(choices[9..], [ToolChoice::Never]);
}

// ML-5
#[tokio::test(start_paused = true)]
async fn a_call_in_the_last_turn_is_not_run() {
    let mut stage = TestAgent::new([calls(&[("write", "{}")])]).configured("max_iterations = 1");
    let outcome = stage.run().await;
    assert_eq!((outcome.stop, outcome.answer), (StopCause::MaxIterations, None));
    let text = "Error: Tool 'write' was not run: no more calls are allowed in this run";
    assert_eq!(stage.texts(), [text]);
    assert!(stage.witness.seen().is_empty());
}

// ML-4
#[tokio::test(start_paused = true)]
async fn spent_tokens_end_it() {
    let script = [calls(&[("echo", "{}")]), calls(&[("write", "{}")])];
    let mut stage = TestAgent::new(script).configured("token_budget = 30");
    assert_eq!(stage.run().await.stop, StopCause::Budget);
    let text = "Error: Tool 'write' was not run: 30 tokens are spent, the budget was 30";
    assert_eq!(stage.texts(), ["{}", text]);
    assert!(stage.witness.seen().is_empty());
}

// ML-4
#[tokio::test(start_paused = true)]
async fn spent_time_ends_it_in_a_call_and_in_a_turn() {
    let script = [calls(&[("echo", "{}"), ("write", r#"{"secs":9}"#)])];
    let mut stage = TestAgent::new(script).configured("time_budget = '3s'");
    let began = tokio::time::Instant::now();
    assert_eq!(stage.run().await.stop, StopCause::Budget);
    assert_eq!(began.elapsed().as_secs(), 3);
    let text = "Error: Tool 'write' was cancelled; side effects may have happened";
    assert_eq!(stage.texts(), ["{}", text]);

    let mut stage = TestAgent::new([ScriptedReply::Hangs]).configured("time_budget = '3s'");
    let began = tokio::time::Instant::now();
    assert_eq!(stage.run().await.stop, StopCause::Budget);
    assert_eq!(began.elapsed().as_secs(), 3);
}

#[tokio::test(start_paused = true)]
async fn cancelling_a_turn_leaves_the_question() {
    let mut stage = TestAgent::new([ScriptedReply::Hangs]).cancelled_after(Duration::from_secs(1));
    assert_eq!(stage.run().await.stop, StopCause::Cancelled);
    assert_eq!(stage.conversation.messages().len(), 2);
    assert!(stage.conversation.awaits_model());
}

// ML-8: what was read before the cancel stays, and the conversation goes on from there.
#[tokio::test(start_paused = true)]
async fn text_that_was_shown_before_a_cancel_is_kept() {
    for (shown, kept) in [("It is", 3), ("  \n", 2)] {
        let script = [calls(&[("echo", "{}")]), ScriptedReply::Begins(shown), says("Done.")];
        for config in ["", "time_budget = '1s'"] {
            let mut stage = TestAgent::new(script.clone()).configured(config);
            if config.is_empty() {
                stage = stage.cancelled_after(Duration::from_secs(1));
            }
            let outcome = stage.run().await;
            assert!(matches!(outcome.stop, StopCause::Cancelled | StopCause::Budget));
            assert_eq!(outcome.answer, None);
            let messages = stage.conversation.messages();
            assert_eq!(messages.len(), 2 + kept);
            if kept == 3 {
                assert_eq!(messages[4], Message::Ai(AiMessage::text(shown)));
            }
            stage.cx = CallContext::default();
            stage.config.time_budget = None;
            stage.conversation.say("Go on");
            assert_eq!(stage.run().await.answer.as_deref(), Some("Done."));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_fails_says_how() {
    let mut stage = TestAgent::new([calls(&[("echo", "{}")]), ScriptedReply::Fails]);
    let outcome = stage.run().await;
    assert_eq!(outcome.stop, StopCause::ModelFailed);
    assert_eq!(outcome.error.unwrap().to_string(), "it burns");
    assert_eq!(outcome.turns.len(), 1);
    assert_eq!(stage.texts(), ["{}"]);
}

#[tokio::test(start_paused = true)]
async fn nothing_asked_nothing_sent() {
    let mut stage = TestAgent::new([says("Hi")]);
    stage.conversation = Conversation::new();
    assert_eq!(stage.run().await.stop, StopCause::ModelFailed);
    assert!(stage.asked().is_empty());
}

// ML-5
#[tokio::test(start_paused = true)]
async fn a_cut_turn_runs_nothing_and_goes_on() {
    let cut = turn("", &[("write", "{}"), ("write", r#"{"secs":"#)], StopReason::MaxTokens);
    let mut stage = TestAgent::new([cut, says("Sorry.")]);
    assert_eq!(stage.run().await.stop, StopCause::Answer);
    assert!(stage.witness.seen().is_empty());
    assert_eq!(stage.replies().len(), 2);
    for reply in stage.replies() {
        assert!(reply.is_error);
        assert!(reply.content.contains("the turn was cut by its token limit"), "{reply:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_ends_it() {
    let refusal = turn("No.", &[("write", "{}")], StopReason::Refusal);
    let mut stage = TestAgent::new([refusal]);
    let outcome = stage.run().await;
    assert_eq!((outcome.stop, outcome.reason), (StopCause::Answer, Some(StopReason::Refusal)));
    assert!(stage.witness.seen().is_empty());
}

// ML-9
#[tokio::test(start_paused = true)]
async fn only_what_is_offered_can_be_called() {
    let mut stage = TestAgent::new([calls(&[("write", "{}"), ("echo", "{}")]), says("Done.")]);
    let agent = stage.agent().offering(ToolPatterns::new(&["ec*"]).unwrap());
    let watcher = stage.watcher();
    agent.run(&mut stage.conversation, &watcher, &stage.cx).await;
    assert_eq!(stage.asked()[0].1, 1);
    assert_eq!(stage.texts(), [r#"Error: Unknown tool "write""#, "{}"]);
    assert!(stage.witness.seen().is_empty());
}

// TL-7
#[tokio::test(start_paused = true)]
async fn what_the_policy_denies_is_not_offered() {
    let mut all = TestAgent::new([says("Done.")]);
    all.run().await;
    let denying = TestAgent::new([calls(&[("secret", "{}")]), says("Done.")]);
    let mut denying = denying.denying("secret");
    denying.run().await;
    assert_eq!(denying.asked()[0].1, all.asked()[0].1, "one more tool, which is not offered");
    assert!(denying.texts()[0].contains("denied by policy"), "{:?}", denying.texts());
}

#[tokio::test(start_paused = true)]
async fn those_who_watch_hear_it_all() {
    let stage = TestAgent::new([calls(&[("progress", "{}")]), says("Done.")]);
    // A run can be a task of its own.
    let (agent, watcher, cx) = (stage.agent(), stage.watcher(), stage.cx.clone());
    let mut conversation = stage.conversation.clone();
    let run = async move { agent.run(&mut conversation, &watcher, &cx).await.stop };
    assert_eq!(tokio::spawn(run).await.unwrap(), StopCause::Answer);
    let heard: Vec<_> = std::mem::take(&mut *stage.events.lock().unwrap());
    let names: Vec<_> = heard
        .iter()
        .map(|event| match event {
            AgentEvent::Text(text) if text.is_empty() => "",
            AgentEvent::Text(_) => "text",
            AgentEvent::CallStarted { .. } => "started",
            AgentEvent::Progress { .. } => "progress",
            AgentEvent::CallFinished { outcome, .. } => outcome,
            AgentEvent::Turn { .. } => "turn",
            _ => "?",
        })
        .collect();
    assert_eq!(names, ["", "turn", "started", "progress", "ok", "text", "turn"]);
}

// ML-7: a provider that claims nonsense breaks nothing.
#[tokio::test(start_paused = true)]
async fn absurd_costs_are_bounded() {
    let mut script = [calls(&[("echo", "{}")]), says("Done.")];
    for says in &mut script {
        let ScriptedReply::Turn(turn) = says else { panic!() };
        turn.usage = Usage { input_tokens: u64::MAX, output_tokens: u64::MAX };
    }
    let outcome = TestAgent::new(script).run().await;
    assert_eq!((outcome.stop, outcome.usage.input_tokens), (StopCause::Answer, u64::MAX));
}
