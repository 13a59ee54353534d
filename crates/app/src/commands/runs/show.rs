//! `switchboard runs show ID`: one run, turn by turn.

use std::{process::ExitCode, time::Duration};

use serde_json::{Value, json};
use switchboard_agent::{RunDetail, RunSettings, RunState};
use switchboard_toolcall::CallId;

use super::{failed, list::ago, store};
use crate::{
    cli::{Cli, ShowRunArgs},
    commands::calls::{self, format},
    settings::LoadedConfig,
    terminal::{self, Paint, text},
};

/// How many columns of what a model said beside its calls are shown.
const SAID: usize = 200;

pub(super) fn run(
    show: &ShowRunArgs,
    loaded: &LoadedConfig,
    cli: &Cli,
) -> anyhow::Result<ExitCode> {
    let store = store(loaded)?;
    let id = store.find(&show.id).map_err(failed)?;
    let mut run = store.show(id).map_err(failed)?;
    add_decisions(&mut run.timeline, loaded);
    match show.json {
        true => terminal::print(&run.to_json().to_string())?,
        false => terminal::print(&page(&run, Paint::stdout(cli.color)))?,
    }
    if run.summary.state == RunState::Interrupted && !show.json {
        terminal::tell(&format!("its process ended; `switchboard runs resume {id}` goes on"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Adds to each call what a person decided about it, if its record says so.
pub(super) fn add_decisions(timeline: &mut Value, loaded: &LoadedConfig) {
    // Without records there are no decisions to show; `calls` says what is wrong with them.
    let Ok(mut reader) = calls::open(loaded) else { return };
    let turns = timeline.as_array_mut().into_iter().flatten();
    let calls = turns.filter_map(|turn| turn["calls"].as_array_mut()).flatten();
    for call in calls {
        let id = call["call_id"].as_str().and_then(CallId::parse);
        let detail = id.and_then(|id| reader.show(id).ok().flatten());
        if let Some(approval) = detail.and_then(|detail| detail.approval) {
            call["decision"] = json!(approval.decision);
            call["decided_by"] = json!(approval.by);
        }
    }
}

fn page(run: &RunDetail, paint: Paint) -> String {
    let summary = &run.summary;
    let id = summary.id.to_string();
    let mut page = format!("{}  {}\n\n", paint.bold(&id), summary.state.code());
    let tokens = format!("{} in, {} out", summary.input_tokens, summary.output_tokens);
    let artifacts = |places: Vec<String>| (!places.is_empty()).then(|| places.join(", "));
    let shortened =
        run.shortened.iter().map(|entry| format!("{} in {}", entry.tool_call_id, entry.artifact));
    let summarised = run
        .summarised
        .iter()
        .map(|entry| format!("{} messages in {}", entry.messages, entry.artifact));
    let facts = [
        ("model", Some(summary.model.clone())),
        ("began", Some(format!("{} ({})", summary.started, ago(&summary.started)))),
        ("caller", summary.caller.clone()),
        ("chat", summary.chat.clone()),
        ("profile", summary.profile.clone()),
        ("settings", settings(&run.settings)),
        ("tokens", Some(tokens)),
        ("cost", summary.cost.map(|cost| cost.to_string())),
        ("shortened", artifacts(shortened.collect())),
        ("summarised", artifacts(summarised.collect())),
        ("error", summary.error.clone()),
    ];
    for (name, fact) in facts {
        if let Some(fact) = fact {
            let name = paint.dim(&text::pad(name, 10));
            page.push_str(&format!("{name}  {}\n", text::one_line(&fact)));
        }
    }
    let mut texts = run.parts().1.iter().filter(|message| message["role"] == "assistant");
    let turns = run.timeline.as_array().map(Vec::as_slice).unwrap_or_default();
    for (number, turn) in turns.iter().enumerate() {
        let count = |key: &str| turn[key].as_u64().unwrap_or_default();
        let mut facts = format!("{} in, {} out", count("input_tokens"), count("output_tokens"));
        if let Some(cost) = turn["cost"].as_f64() {
            facts.push_str(&format!(", cost {cost}"));
        }
        // The first 48 bits of an id are the time.
        let began = u64::try_from(summary.id.number() >> 80).unwrap_or_default();
        if let Some(after) = count("ended_ms").checked_sub(began) {
            let after = format::took(Duration::from_millis(after));
            facts.push_str(&format!(", answered after {after}"));
        }
        let title = format!("turn {}", number + 1);
        page.push_str(&format!("\n{}  {}\n", paint.cyan(&title), paint.dim(&facts)));
        let calls = turn["calls"].as_array().map(Vec::as_slice).unwrap_or_default();
        let said = texts.next().and_then(|message| message["content"].as_str()).unwrap_or_default();
        // What was said without a call is the answer, or what did not fit its schema.
        let is_answer = calls.is_empty() && number + 1 == turns.len() && run.answer.is_some();
        if !said.trim().is_empty() && !is_answer {
            page.push_str(&format!("  {}\n", text::shorten(said, SAID)));
        }
        for call in calls {
            page.push_str(&call_line(call, paint));
        }
    }
    let said = [
        ("asked", last_question(run)),
        ("answer", run.answer.as_deref()),
        ("said before it was stopped", run.partial.as_deref()),
    ];
    for (title, said) in said {
        if let Some(said) = said {
            page.push_str(&format!("\n{}\n{}\n", paint.cyan(title), text::lines(said)));
        }
    }
    page.trim_end().to_owned()
}

/// Returns the line of a call: its tool, how it ended, what a person decided, its id.
fn call_line(call: &Value, paint: Paint) -> String {
    let word = |key: &str| text::one_line(call[key].as_str().unwrap_or_default());
    let id = paint.dim(&word("call_id"));
    let mut outcome = word("outcome");
    if let Some(took) = call["duration_ms"].as_u64() {
        outcome.push_str(&format!("  {}", format::took(Duration::from_millis(took))));
    }
    if call["decision"].is_string() {
        outcome.push_str(&format!("  decided: {}", word("decision")));
        if let Some(by) = call["decided_by"].as_str() {
            outcome.push_str(&format!(" by {}", text::one_line(by)));
        }
    }
    format!("  {}  {outcome}  {id}\n", paint.bold(&word("tool")))
}

/// Returns how the run was asked, on one line; `None` if nothing was set.
fn settings(settings: &RunSettings) -> Option<String> {
    let offered = settings.offered.as_ref();
    let facts = [
        (!settings.tools.is_empty()).then(|| format!("--tools {}", settings.tools.join(" "))),
        offered.map(|tools| match tools.count {
            1 => "1 tool offered".to_owned(),
            many => format!("{many} tools offered"),
        }),
        settings.max_iterations.map(|most| format!("at most {most} turns")),
        settings.max_tokens.map(|most| format!("{most} tokens each")),
        settings.temperature.map(|temperature| format!("temperature {temperature}")),
        settings.schema.is_some().then(|| "an answer that fits a schema".to_owned()),
    ];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    (!facts.is_empty()).then(|| facts.join(", "))
}

/// The last thing that the user said before the run.
fn last_question(run: &RunDetail) -> Option<&str> {
    let is_question = |message: &&Value| message["role"] == "user";
    run.parts().0.iter().rev().find(is_question)?["content"].as_str()
}
