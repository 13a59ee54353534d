//! A run that is interrupted everywhere: after each line of its file and in the middle of each (SPEC RN-2).

use std::{
    collections::{BTreeMap, HashSet},
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};
use switchboard_agent::{AgentEvent, Resumable, RunError, RunRecording, RunStore};
use switchboard_models::{Message, ModelConfig, Provider, Request, connect};
use switchboard_runtime::ToolExecutor;
use switchboard_testkit::{Fake, ProviderServer, Reply, rules};
use switchboard_toolcall::{CallId, ToolOutput, ToolSpec};

use crate::{
    resuming::recording,
    scripted::{ScriptedReply, TestAgent, calls, check, says},
};

/// The tools, of which only `look` may run twice.
const TOOLS: [&str; 4] = ["charge", "refund", "look", "notify"];

/// How often each tool had its effect.
type Effects = Arc<Mutex<BTreeMap<String, usize>>>;

/// What the model says from the start.
fn script() -> Vec<ScriptedReply> {
    vec![
        calls(&[("charge", r#"{"n":1}"#)]),
        calls(&[("refund", r#"{"n":1}"#), ("look", "{}")]),
        calls(&[("notify", r#"{"n":1}"#)]),
        says("Done."),
    ]
}

fn agent(
    script: Vec<ScriptedReply>,
    effects: &Effects,
    copy: Option<(PathBuf, PathBuf)>,
) -> TestAgent {
    let mut agent = TestAgent::new(script);
    agent.executor = ToolExecutor::default();
    for name in TOOLS {
        let (effects, copy) = (effects.clone(), copy.clone());
        let tool = Fake::new(name, move |_, _| {
            // The copy is the same file by another name: it has what is written later, too, and stays.
            if let Some((file, copy)) = copy.as_ref().filter(|(_, copy)| !copy.exists()) {
                fs::hard_link(file, copy).unwrap();
            }
            *effects.lock().unwrap().entry(name.to_owned()).or_default() += 1;
            std::future::ready(Ok(ToolOutput::Value(json!(format!("{name}: well")))))
        });
        let tool = if name == "look" { tool.read_only() } else { tool };
        agent.executor.tools().add(tool).unwrap();
    }
    agent
}

/// Runs it to its end, and returns all that its file ever held.
async fn whole_file() -> (CallId, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let id = CallId::generate();
    let (file, copy) = (folder.path().join(format!("runs/{id}.live")), folder.path().join("copy"));
    let mut whole = agent(script(), &Effects::default(), Some((file, copy.clone())));
    let recording = RunRecording { id: Some(id), ..recording(folder.path()) };
    let agent = whole.agent().with_recording(recording);
    let (events, cx) = (whole.watcher(), whole.cx.clone());
    let outcome = agent.run(&mut whole.conversation, &events, &cx).await;
    assert_eq!(outcome.answer.as_deref(), Some("Done."));
    (id, fs::read(copy).unwrap())
}

/// What the whole lines of a file say: how many turns there are, and how far each call is, by the name of its tool.
#[derive(Debug, Default)]
struct Recorded {
    turns: usize,
    begun: Vec<String>,
    ended: Vec<String>,
}

impl Recorded {
    fn of(text: &[u8]) -> Self {
        let (mut recorded, mut names) = (Self::default(), Vec::new());
        for line in text.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"))
        {
            let line: Value = serde_json::from_slice(line).unwrap();
            let name = |names: &[String], said: &Value| {
                names[usize::try_from(said["position"].as_u64().unwrap()).unwrap()].clone()
            };
            if let Some(turn) = line.get("turn") {
                let calls = turn["message"]["tool_calls"].as_array().into_iter().flatten();
                names = calls.map(|call| call["name"].as_str().unwrap().to_owned()).collect();
                recorded.turns += 1;
            } else if let Some(began) = line.get("began") {
                recorded.begun.push(name(&names, began));
            } else if let Some(reply) = line.get("reply") {
                recorded.ended.push(name(&names, reply));
            }
        }
        recorded
    }
}

/// Goes on with what is left of a file. `has_run` says whether the calls in flight had their effects.
async fn go_on(id: CallId, text: &[u8], has_run: bool) -> Vec<Message> {
    let recorded = Recorded::of(text);
    let effects = Effects::default();
    let had_effect = if has_run { &recorded.begun } else { &recorded.ended };
    effects.lock().unwrap().extend(had_effect.iter().map(|name| (name.clone(), 1)));
    let folder = tempfile::tempdir().unwrap();
    let run = take(folder.path(), id, text).unwrap();
    let Resumable::Unfinished(run) = run else { panic!("{recorded:?}") };
    let resumed = agent(script().split_off(recorded.turns), &effects, None);
    let events = resumed.watcher();
    let (conversation, outcome) = resumed.agent().resume(*run, &events, &resumed.cx).await;
    assert_eq!(outcome.answer.as_deref(), Some("Done."), "{recorded:?}");
    judge(conversation.messages(), &recorded, &effects.lock().unwrap(), has_run);
    conversation.messages().to_vec()
}

fn take(folder: &Path, id: CallId, text: &[u8]) -> Result<Resumable, RunError> {
    fs::create_dir_all(folder.join("runs")).unwrap();
    fs::write(folder.join(format!("runs/{id}.live")), text).unwrap();
    RunStore::within(folder).take(id)
}

/// Compares what the model was told with what happened.
fn judge(
    messages: &[Message],
    recorded: &Recorded,
    effects: &BTreeMap<String, usize>,
    has_run: bool,
) {
    check(messages);
    let replies = messages.iter().filter_map(|message| match message {
        Message::Tool(reply) => Some(&*reply.content),
        _ => None,
    });
    for (name, reply) in TOOLS.iter().zip(replies) {
        let happened = effects.get(*name).copied().unwrap_or_default();
        let in_flight = |names: &[String]| names.iter().any(|begun| begun == name);
        let in_flight = in_flight(&recorded.begun) && !in_flight(&recorded.ended);
        if in_flight && *name != "look" {
            let unknown =
                format!("Error: Tool '{name}' may or may not have run: its process ended first");
            assert_eq!((reply, happened), (&*unknown, usize::from(has_run)), "{recorded:?}");
        } else {
            let most = if in_flight && has_run { 2 } else { 1 };
            assert_eq!((reply, happened), (&*format!("{name}: well"), most), "{recorded:?}");
        }
    }
}

// RN-2
#[tokio::test]
async fn wherever_a_run_is_interrupted_nothing_happens_twice() {
    let (id, text) = whole_file().await;
    let ends: Vec<usize> =
        text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
    // How it began, four turns, and the beginnings and ends of four calls.
    assert_eq!(ends.len(), 13, "{}", String::from_utf8_lossy(&text));
    let (mut begin, mut conversations) = (0, HashSet::new());
    for end in ends {
        for cut in [(begin + end) / 2, end - 1, end] {
            if begin == 0 && cut < end {
                // Nothing was asked yet.
                let folder = tempfile::tempdir().unwrap();
                let taken = take(folder.path(), id, &text[..cut]);
                assert!(matches!(taken, Err(RunError::NotFound(_))), "{taken:?}");
                continue;
            }
            for has_run in [false, true] {
                let messages = go_on(id, &text[..cut], has_run).await;
                conversations.insert(serde_json::to_string(&messages).unwrap());
            }
        }
        begin = end;
    }
    // Everything was well, or one call of three that may not run again was in flight; the others' places do not show.
    assert!(conversations.len() >= 4, "{conversations:?}");
    for messages in conversations {
        providers_accept(serde_json::from_str(&messages).unwrap()).await;
    }
}

// RN-2: somebody deletes the file of a run that goes on. It has its answer, and nothing is left to go on with.
#[tokio::test(start_paused = true)]
async fn a_run_whose_file_is_deleted_ends_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let id = CallId::generate();
    let file = folder.path().join(format!("runs/{id}.live"));
    let mut agent = agent(script(), &Effects::default(), None);
    let deletes = Fake::new("deletes", move |_, _| {
        fs::remove_file(&file).unwrap();
        std::future::ready(Ok(ToolOutput::Value(json!("gone"))))
    });
    agent.executor.tools().add(deletes).unwrap();
    agent.model = TestAgent::new([calls(&[("deletes", "{}")]), says("Done.")]).model;
    let recording = RunRecording { id: Some(id), ..recording(folder.path()) };
    let store = recording.store.clone();
    let recorded = agent.agent().with_recording(recording);
    let (events, cx) = (agent.watcher(), agent.cx.clone());
    let outcome = recorded.run(&mut agent.conversation, &events, &cx).await;
    assert_eq!(outcome.answer.as_deref(), Some("Done."));
    let events = agent.events.lock().unwrap();
    let is_warning = |event: &AgentEvent| matches!(event, AgentEvent::Warning(text) if text.contains("the end of this run could not be recorded"));
    assert_eq!(events.iter().filter(|event| is_warning(event)).count(), 1, "{events:?}");
    assert!(matches!(store.take(id), Err(RunError::NotFound(_))));
    let error = store.find(&id.to_string()).unwrap_err().to_string();
    assert_eq!(error, format!("there is no run `{id}`; `switchboard runs` lists them"));
}

/// Sends the conversation to a server of each provider's kind, and checks what arrives by that provider's rules.
async fn providers_accept(mut messages: Vec<Message>) {
    messages.push(Message::User("Go on".into()));
    let tools = TOOLS.map(|name| ToolSpec::new(name, "A tool", json!({"type": "object"})));
    for &provider in Provider::ALL {
        let server = ProviderServer::start([Reply::json(400, &json!({"error": "heard"}))]).await;
        let mut config = ModelConfig::new(provider, "test-model");
        config.base_url = Some(server.url());
        config.max_tokens = Some(100);
        let request = Request::new(&messages).with_tools(&tools);
        // It is refused, as only what was sent matters.
        assert!(connect(&config).unwrap().ask(&request, &|_| ()).await.is_err());
        let sent = server.captured().pop().unwrap().body;
        assert_eq!(rules::broken(provider.code(), &sent), Vec::<String>::new(), "{sent:#}");
    }
}
