//! Runs that were interrupted, by the lines that they left (SPEC RN-1, RN-2).

use std::{
    fs,
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};
use switchboard_agent::{
    Resumable, RunError, RunLimits, RunRecording, RunState, RunStore, UnfinishedRun,
};
use switchboard_models::Message;
use switchboard_runtime::ToolExecutor;
use switchboard_testkit::Fake;
use switchboard_toolcall::{CallContext, CallId, ToolOutput};

use crate::scripted::{ScriptedReply, TestAgent, calls, check, says};

pub(crate) fn recording(folder: &Path) -> RunRecording {
    RunRecording {
        store: RunStore::within(folder),
        model: "m".to_owned(),
        tools: Vec::new(),
        profile: None,
        chat: None,
        id: None,
        request: None,
        limits: RunLimits { age: Duration::from_secs(60), bytes: 1_000_000 },
    }
}

/// Writes the file of an interrupted run in which these calls began, and takes it over.
fn interrupted(
    folder: &Path,
    tools: &[&str],
    began: &[(usize, bool)],
    more: &[Value],
) -> UnfinishedRun {
    interrupted_before(folder, tools, began, more, Some(Duration::ZERO))
}

/// The same; the calls began this long ago, or nobody wrote down when.
fn interrupted_before(
    folder: &Path,
    tools: &[&str],
    began: &[(usize, bool)],
    more: &[Value],
    age: Option<Duration>,
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
    let at = age.map(|age| {
        u64::try_from((SystemTime::now() - age).duration_since(UNIX_EPOCH).unwrap().as_millis())
            .unwrap()
    });
    lines.extend(began.iter().map(|(position, honours)| {
        json!({"began": {"position": position, "honours_keys": honours, "at": at.unwrap_or(0)}})
    }));
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
    let short = keyed("short").with(|spec| {
        spec.settings.honours_keys = true;
        spec.settings.keys_kept = Some(Duration::from_secs(3600));
    });
    tools.add(short).unwrap();
    stage
}

async fn resume(stage: &TestAgent, run: UnfinishedRun) -> Vec<String> {
    let (_, messages) = resumed_run(stage, run).await;
    let reply = |message: &Message| match message {
        Message::Tool(reply) => Some(reply.content.clone()),
        _ => None,
    };
    messages.iter().filter_map(reply).collect()
}

async fn resumed_run(stage: &TestAgent, run: UnfinishedRun) -> (Option<String>, Vec<Message>) {
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

// RN-2: who honours a key forgets it after a while, and a run can be resumed for longer.
#[tokio::test(start_paused = true)]
async fn a_call_whose_key_may_be_forgotten_is_not_made_again() {
    const MINUTE: Duration = Duration::from_secs(60);
    for (age, expected) in [
        (Some(Duration::ZERO), [true, true, true]),
        (Some(50 * MINUTE), [true, true, true]),
        (Some(56 * MINUTE), [true, false, true]),
        (Some(21 * 60 * MINUTE), [true, false, true]),
        (Some(22 * 60 * MINUTE), [false, false, true]),
        (Some(29 * 24 * 60 * MINUTE), [false, false, true]),
        // A record of an earlier version does not say when.
        (None, [false, false, true]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (tools, began) = (["keyed", "short", "look"], [(0, true), (1, true), (2, false)]);
        let run = interrupted_before(folder.path(), &tools, &began, &[], age);
        let texts = resume(&stage([says("Done.")]), run).await;
        let ran: Vec<_> = texts.iter().map(|text| !text.contains("may or may not")).collect();
        assert_eq!(ran, expected, "{age:?}: {texts:?}");
    }
}

// RN-2: the time before the crash counts.
#[tokio::test(start_paused = true)]
async fn a_time_budget_survives_a_crash() {
    let at = |seconds: u64| 1_795_003_200_000 + seconds * 1000;
    let reply = json!({"role": "tool", "content": "seen", "tool_call_id": "c0", "is_error": false});
    let lines = |resumed: &[u64]| {
        let mut lines = vec![
            json!({"reply": {"position": 0, "reply": reply, "outcome": "ok", "call_id": null, "at": at(50)}}),
        ];
        // It was resumed a day later, and was killed ten seconds after that.
        if let [begin, end] = resumed {
            lines.push(json!({"resumed": {"at": at(*begin)}}));
            lines.push(json!({"began": {"position": 1, "honours_keys": false, "at": at(*end)}}));
        }
        lines
    };
    for (resumed, budget, is_over) in [
        (&[][..], "51s", false),
        (&[], "50s", true),
        (&[86_400, 86_410], "61s", false),
        (&[86_400, 86_410], "60s", true),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let run = interrupted(folder.path(), &["look", "look"], &[], &lines(resumed));
        let stage = stage([says("Done.")]).configured(&format!("time_budget = '{budget}'"));
        let (answer, _) = resumed_run(&stage, run).await;
        assert_eq!(answer.is_none(), is_over, "{budget} {resumed:?}");
    }
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

/// Asks once; returns the run's id.
async fn asked(folder: &Path, cx: &CallContext) -> CallId {
    let mut stage = TestAgent::new([says("Done.")]);
    let agent = stage.agent().with_recording(recording(folder));
    let events = stage.watcher();
    agent.run(&mut stage.conversation, &events, cx).await.run_id.unwrap()
}

// RN-1: what a client calls its conversation is no id of a run, least of all that of another client's.
#[tokio::test(start_paused = true)]
async fn no_client_says_which_run_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let store = RunStore::within(folder.path());
    let first = asked(folder.path(), &CallContext::for_owner("a")).await;
    let before = fs::read(folder.path().join(format!("runs/{first}.json"))).unwrap();
    let name = |id: CallId| CallContext {
        conversation: Some(id.to_string().into()),
        ..CallContext::for_owner("b")
    };
    let second = asked(folder.path(), &name(first)).await;
    assert_ne!(second, first);
    let after = fs::read(folder.path().join(format!("runs/{first}.json"))).unwrap();
    assert_eq!(after, before);
    // A time that is far off would outlive every limit.
    let far: CallId = CallId::parse("7ZZZZZZZZZZZZZZZZZZZZZZZZZ").unwrap();
    asked(folder.path(), &name(far)).await;
    assert!(matches!(store.show(far), Err(RunError::NotFound(_))));
    assert_eq!(store.list(10).unwrap().len(), 3);
}

// RN-1: not even an id of ours is written twice.
#[tokio::test(start_paused = true)]
async fn a_run_that_has_ended_stays_what_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let cx = CallContext::for_owner("a");
    let id = asked(folder.path(), &cx).await;
    let mut stage = TestAgent::new([says("Something else.")]);
    let recording = RunRecording { id: Some(id), ..recording(folder.path()) };
    let agent = stage.agent().with_recording(recording);
    let events = stage.watcher();
    let outcome = agent.run(&mut stage.conversation, &events, &cx).await;
    assert_eq!((outcome.answer.as_deref(), outcome.run_id), (Some("Something else."), None));
    let kept = RunStore::within(folder.path()).show(id).unwrap();
    assert_eq!(kept.answer.as_deref(), Some("Done."));
    assert_eq!(fs::read_dir(folder.path().join("runs")).unwrap().count(), 2);
}

// RN-2: nothing was asked, so nothing is lost.
#[tokio::test(start_paused = true)]
async fn a_run_whose_begin_is_not_whole_has_not_begun() {
    let folder = tempfile::tempdir().unwrap();
    let store = RunStore::within(folder.path());
    fs::create_dir_all(folder.path().join("runs")).unwrap();
    for text in ["", r#"{"start":{"id":"#] {
        let id = CallId::generate();
        let file = folder.path().join(format!("runs/{id}.live"));
        fs::write(&file, text).unwrap();
        assert!(store.list(10).unwrap().is_empty() && store.unanswered().unwrap().is_empty());
        assert!(matches!(store.take(id), Err(RunError::NotFound(_))), "{text}");
        assert!(!file.exists());
        // It can begin under the same id.
        let mut stage = TestAgent::new([says("Done.")]);
        let recording =
            RunRecording { id: Some(id), ..recording(&folder.path().join(text.len().to_string())) };
        let agent = stage.agent().with_recording(recording);
        let (events, cx) = (stage.watcher(), stage.cx.clone());
        let outcome = agent.run(&mut stage.conversation, &events, &cx).await;
        assert_eq!(outcome.run_id, Some(id));
    }
}

// RN-2: what is not redacted is gone as soon as anybody looks.
#[tokio::test(start_paused = true)]
async fn nothing_unredacted_stays_of_a_run_that_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let (runs, store) = (folder.path().join("runs"), RunStore::within(folder.path()));
    let limits = RunLimits { age: Duration::from_secs(60), bytes: 1_000_000 };
    for is_taken in [true, false] {
        let id = asked(folder.path(), &CallContext::for_owner("a")).await;
        let live = runs.join(format!("{id}.live"));
        fs::write(&live, "{}\n").unwrap();
        match is_taken {
            true => assert!(matches!(store.take(id), Ok(Resumable::Ended(_)))),
            false => store.forget(limits).unwrap(),
        }
        assert!(!live.exists());
        assert_eq!(store.summary(id).unwrap().state, RunState::Ended);
    }
}

// RN-1: the oldest runs go first, and none that a process has.
#[tokio::test(start_paused = true)]
async fn runs_are_forgotten_by_age_and_size() {
    let folder = tempfile::tempdir().unwrap();
    let (runs, store) = (folder.path().join("runs"), RunStore::within(folder.path()));
    let cx = CallContext::for_owner("a");
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(asked(folder.path(), &cx).await);
    }
    ids.sort_unstable();
    let length = |id: CallId| fs::metadata(runs.join(format!("{id}.json"))).unwrap().len();
    let bytes = length(ids[1]) + length(ids[2]);
    let age = Duration::from_secs(60);
    store.forget(RunLimits { age, bytes }).unwrap();
    let left: Vec<_> = store.list(10).unwrap().iter().map(|run| run.id).collect();
    assert_eq!(left, [ids[2], ids[1]]);
    let held = interrupted(folder.path(), &["charge"], &[], &[]);
    fs::write(runs.join(format!("{}.x.new", ids[0])), "").unwrap();
    store.forget(RunLimits { age: Duration::ZERO, bytes }).unwrap();
    let left: Vec<_> = store.list(10).unwrap().iter().map(|run| run.id).collect();
    assert_eq!(left, [held.start().id]);
    // A file that was just written may yet get its name.
    assert!(runs.join(format!("{}.x.new", ids[0])).exists());
}
