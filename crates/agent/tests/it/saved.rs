//! Conversations that were kept, broken ones included.

use serde_json::{Value, json};
use switchboard_agent::Conversation;

use crate::scripted::{TestAgent, calls, check, says};

fn load(messages: &Value) -> Value {
    let conversation: Conversation = serde_json::from_value(messages.clone()).unwrap();
    check(conversation.messages());
    serde_json::to_value(&conversation).unwrap()
}

fn call(id: &str) -> Value {
    json!({"id": id, "name": "f", "args": {}})
}

fn reply(id: &str, content: &str) -> Value {
    json!({"role": "tool", "content": content, "tool_call_id": id, "is_error": false})
}

// ML-5: resumed ones included.
#[test]
fn dangling_calls_get_replies_and_orphans_go() {
    let user = json!({"role": "user", "content": "Go"});
    let ai = |calls: &[Value]| json!({"role": "assistant", "content": "", "tool_calls": calls});
    let unknown = |id: &str| {
        let text = "Error: no result of this call was kept; side effects may have happened";
        json!({"role": "tool", "content": text, "tool_call_id": id, "is_error": true})
    };
    let system = json!({"role": "system", "content": "Obey"});
    let (a, b) = (call("a"), call("b"));
    let both = ai(&[a.clone(), b.clone()]);
    for (saved, repaired) in [
        (json!([user, both]), json!([user, both, unknown("a"), unknown("b")])),
        (
            json!([user, both, reply("b", "2"), user]),
            json!([user, both, unknown("a"), reply("b", "2"), user]),
        ),
        (
            json!([user, both, reply("b", "2"), reply("a", "1"), reply("a", "3"), reply("x", "9")]),
            json!([user, both, reply("a", "1"), reply("b", "2")]),
        ),
        (json!([reply("a", "1"), system, user]), json!([system, user])),
        (json!([system, both, reply("a", "1"), user]), json!([system, user])),
        (
            json!([user, ai(&[a.clone(), call("a")]), reply("a", "1"), reply("a", "2")]),
            json!([
                user,
                ai(&[a.clone(), call("call_1_1")]),
                reply("a", "1"),
                reply("call_1_1", "2")
            ]),
        ),
    ] {
        assert_eq!(load(&saved), repaired);
        assert_eq!(load(&repaired), repaired);
    }
}

// ML-8
#[tokio::test(start_paused = true)]
async fn a_run_reads_back_as_it_was() {
    let turn = calls(&[("echo", r#"{"n":1.50}"#), ("echo", r#"{"a":"#)]);
    let mut stage = TestAgent::new([turn, says("Done.")]);
    stage.run().await;
    let text = serde_json::to_string(&stage.conversation).unwrap();
    assert_eq!(serde_json::from_str::<Conversation>(&text).unwrap(), stage.conversation);
}
