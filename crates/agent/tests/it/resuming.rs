//! Runs that were interrupted, by the lines that they left (SPEC RN-1, RN-2).

use std::{fs, path::Path, sync::Arc, time::Duration};

use serde_json::{Value, json};
use switchboard_agent::{Resumable, RunRecording, RunStore, UnfinishedRun};
use switchboard_models::Message;
use switchboard_runtime::ToolExecutor;
use switchboard_testkit::Fake;
use switchboard_toolcall::{CallContext, CallId, ToolOutput};

use crate::scripted::{ScriptedReply, TestAgent, calls, check, says};

fn recording(folder: &Path) -> RunRecording {
    RunRecording {
        store: RunStore::within(folder),
        model: "m".to_owned(),
        tools: Vec::new(),
        profile: None,
        max_iterations: None,
        chat: None,
        id: None,
        request: None,
        keep_for: Duration::from_secs(60),
    }
}

/// Writes the file of an interrupted run in which these calls began, and takes it over.
fn interrupted(
    folder: &Path,
    tools: &[&str],
    began: &[(usize, bool)],
    more: &[Value],
) -> UnfinishedRun {
    let id = CallId::generate();
    let calls: Vec<_> = tools
        .iter()
        .enumerate()
        .map(|(n, name)| json!({"id": format!("c{n}"), "name": name, "args": {}}))
        .collect();
    let start = json!({"id": id, "model": "m", "started": "2026-11-18T12:00:00Z",
        "messages": [{"role": "user", "content": "Go"}]});
    let message = json!({"role": "assistant", "content": "", "tool_calls": calls});
    let usage = json!({"input_tokens": 10, "output_tokens": 5});
    let mut lines = vec![
        json!({"start": start}),
        json!({"turn": {"message": message, "stop": "tool_use", "usage": usage}}),
    ];
    lines.extend(began.iter().map(
        |(position, honours)| json!({"began": {"position": position, "honours_keys": honours}}),
    ));
    lines.extend_from_slice(more);
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::create_dir_all(folder.join("runs")).unwrap();
    fs::write(folder.join(format!("runs/{id}.live")), text).unwrap();
    match RunStore::within(folder).take(id).unwrap() {
        Resumable::Unfinished(run) => *run,
        Resumable::Ended(_) => panic!(),
    }
}

/// A loop with tools that say which key their call has.
fn stage(script: impl IntoIterator<Item = ScriptedReply>) -> TestAgent {
    let mut stage = TestAgent::new(script);
    stage.executor = ToolExecutor::default();
    let keyed = |name: &str| {
        Fake::new(name, |_, cx: CallContext| async move {
            Ok(ToolOutput::Value(json!(cx.call_key.as_deref())))
        })
    };
    let tools = stage.executor.tools();
    tools.add(keyed("charge")).unwrap();
    tools.add(keyed("look").read_only()).unwrap();
    tools.add(keyed("set").with(|spec| spec.annotations.idempotent = Some(true))).unwrap();
    tools.add(keyed("keyed").with(|spec| spec.settings.honours_keys = true)).unwrap();
    stage
}

async fn resume(stage: &TestAgent, run: UnfinishedRun) -> Vec<String> {
    let (_, messages) = resumed(stage, run).await;
    let reply = |message: &Message| match message {
        Message::Tool(reply) => Some(reply.content.clone()),
        _ => None,
    };
    messages.iter().filter_map(reply).collect()
}

async fn resumed(stage: &TestAgent, run: UnfinishedRun) -> (Option<String>, Vec<Message>) {
    let events = stage.watcher();
    let (conversation, outcome) = stage.agent().resume(run, &events, &stage.cx).await;
    check(conversation.messages());
    (outcome.answer, conversation.messages().to_vec())
}

// RN-2
#[tokio::test(start_paused = true)]
async fn only_calls_that_may_run_twice_do() {
    let folder = tempfile::tempdir().unwrap();
    let tools = ["charge", "look", "set", "keyed", "keyed", "charge"];
    let began: Vec<_> = (0..5).map(|position| (position, position == 3)).collect();
    let run = interrupted(folder.path(), &tools, &began, &[]);
    let id = run.start().id;
    let texts = resume(&stage([says("Done.")]), run).await;
    let unknown = |name: &str| {
        format!("Error: Tool '{name}' may or may not have run: its process ended first")
    };
    let key = |position: usize| format!("{id}.1.{position}");
    // The fifth began where keys were not heeded; the sixth had not begun.
    let expected = [unknown("charge"), key(1), key(2), key(3), unknown("keyed"), key(5)];
    assert_eq!(texts, expected);
}

// RN-2: the key is the same if the call runs again.
#[tokio::test(start_paused = true)]
async fn a_call_has_the_same_key_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let mut stage = stage([calls(&[("look", "{}"), ("set", "{}")]), says("Done.")]);
    let agent = stage.agent().with_recording(recording(folder.path()));
    let (events, cx) = (stage.watcher(), stage.cx.clone());
    let outcome = agent.run(&mut stage.conversation, &events, &cx).await;
    let id = outcome.run_id.unwrap();
    assert_eq!(stage.texts(), [format!("{id}.1.0"), format!("{id}.1.1")]);
}

// RN-2: a result that others may have seen in the records is one that the run has.
#[tokio::test(start_paused = true)]
async fn a_result_is_written_before_its_record_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let reply =
        json!({"role": "tool", "content": "charged", "tool_call_id": "c0", "is_error": false});
    let line = json!({"reply": {"position": 0, "reply": reply, "outcome": "ok", "call_id": null}});
    let run = interrupted(folder.path(), &["charge", "charge"], &[(0, false)], &[line]);
    let id = run.start().id;
    let texts = resume(&stage([says("Done.")]), run).await;
    assert_eq!(texts, ["charged".to_owned(), format!("{id}.1.1")]);
}

// RN-3: what was shortened before the crash is as short after it, without another request.
#[tokio::test(start_paused = true)]
async fn a_resumed_conversation_is_as_short_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let reply = json!({"role": "tool", "content": "long", "tool_call_id": "c0", "is_error": false});
    let shortened =
        json!({"tool_call_id": "c0", "artifact": "a1", "line": "[charge succeeded; …]"});
    let lines = [
        json!({"reply": {"position": 0, "reply": reply, "outcome": "ok", "call_id": null}}),
        json!({"edited": {"shortened": shortened}}),
    ];
    let run = interrupted(folder.path(), &["charge"], &[(0, false)], &lines);
    let id = run.start().id;
    let agent = Arc::new(stage([says("Done.")]));
    let texts = resume(&agent, run).await;
    assert_eq!(texts, ["[charge succeeded; …]"]);
    assert_eq!(agent.requests().len(), 1);
    let shown = RunStore::within(folder.path()).show(id).unwrap().to_json();
    assert_eq!(shown["shortened"], json!([{"tool_call_id": "c0", "artifact": "a1"}]));
    assert_eq!(shown["messages"][2]["content"], "[charge succeeded; …]");
}
