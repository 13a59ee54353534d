//! `switchboard runs show ID`: one run, turn by turn.

use std::process::ExitCode;

use serde_json::Value;
use switchboard_agent::{RunDetail, RunState};

use super::{failed, list::ago, store};
use crate::{
    cli::{Cli, ShowRunArgs},
    settings::Loaded,
    terminal::{self, Paint, text},
};

pub(super) fn run(show: &ShowRunArgs, loaded: &Loaded, cli: &Cli) -> anyhow::Result<ExitCode> {
    let store = store(loaded)?;
    let id = store.find(&show.id).map_err(failed)?;
    let run = store.show(id).map_err(failed)?;
    match show.json {
        true => terminal::print(&run.to_json().to_string())?,
        false => terminal::print(&page(&run, Paint::stdout(cli.color)))?,
    }
    if run.summary.state == RunState::Interrupted && !show.json {
        terminal::tell(&format!("its process ended; `switchboard runs resume {id}` goes on"));
    }
    Ok(ExitCode::SUCCESS)
}

fn page(run: &RunDetail, paint: Paint) -> String {
    let summary = &run.summary;
    let id = summary.id.to_string();
    let mut page = format!("{}  {}\n\n", paint.bold(&id), summary.state.code());
    let tokens = format!("{} in, {} out", summary.input_tokens, summary.output_tokens);
    let facts = [
        ("model", Some(summary.model.clone())),
        ("began", Some(format!("{} ({})", summary.started, ago(&summary.started)))),
        ("caller", summary.caller.clone()),
        ("chat", summary.chat.clone()),
        ("tokens", Some(tokens)),
        ("cost", summary.cost.map(|cost| cost.to_string())),
        ("error", summary.error.clone()),
    ];
    for (name, fact) in facts {
        if let Some(fact) = fact {
            let name = paint.dim(&text::pad(name, 8));
            page.push_str(&format!("{name}  {}\n", text::one_line(&fact)));
        }
    }
    let turns = run.timeline.as_array().map(Vec::as_slice).unwrap_or_default();
    for (number, turn) in turns.iter().enumerate() {
        let count = |key: &str| turn[key].as_u64().unwrap_or_default();
        let tokens = format!("{} in, {} out", count("input_tokens"), count("output_tokens"));
        let title = format!("turn {}", number + 1);
        page.push_str(&format!("\n{}  {}\n", paint.cyan(&title), paint.dim(&tokens)));
        for call in turn["calls"].as_array().into_iter().flatten() {
            let word = |key: &str| text::one_line(call[key].as_str().unwrap_or_default());
            let id = paint.dim(&word("call_id"));
            page.push_str(&format!("  {}  {}  {id}\n", paint.bold(&word("tool")), word("outcome")));
        }
    }
    for (title, said) in [("asked", asked(&run.messages)), ("answer", run.answer.as_deref())] {
        if let Some(said) = said {
            page.push_str(&format!("\n{}\n{}\n", paint.cyan(title), text::lines(said)));
        }
    }
    page.trim_end().to_owned()
}

/// The last thing that the user said.
fn asked(messages: &Value) -> Option<&str> {
    let said = |message: &&Value| message["role"] == "user";
    messages.as_array()?.iter().rev().find(said)?["content"].as_str()
}
