//! What is recorded of a run beside its whole turns (SPEC RN-1).

use std::{path::Path, time::Duration};

use serde_json::{Value, json};
use switchboard_agent::{Agent, AnswerSchema, RequestOptions, RunState, RunStore};
use switchboard_models::{Image, Message, UserMessage};

use crate::{
    resuming::recording,
    scripted::{ScriptedReply, TestAgent, calls, says},
};

/// Runs an agent recorded in `folder`; returns what is shown of its run.
async fn recorded_run(stage: &mut TestAgent, agent: Agent, folder: &Path) -> (RunState, Value) {
    let agent = agent.with_recording(recording(folder));
    let (events, cx) = (stage.watcher(), stage.cx.clone());
    // One that hangs is dropped, as when its client hangs up.
    let run = agent.run(&mut stage.conversation, &events, &cx);
    _ = tokio::time::timeout(Duration::from_secs(60), run).await;
    let store = RunStore::within(folder);
    let id = store.list(1).unwrap()[0].id;
    let detail = store.show(id).unwrap();
    (detail.summary.state, detail.to_json())
}

// RN-1: "as far as it came", whatever ended it.
#[tokio::test(start_paused = true)]
async fn what_was_said_of_a_turn_that_broke_off_is_recorded() {
    const SAID: &str = "The password is hunter2: password=hunter2 and so";
    let begins = || [calls(&[("echo", "{}")]), ScriptedReply::Begins(SAID)];
    let broken = [calls(&[("echo", "{}")]), ScriptedReply::Breaks(SAID)];
    let cases = [
        (TestAgent::new(begins()).cancelled_after(Duration::from_secs(5)), RunState::Cancelled),
        (TestAgent::new(begins()).configured("time_budget = '5s'"), RunState::Failed),
        (TestAgent::new(broken), RunState::Failed),
        (TestAgent::new(begins()), RunState::Cancelled),
    ];
    for (mut stage, expected) in cases {
        let folder = tempfile::tempdir().unwrap();
        let agent = stage.agent();
        let (state, shown) = recorded_run(&mut stage, agent, folder.path()).await;
        assert_eq!(state, expected, "{shown}");
        let said = SAID.replace("password=hunter2", "password=[redacted]");
        assert_eq!(shown["partial"], said, "{shown}");
        let messages = shown["messages"].as_array().unwrap();
        assert_eq!(messages.last().unwrap()["content"], said, "{shown}");
        assert_eq!((&shown["answer"], shown["turns"].as_u64()), (&Value::Null, Some(1)));
    }
    // Nothing is left of what became a whole turn.
    let folder = tempfile::tempdir().unwrap();
    let mut stage = TestAgent::new([says("Done.")]);
    let agent = stage.agent();
    let (state, shown) = recorded_run(&mut stage, agent, folder.path()).await;
    assert_eq!((state, shown.get("partial")), (RunState::Ended, None));
}

// RN-1, RN-4
#[tokio::test(start_paused = true)]
async fn what_the_model_was_told_of_its_answer_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let mut stage = TestAgent::new([says("It is warm."), says(r#"{"city":"Bonn"}"#)]);
    let schema =
        json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    let answer = Some(AnswerSchema::new(schema).unwrap());
    let agent = stage.agent().with_options(RequestOptions { answer, ..Default::default() });
    let (state, shown) = recorded_run(&mut stage, agent, folder.path()).await;
    assert_eq!(state, RunState::Ended);
    let expected = serde_json::to_value(&stage.conversation).unwrap();
    assert_eq!(shown["messages"], expected);
    let told = shown["messages"][3]["content"].as_str().unwrap();
    assert!(told.contains("the answer is not JSON"), "{told}");
    // The question is what was asked.
    assert_eq!(shown["question"], "Go");
    let store = RunStore::within(folder.path());
    let detail = store.show(store.list(1).unwrap()[0].id).unwrap();
    assert_eq!(detail.parts().0.len(), 2);
}

// RN-1
#[tokio::test(start_paused = true)]
async fn the_offered_tools_and_the_number_of_images_are_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let mut stage = TestAgent::new([says("Done.")]);
    let image = Image { media_type: "image/png".to_owned(), data: "aGk=".into() };
    let messages = [Message::User(UserMessage { images: vec![image], .."Go".into() })];
    stage.conversation = messages.to_vec().into();
    let agent = stage.agent().offering_where(|name| name.starts_with('w'));
    let (_, shown) = recorded_run(&mut stage, agent, folder.path()).await;
    let offered = &shown["settings"]["offered"];
    assert_eq!((&offered["count"], &offered["names"]), (&json!(2), &json!(["wait", "write"])));
    let store = RunStore::within(folder.path());
    let detail = store.show(store.list(1).unwrap()[0].id).unwrap();
    assert_eq!((detail.images.asked, detail.images.returned), (1, 0));
}
