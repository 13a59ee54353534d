//! Answers that have to fit a schema, and runs that may cost only so much (SPEC RN-4).

use serde_json::json;
use switchboard_agent::{AgentEvent, AgentOutcome, AnswerSchema, RequestOptions, StopCause};
use switchboard_models::{Message, ToolChoice};

use crate::scripted::{ScriptedReply, TestAgent, calls, says};

const RIGHT: &str = r#"{"city":"Bonn","temp":21}"#;

async fn ask(script: Vec<ScriptedReply>) -> (TestAgent, AgentOutcome) {
    let mut stage = TestAgent::new(script);
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}, "temp": {"type": "integer"}},
        "required": ["city", "temp"]});
    let answer = Some(AnswerSchema::new(schema).unwrap());
    let agent = stage.agent().with_options(RequestOptions { answer, ..Default::default() });
    let (watcher, cx) = (stage.watcher(), stage.cx.clone());
    let outcome = agent.run(&mut stage.conversation, &watcher, &cx).await;
    (stage, outcome)
}

fn streamed_text(stage: &TestAgent) -> String {
    let events = stage.events.lock().unwrap();
    let text = events.iter().filter_map(|event| match event {
        AgentEvent::Text(text) => Some(&**text),
        _ => None,
    });
    text.collect()
}

// RN-4
#[tokio::test(start_paused = true)]
async fn an_answer_that_fits_is_the_answer() {
    let fenced = format!("```json\n{RIGHT}\n```");
    for said in [RIGHT, &fenced] {
        let (stage, outcome) = ask(vec![calls(&[("echo", "{}")]), says(said)]).await;
        assert_eq!(outcome.answer.as_deref(), Some(RIGHT));
        assert_eq!((outcome.stop, streamed_text(&stage).as_str()), (StopCause::Answer, RIGHT));
        // The model is told before, and the conversation does not have it.
        let Message::System(told) = &stage.requests()[0][1] else { panic!() };
        assert!(told.contains(r#""required":["city","temp"]"#), "{told}");
        assert!(!stage.conversation.messages().contains(&Message::System(told.clone())));
    }
}

// RN-4
#[tokio::test(start_paused = true)]
async fn a_wrong_answer_is_asked_for_once_more() {
    let (stage, outcome) = ask(vec![says("It is warm."), says(RIGHT)]).await;
    assert_eq!(outcome.answer.as_deref(), Some(RIGHT));
    assert_eq!(streamed_text(&stage), RIGHT);
    let asked = stage.asked();
    assert_eq!((asked.len(), &asked[1].2), (2, &ToolChoice::Never));
    let Some(Message::User(told)) = stage.requests()[1].last().cloned() else { panic!() };
    assert!(told.content.contains("the answer is not JSON"), "{told:?}");
}

// RN-4
#[tokio::test(start_paused = true)]
async fn two_wrong_answers_are_none() {
    let (stage, outcome) = ask(vec![says("It is warm."), says(r#"{"city":"Bonn"}"#)]).await;
    assert_eq!((outcome.stop, &outcome.answer), (StopCause::InvalidAnswer, &None));
    assert_eq!(outcome.invalid_answer.as_deref(), Some("missing 'temp'"));
    assert_eq!(streamed_text(&stage), "");
}

// RN-4
#[tokio::test(start_paused = true)]
async fn no_call_is_made_once_the_money_is_spent() {
    let script = [calls(&[("echo", "{}")]), calls(&[("echo", "{}")]), says("So.")];
    // A turn is 10 tokens in and 5 out.
    let mut stage =
        TestAgent::new(script.clone()).configured("cost_budget = 0.00004").with_price(1.0, 2.0);
    let outcome = stage.run().await;
    assert_eq!((outcome.stop, outcome.cost), (StopCause::CostBudget, Some(0.00004)));
    let said = "Error: Tool 'echo' was not run: the run has cost 0.00004, the budget was 0.00004";
    assert_eq!(stage.texts()[1], said);
    let mut unpriced = TestAgent::new(script).configured("cost_budget = 0.00004");
    let outcome = unpriced.run().await;
    assert_eq!((outcome.stop, outcome.cost), (StopCause::Answer, None));
    let warns = |event: &AgentEvent| matches!(event, AgentEvent::Warning(text) if text.contains("no `price`"));
    assert!(unpriced.events.lock().unwrap().iter().any(warns));
}
