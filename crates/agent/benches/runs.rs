//! What it costs to write runs down: a turn with and without, a run of a thousand calls that goes on, a list of very many runs.
//!
//! `SWITCHBOARD_BENCH_RUNS` sets how many runs of ten calls the list is made of.

#![expect(clippy::disallowed_methods, reason = "it measures")]
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a program for developers")]

use std::{
    fs,
    path::Path,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use switchboard_agent::{
    Agent, AgentEvents, Config, Conversation, Resumable, RunLimits, RunRecording, RunStore,
};
use switchboard_models::{
    AiMessage, Arguments, Model, ModelCall, ModelError, Provider, Request, StopReason, Turn, Usage,
    model,
};
use switchboard_runtime::ToolExecutor;
use switchboard_toolcall::{BoxFuture, CallContext, CallId, Tool, ToolError, ToolOutput, ToolSpec};

/// Calls `echo` so many times in each of so many turns, then answers; at once.
struct Turns {
    left: AtomicUsize,
    calls: usize,
    /// When it was asked for its answer, and how long this thread had run by then.
    last_asked: OnceLock<(Instant, Duration)>,
}

impl Turns {
    fn new(turns: usize, calls: usize) -> Self {
        Self { left: turns.into(), calls, last_asked: OnceLock::new() }
    }
}

impl Model for Turns {
    fn provider(&self) -> Provider {
        Provider::OpenAi
    }

    fn name(&self) -> &str {
        "scripted"
    }

    fn known_window(&self) -> Option<u64> {
        Some(100_000_000)
    }

    fn ask<'a>(
        &'a self,
        _: &'a Request<'a>,
        _: model::ModelEvents<'a>,
    ) -> BoxFuture<'a, Result<Turn, ModelError>> {
        let left = self.left.load(Ordering::Relaxed);
        self.left.store(left.saturating_sub(1), Ordering::Relaxed);
        let calls = if left == 0 { 0 } else { self.calls };
        if left == 0 {
            _ = self.last_asked.set((Instant::now(), processor_time()));
        }
        let tool_calls = (0..calls).map(|number| ModelCall {
            id: format!("call_{left}_{number}"),
            name: "echo".to_owned(),
            args: Arguments::from_value(
                json!({"text": "x".repeat(200), "number": left * 100 + number}),
            ),
            recovered: false,
        });
        let message = AiMessage { tool_calls: tool_calls.collect(), ..AiMessage::text("done") };
        let stop = if calls == 0 { StopReason::Answer } else { StopReason::ToolUse };
        let usage = Usage { input_tokens: 1, output_tokens: 1 };
        Box::pin(std::future::ready(Ok(Turn { message, stop, usage })))
    }
}

/// Returns its text.
struct Echo(ToolSpec);

impl Tool for Echo {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(
        &'a self,
        args: Value,
        _: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(std::future::ready(Ok(ToolOutput::Value(args["text"].clone()))))
    }
}

fn executor() -> ToolExecutor {
    let executor = ToolExecutor::default();
    let schema = json!({"type": "object", "properties": {"text": {}, "number": {}}});
    executor.tools().add(Echo(ToolSpec::new("echo", "Returns its text", schema))).unwrap();
    executor
}

fn config() -> Config {
    Config { max_iterations: 100_000.try_into().unwrap(), ..Config::default() }
}

fn recording(folder: &Path) -> RunRecording {
    RunRecording {
        store: RunStore::within(folder),
        model: "m".to_owned(),
        tools: Vec::new(),
        profile: None,
        chat: None,
        id: None,
        request: None,
        limits: RunLimits { age: Duration::from_secs(86_400), bytes: u64::MAX },
    }
}

fn nobody() -> AgentEvents {
    Arc::new(|_| ())
}

/// Returns how many times this process has called `write`; `None` where the system does not say.
fn writes() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/io").ok()?;
    text.lines().find_map(|line| line.strip_prefix("syscw: ")?.parse().ok())
}

/// Returns how long this thread has run; zero where the system does not say. Precise to a few milliseconds.
fn processor_time() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|time| time.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or_default())
}

/// Says how many writes of a file a turn makes, and what processor time it takes, which a busy machine disturbs less.
async fn count_writes(calls: usize, folder: &Path) {
    let many = 20_000 / calls;
    let without = turns(many, calls, None).await.2;
    let before = writes();
    let with = turns(many, calls, Some(folder)).await.2;
    if let Some((before, after)) = before.zip(writes()) {
        let each = (after - before) as f64 / many as f64;
        println!("a turn of {calls} calls: {each:.2} writes");
    }
    let more = with.saturating_sub(without);
    println!("a turn of {calls} calls: {more:.1?} more of processor time, of {with:.1?}");
}

/// Runs so many turns; returns how long one took, how long the end of the run did, and the processor time of a turn.
async fn turns(
    turns: usize,
    calls: usize,
    folder: Option<&Path>,
) -> (Duration, Duration, Duration) {
    let model = Arc::new(Turns::new(turns, calls));
    let mut agent = Agent::new(model.clone(), executor(), config());
    if let Some(folder) = folder {
        agent = agent.with_recording(recording(folder));
    }
    let mut conversation = Conversation::new();
    conversation.say("go");
    let (began, ran) = (Instant::now(), processor_time());
    let outcome = agent.run(&mut conversation, &nobody(), &CallContext::default()).await;
    let (asked, had_run) = *model.last_asked.get().unwrap();
    assert_eq!(outcome.turns.len(), turns + 1);
    let many = u32::try_from(turns).unwrap();
    ((asked - began) / many, asked.elapsed(), had_run.saturating_sub(ran) / many)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let folder = tempfile::tempdir().unwrap();
    for calls in [1, 8] {
        let (mut without, mut with, mut ends) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..21 {
            without.push(turns(100, calls, None).await.0);
            let (turn, end, _) = turns(100, calls, Some(folder.path())).await;
            with.push(turn);
            ends.push(end);
        }
        let (without, with, end) = (median(without), median(with), median(ends));
        let more = with.saturating_sub(without);
        println!(
            "a turn of {calls} calls: {without:.1?} without, {with:.1?} with recording, {more:.1?} more"
        );
        println!("the end of a run of 100 such turns: {end:.1?}");
        count_writes(calls, folder.path()).await;
    }
    resume(folder.path()).await;
    list(folder.path());
}

/// Goes on with a run of a thousand calls in 500 turns.
async fn resume(folder: &Path) {
    let id = CallId::generate();
    let start = json!({"id": id, "model": "m", "started": "2026-11-18T12:00:00Z",
        "messages": [{"role": "user", "content": "Go"}]});
    let mut text = format!("{}\n", json!({"start": start}));
    for turn in 0..500 {
        let call = |n| json!({"id": format!("c{turn}_{n}"), "name": "echo", "args": {"number": turn * 2 + n}});
        let message = json!({"role": "assistant", "content": "", "tool_calls": [call(0), call(1)]});
        let usage = json!({"input_tokens": 10, "output_tokens": 5});
        let turn_line =
            json!({"turn": {"message": message, "stop": "tool_use", "usage": usage, "at": 1}});
        text += &format!("{turn_line}\n");
        for position in 0..2 {
            let content = "x".repeat(500);
            let reply = json!({"role": "tool", "content": content, "tool_call_id": format!("c{turn}_{position}"), "is_error": false});
            let began = json!({"began": {"position": position, "honours_keys": false, "at": 1}});
            let reply = json!({"reply": {"position": position, "reply": reply, "outcome": "ok", "call_id": null}});
            text += &format!("{began}\n{reply}\n");
        }
    }
    let store = RunStore::within(folder);
    let mut times = Vec::new();
    for _ in 0..11 {
        let id = CallId::generate();
        let text = text.replacen(&json!(start["id"]).to_string(), &json!(id).to_string(), 1);
        fs::write(folder.join(format!("runs/{id}.live")), &text).unwrap();
        let model = Arc::new(Turns::new(0, 0));
        let agent = Agent::new(model, executor(), config());
        let began = Instant::now();
        let Ok(Resumable::Unfinished(run)) = store.take(id) else { panic!() };
        let (conversation, outcome) = agent.resume(*run, &nobody(), &CallContext::default()).await;
        times.push(began.elapsed());
        assert_eq!((conversation.messages().len(), outcome.turns.len()), (1 + 1500 + 1, 501));
    }
    println!("a run of 1000 calls goes on and ends: {:.1?}", median(times));
}

/// Lists the newest of very many runs.
fn list(folder: &Path) {
    let runs = std::env::var("SWITCHBOARD_BENCH_RUNS").ok().and_then(|runs| runs.parse().ok());
    let runs: usize = runs.unwrap_or(10_000);
    let store = RunStore::within(folder);
    let newest = store.list(1).unwrap().remove(0);
    let text = fs::read_to_string(folder.join(format!("runs/{}.json", newest.id))).unwrap();
    let (summary, rest) = text.split_once('\n').unwrap();
    // What follows the summary is not read by a list.
    let rest: String = rest.chars().take(2_000).collect();
    for _ in 0..runs {
        let id = CallId::generate();
        let summary = summary.replacen(&newest.id.to_string(), &id.to_string(), 1);
        fs::write(folder.join(format!("runs/{id}.json")), format!("{summary}\n{rest}")).unwrap();
    }
    for most in [50, 1000] {
        let mut times = Vec::new();
        for _ in 0..5 {
            let began = Instant::now();
            assert_eq!(store.list(most).unwrap().len(), most);
            times.push(began.elapsed());
        }
        println!("the latest {most} of {runs} runs: {:.1?}", median(times));
    }
}
