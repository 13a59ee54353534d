//! One reply for each call, in order, whatever becomes of it.

use serde_json::json;
use switchboard_agent::StopCause;
use switchboard_models::Message;
use switchboard_testkit::Fake;
use tokio::time::Instant;

use crate::scripted::{TestAgent, calls, says};

const WAITS: [(&str, &str); 3] =
    [("wait", r#"{"secs":3}"#), ("wait", r#"{"secs":1}"#), ("wait", r#"{"secs":2}"#)];

/// How many seconds the calls take, and what the witness saw.
async fn seconds(calls_: &[(&str, &str)], config: &str) -> (u64, Vec<&'static str>) {
    let mut stage = TestAgent::new([calls(calls_), says("Done.")]).configured(config);
    let began = Instant::now();
    assert_eq!(stage.run().await.stop, StopCause::Answer);
    let ids: Vec<_> = stage.replies().into_iter().map(|reply| reply.tool_call_id).collect();
    let Message::Ai(message) = &stage.conversation.messages()[2] else { panic!() };
    let asked: Vec<_> = message.tool_calls.iter().map(|call| call.id.clone()).collect();
    assert_eq!(ids, asked);
    (began.elapsed().as_secs(), stage.witness.seen())
}

// ML-4: in parallel, bounded; replies in call order.
#[tokio::test(start_paused = true)]
async fn calls_run_side_by_side() {
    assert_eq!(seconds(&WAITS, "").await.0, 3);
    assert_eq!(seconds(&WAITS, "max_parallel = 2").await.0, 3);
    assert_eq!(seconds(&WAITS, "max_parallel = 1").await.0, 6);
}

// ML-4: tools that are not read-only can be set to run one at a time.
#[tokio::test(start_paused = true)]
async fn writes_run_one_at_a_time_where_set() {
    let writes = WAITS.map(|(_, args)| ("write", args));
    assert_eq!(seconds(&writes, "").await.0, 3);
    let (secs, seen) = seconds(&writes, "sequential_writes = true").await;
    assert_eq!(secs, 6);
    assert_eq!(seen, ["begun", "finished"].repeat(3));
    assert_eq!(seconds(&WAITS, "sequential_writes = true").await.0, 3);
    // Reads do not wait for writes.
    let mixed = [writes[0], writes[1], ("wait", r#"{"secs":4}"#)];
    assert_eq!(seconds(&mixed, "sequential_writes = true").await.0, 4);
}

// ML-5, §12
#[tokio::test(start_paused = true)]
async fn every_failure_fills_its_slot() {
    let turn = calls(&[
        ("write", r#"{"secs":99}"#),
        ("echo", r#"{"a":"#),
        ("panics", "{}"),
        ("nobody", "{}"),
        ("fails", "{}"),
        ("echo", "[1]"),
        ("echo", r#"{"n":1.50}"#),
    ]);
    let mut stage = TestAgent::new([turn, says("Done.")]);
    assert_eq!(stage.run().await.stop, StopCause::Answer);
    let expected = [
        "Error: Tool 'write' timed out after 30s; side effects may have happened",
        "Error: Invalid parameters: the arguments are not a JSON object: EOF while parsing a value at line 1 column 5",
        "Error: Tool 'panics' crashed; side effects may have happened",
        "Error: Unknown tool \"nobody\"",
        "Error: no luck",
        "Error: Invalid parameters: the arguments are not a JSON object: they are an array",
        r#"{"n":1.50}"#,
    ];
    assert_eq!(stage.texts(), expected);
    let errors: Vec<_> = stage.replies().iter().map(|reply| reply.is_error).collect();
    assert_eq!(errors, [true, true, true, true, true, true, false]);
}

// ML-5, §12: arguments that are no JSON get the same way out as those that do not fit.
#[tokio::test(start_paused = true)]
async fn unreadable_arguments_are_told_what_is_required() {
    let mut stage =
        TestAgent::new([calls(&[("typed", r#"{"city":"#), ("typed", "{}")]), says("Done.")]);
    let schema =
        json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    stage.executor.tools().add(Fake::echoes("typed").parameters(schema)).unwrap();
    assert_eq!(stage.run().await.stop, StopCause::Answer);
    let expected = [
        "Error: Invalid parameters: the arguments are not a JSON object: EOF while parsing a value at line 1 column 8. Required parameters: city (string)",
        "Error: Invalid parameters: missing 'city'. Required parameters: city (string)",
    ];
    assert_eq!(stage.texts(), expected);
}

// ML-5: a denial, too.
#[tokio::test(start_paused = true)]
async fn a_denial_fills_its_slot() {
    let mut stage =
        TestAgent::new([calls(&[("echo", "{}"), ("rm", "{}")]), says("Done.")]).denying("rm");
    assert_eq!(stage.run().await.stop, StopCause::Answer);
    assert_eq!(stage.texts()[0], "{}");
    assert!(
        stage.replies()[1].is_error && stage.texts()[1].contains("denied"),
        "{:?}",
        stage.texts()
    );
}
