//! `switchboard runs diff A B`: what differs between two runs.

use std::process::ExitCode;

use super::{
    comparison::{self, RunFacts},
    failed, store,
};
use crate::{
    cli::{Cli, DiffRunsArgs},
    settings::LoadedConfig,
    terminal::{self, Paint, text},
};

pub(super) fn run(
    diff: &DiffRunsArgs,
    loaded: &LoadedConfig,
    cli: &Cli,
) -> anyhow::Result<ExitCode> {
    let store = store(loaded)?;
    let facts = |id: &str| -> anyhow::Result<RunFacts> {
        let run = store.show(store.find(id).map_err(failed)?).map_err(failed)?;
        Ok(RunFacts::of(&run))
    };
    let (one, other) = (facts(&diff.one)?, facts(&diff.other)?);
    let text = match diff.json {
        true => comparison::to_json(&one, &other).to_string(),
        false => page(&one, &other, Paint::stdout(cli.color)),
    };
    terminal::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns what differs, for people.
pub(super) fn page(one: &RunFacts, other: &RunFacts, paint: Paint) -> String {
    let cost = |run: &RunFacts| run.cost.map_or_else(|| "–".to_owned(), |cost| cost.to_string());
    let time = |run: &RunFacts| match run.duration_ms {
        Some(time) => format!("{time} ms"),
        None => "–".to_owned(),
    };
    let facts = [
        ("model", one.model.clone(), other.model.clone()),
        ("state", one.state.to_owned(), other.state.to_owned()),
        ("turns", one.turns.to_string(), other.turns.to_string()),
        ("calls", one.calls.len().to_string(), other.calls.len().to_string()),
        (
            "tokens",
            format!("{}+{}", one.input_tokens, one.output_tokens),
            format!("{}+{}", other.input_tokens, other.output_tokens),
        ),
        ("cost", cost(one), cost(other)),
        ("time", time(one), time(other)),
    ];
    let mut lines = Vec::new();
    for (name, before, after) in facts {
        let name = paint.dim(&text::pad(name, 8));
        lines.push(match before == after {
            true => format!("{name}{}", text::one_line(&before)),
            false => format!("{name}{} → {}", text::one_line(&before), text::one_line(&after)),
        });
    }
    lines.push(String::new());
    for line in comparison::call_lines(&one.calls, &other.calls) {
        let line = text::one_line(&line);
        lines.push(match line.chars().next() {
            Some('-') => paint.red(&line),
            Some('+') => paint.green(&line),
            _ => line,
        });
    }
    let said = |run: &RunFacts| run.answer.clone().unwrap_or_else(|| "(none)".to_owned());
    if comparison::is_same_answer(one, other) {
        lines.push(format!("\n{}\n{}", paint.cyan("the same answer"), text::lines(&said(one))));
    } else {
        lines.push(format!("\n{}\n{}", paint.cyan("answer before"), text::lines(&said(one))));
        lines.push(format!("\n{}\n{}", paint.cyan("answer after"), text::lines(&said(other))));
    }
    lines.join("\n")
}
