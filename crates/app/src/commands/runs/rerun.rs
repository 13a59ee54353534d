//! `switchboard runs rerun`: the questions of recorded runs once more, with another model, policy or tool set, and what changed
//! (SPEC RN-4). What comes of it is recorded too, so that it can be looked at and compared.

use std::{collections::HashMap, path::Path, process::ExitCode, sync::Arc, time::SystemTime};

use anyhow::{Context, anyhow, bail};
use serde_json::{Value, json};
use switchboard_agent::{
    AgentEvents, AgentOutcome, Conversation, OfferedTools, RERUN, RequestOptions, RunDetail,
    RunRecording, RunState, RunStore, ShortenedResult,
};
use switchboard_local::{MockError, replay::ReplayRecord};
use switchboard_models::Message;
use switchboard_runtime::ArtifactStore;
use switchboard_toolcall::{CallContext, ErrorKind};
use tokio::time::Instant;

use super::{
    comparison::{self, RunFacts},
    diff, failed, store,
};
use crate::{
    assembly::App,
    cli::{Cli, ModelArgs, RerunArgs, RerunTools},
    connections::{Needs, while_connected},
    interrupt::{INTERRUPTED, Interrupted},
    model,
    overrides::{self, Replay},
    records::{self, RecordStores},
    runtime::on_runtime,
    settings::{self, LoadedConfig, SkippedEntries},
    terminal::{self, CommandFailed, Paint, text},
};

pub(super) fn run(rerun: &RerunArgs, cli: &Cli, loaded: LoadedConfig) -> anyhow::Result<ExitCode> {
    let store = store(&loaded)?;
    let runs = chosen(rerun, &store)?;
    drop(loaded);
    let mut compared = Vec::new();
    for run in &runs {
        let before = RunFacts::of(run);
        let after = match ask_again(rerun, cli, run) {
            Err(error) if error.is::<Interrupted>() => return Ok(ExitCode::from(INTERRUPTED)),
            // Of many, one that fails does not take the others with it.
            Err(error) if rerun.since.is_some() => {
                let model = rerun.model.clone().unwrap_or_else(|| run.summary.model.clone());
                RunFacts::failed(model, format!("{error:#}"))
            }
            after => after?,
        };
        compared.push((run.summary.id.to_string(), before, after));
    }
    let paint = Paint::stdout(cli.color);
    let text = match (rerun.json, &compared[..]) {
        (true, _) => {
            let object = |(id, before, after): &(String, RunFacts, RunFacts)| {
                let mut object = comparison::to_json(before, after);
                object["run"] = json!(id);
                object
            };
            Value::Array(compared.iter().map(object).collect()).to_string()
        }
        (false, [(_, before, after)]) if rerun.since.is_none() => diff::page(before, after, paint),
        (false, _) => table(&compared, paint),
    };
    terminal::print(&text)?;
    for (id, _, after) in compared.iter().filter(|_| !rerun.json) {
        if let Some(changed) = &after.tools_changed {
            terminal::tell(&paint.dim(&format!("{id}: {}", text::one_line(changed))));
        }
    }
    if let ([(before, _, RunFacts { id: Some(id), .. })], false) = (&compared[..], rerun.json) {
        let line =
            format!("recorded as {id}; `switchboard runs diff {before} {id}` compares them again");
        terminal::tell(&paint.dim(&line));
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the runs that are to be run again, oldest first.
fn chosen(rerun: &RerunArgs, store: &RunStore) -> anyhow::Result<Vec<RunDetail>> {
    if let Some(id) = &rerun.id {
        let run = store.show(store.find(id).map_err(failed)?).map_err(failed)?;
        return Ok(vec![run]);
    }
    let since = rerun.since.context("a run, or --since")?.0;
    let limit = SystemTime::now().checked_sub(since).unwrap_or(SystemTime::UNIX_EPOCH);
    let mut runs = store.list_since(limit).map_err(failed)?;
    runs.retain(|run| run.state == RunState::Ended && run.client.as_deref() != Some(RERUN));
    if runs.is_empty() {
        bail!(CommandFailed("no run ended with an answer in this time".to_owned()));
    }
    runs.iter().rev().map(|run| store.show(run.id).map_err(failed)).collect()
}

/// Asks the question of a run once more.
fn ask_again(rerun: &RerunArgs, cli: &Cli, run: &RunDetail) -> anyhow::Result<RunFacts> {
    check_images(run, rerun.tools)?;
    let (loaded, recording) = load(rerun, cli, run)?;
    let tools = match &rerun.tools_allowed[..] {
        [] => run.settings.tools.clone(),
        allowed => allowed.to_vec(),
    };
    let asked = ModelArgs {
        model: Some(rerun.model.clone().unwrap_or_else(|| run.summary.model.clone())),
        tools,
        system: None,
        max_iterations: run.settings.max_iterations,
        profile: run.summary.profile.clone(),
    };
    let mut conversation = question(run)?;
    let app = App::build(&loaded)?;
    let began = Instant::now();
    let begin = conversation.messages().len();
    let (name, tools_changed, outcome) = on_runtime(async {
        let chosen = model::choose(asked.model.as_deref(), &loaded).await?;
        let options = RequestOptions { whole_turns: true, ..run.settings.options()? };
        let config = loaded.settings.agent.clone();
        let mut agent = chosen.agent(&asked, &app, &loaded, config)?.with_options(options);
        if let Some(recording) = recording {
            let (model, tools) = (chosen.name.clone(), asked.tools.clone());
            let profile = asked.profile.clone();
            agent = agent.with_recording(RunRecording { model, tools, profile, ..recording });
        }
        let cx = CallContext::for_owner("command line").with_client(RERUN);
        let events: AgentEvents = Arc::new(|_| ());
        let (changed, outcome) = while_connected(&app, &loaded, Needs::All, async |connections| {
            connections.ready(false).await?;
            // With recorded results there are only the tools that were called.
            let then = run.settings.offered.as_ref().filter(|_| rerun.tools == RerunTools::Live);
            let changed = then.and_then(|then| then.difference(&OfferedTools::of(&agent)));
            Ok((changed, agent.run(&mut conversation, &events, &cx).await))
        })
        .await?;
        anyhow::Ok((chosen.name, changed, outcome))
    })?;
    let elapsed = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let messages = json!(conversation.messages().get(begin..).unwrap_or_default());
    Ok(RunFacts { tools_changed, ..summarise(name, outcome, &messages, elapsed) })
}

/// Loads the settings with the tools and the policy that were asked for. Returns also how the rerun is recorded, if runs are: even if
/// its tools are the record.
fn load(
    rerun: &RerunArgs,
    cli: &Cli,
    run: &RunDetail,
) -> anyhow::Result<(LoadedConfig, Option<RunRecording>)> {
    let mut loaded = overrides::load(cli)?;
    let recording = records::run_recording(&loaded, "");
    if let Some(file) = &rerun.policy {
        loaded.settings.policy = policy_of(file)?;
    }
    if rerun.tools == RerunTools::Recorded {
        let whole = whole_results(run, &loaded)?;
        loaded.replay = Some(Replay::Calls(recorded_calls(run, &whole)));
        loaded.settings.servers.clear();
        loaded.settings.apis.clear();
        loaded.skipped = SkippedEntries {
            models: std::mem::take(&mut loaded.skipped.models),
            ..SkippedEntries::default()
        };
        loaded.settings.cluster.nats = None;
    }
    Ok((loaded, recording))
}

fn policy_of(file: &Path) -> anyhow::Result<switchboard_runtime::PolicyConfig> {
    let place = || format!("--policy {}", file.display());
    Ok(settings::load(Some(file)).with_context(place)?.settings.policy)
}

/// Refuses a run whose images would be missing: the record does not have them, and without them it is another question.
fn check_images(run: &RunDetail, tools: RerunTools) -> anyhow::Result<()> {
    let images = |many: usize| if many == 1 { "an image" } else { "images" };
    match (run.images.asked, run.images.returned) {
        (0, returned) if returned > 0 && tools == RerunTools::Recorded => {
            bail!(CommandFailed(format!(
                "a tool returned {}, which the record does not have; `--tools live` asks the tools",
                images(returned)
            )))
        }
        (asked, _) if asked > 0 => bail!(CommandFailed(format!(
            "what was asked has {}, which the record does not have, so it cannot be asked again",
            images(asked)
        ))),
        _ => Ok(()),
    }
}

/// Returns the conversation up to the question.
fn question(run: &RunDetail) -> anyhow::Result<Conversation> {
    let messages: Vec<Message> =
        serde_json::from_value(json!(run.parts().0)).context("the record of the run")?;
    let asked = messages.iter().rposition(|message| matches!(message, Message::User(_)));
    let asked =
        asked.ok_or_else(|| anyhow!(CommandFailed("the run has no question".to_owned())))?;
    Ok(Conversation::from(messages[..=asked].to_vec()))
}

/// Returns the results of which the conversation has only a line, by call.
///
/// # Errors
/// One of them can no longer be read: the model would get the line, as if the tool had returned that.
fn whole_results(
    run: &RunDetail,
    loaded: &LoadedConfig,
) -> anyhow::Result<HashMap<String, String>> {
    if run.shortened.is_empty() {
        return Ok(HashMap::new());
    }
    let stores = RecordStores::of(loaded);
    let store = stores.store.context("the results of the run are not stored")?;
    on_runtime(async {
        let mut whole = HashMap::new();
        for ShortenedResult { tool_call_id, artifact } in &run.shortened {
            let read = store.get(artifact).await;
            let read =
                read.map_err(|error| anyhow!("artifact {artifact} cannot be read: {error}"))?;
            let read = read.with_context(|| {
                format!("a result of the run was shortened, and its artifact {artifact} has given way to newer ones; `--tools live` asks the tools")
            })?;
            whole.insert(tool_call_id.clone(), String::from_utf8_lossy(&read.bytes).into_owned());
        }
        Ok(whole)
    })
}

/// Returns the calls of a run with their results, for tools that give them again.
fn recorded_calls(run: &RunDetail, whole: &HashMap<String, String>) -> Vec<ReplayRecord> {
    let messages = run.messages.as_array().map(Vec::as_slice).unwrap_or_default();
    let reply = |id: &Value| messages.iter().find(|message| message["tool_call_id"] == *id);
    let calls = messages.iter().filter_map(|message| message["tool_calls"].as_array()).flatten();
    let record = |call: &Value| {
        let args = call["args"].as_object()?.clone();
        let reply = reply(&call["id"])?;
        let whole = call["id"].as_str().and_then(|id| whole.get(id)).map(String::as_str);
        let content = whole.or(reply["content"].as_str()).unwrap_or_default();
        let outcome = match reply["is_error"].as_bool() {
            Some(true) => {
                let text = content.strip_prefix("Error: ").unwrap_or(content).to_owned();
                Err(MockError { kind: ErrorKind::ToolError, text, hint: None })
            }
            _ => Ok(serde_json::from_str(content).unwrap_or_else(|_| json!(content))),
        };
        Some(ReplayRecord { tool: call["name"].as_str()?.to_owned(), args, outcome })
    };
    calls.filter_map(record).collect()
}

fn summarise(model: String, outcome: AgentOutcome, messages: &Value, elapsed: u64) -> RunFacts {
    let messages = messages.as_array().map(Vec::as_slice).unwrap_or_default();
    RunFacts {
        id: outcome.run_id.map(|id| id.to_string()),
        model,
        state: if outcome.answer.is_some() { "ended" } else { "failed" },
        turns: outcome.turns.len(),
        input_tokens: outcome.usage.input_tokens,
        output_tokens: outcome.usage.output_tokens,
        cost: outcome.cost,
        answer: outcome.answer,
        calls: comparison::calls(messages),
        duration_ms: Some(elapsed),
        error: outcome.error.map(|error| error.to_string()).or(outcome.invalid_answer),
        tools_changed: None,
    }
}

fn table(compared: &[(String, RunFacts, RunFacts)], paint: Paint) -> String {
    let titles = ["run", "model", "answer", "calls", "tokens", "time", "cost"].map(str::to_owned);
    let both = |one: String, other: String| {
        if one == other { one } else { format!("{one} → {other}") }
    };
    let tokens = |run: &RunFacts| (run.input_tokens + run.output_tokens).to_string();
    let time =
        |run: &RunFacts| run.duration_ms.map_or_else(String::new, |time| format!("{time} ms"));
    let cost = |run: &RunFacts| run.cost.map_or_else(String::new, |cost| cost.to_string());
    let rows = compared.iter().map(|(id, before, after)| {
        let answer = match (comparison::is_same_answer(before, after), &after.answer) {
            (true, _) => "same".to_owned(),
            (false, Some(_)) => "other".to_owned(),
            (false, None) => match &after.error {
                Some(error) => format!("none: {}", text::shorten(&text::one_line(error), 60)),
                None => "none".to_owned(),
            },
        };
        [
            id.clone(),
            both(text::one_line(&before.model), text::one_line(&after.model)),
            answer,
            both(before.calls.len().to_string(), after.calls.len().to_string()),
            both(tokens(before), tokens(after)),
            both(time(before), time(after)),
            both(cost(before), cost(after)),
        ]
    });
    let rows: Vec<_> = std::iter::once(titles).chain(rows).collect();
    let lines = rows.iter().enumerate().map(|(place, row)| {
        let cells = row.iter().enumerate().map(|(column, cell)| {
            let width = rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
            text::pad(cell, width)
        });
        let line = cells.collect::<Vec<_>>().join("  ");
        if place == 0 { paint.dim(line.trim_end()) } else { line.trim_end().to_owned() }
    });
    let same =
        compared.iter().filter(|(_, before, after)| comparison::is_same_answer(before, after));
    let summary = format!("{} of {} answers are the same", same.count(), compared.len());
    format!("{}\n{}", lines.collect::<Vec<_>>().join("\n"), paint.dim(&summary))
}
