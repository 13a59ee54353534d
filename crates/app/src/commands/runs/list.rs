//! `switchboard runs`: the list.

use std::{
    io::{self, IsTerminal},
    process::ExitCode,
    time::SystemTime,
};

use jiff::Timestamp;
use switchboard_agent::{RunState, RunSummary};
use unicode_width::UnicodeWidthStr;

use super::{failed, store};
use crate::{
    cli::{Cli, RunsArgs},
    commands::calls::{format, list::shortened},
    settings::LoadedConfig,
    terminal::{self, Paint, text},
};

/// How many are shown to people, and given to programs, without `--limit`.
const FOR_PEOPLE: usize = 50;
const FOR_PROGRAMS: usize = 1000;

pub(super) fn run(runs: &RunsArgs, loaded: &LoadedConfig, cli: &Cli) -> anyhow::Result<ExitCode> {
    let usual = if runs.json { FOR_PROGRAMS } else { FOR_PEOPLE };
    let most = match runs.limit.unwrap_or(usual) {
        0 => usize::MAX,
        most => most,
    };
    let mut all = store(loaded)?.list(most.saturating_add(1)).map_err(failed)?;
    let has_more = all.len() > most;
    all.truncate(most);
    if runs.json {
        terminal::print(&serde_json::to_string(&all)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if all.is_empty() {
        terminal::tell("there are no runs yet; `switchboard ask` and `chat` make them");
    } else if io::stdout().is_terminal() {
        terminal::print(&table(&all, Paint::stdout(cli.color)))?;
    } else {
        let lines: Vec<_> =
            all.iter().map(|run| cells(run, run.id.to_string()).join("\t")).collect();
        terminal::print(&lines.join("\n"))?;
    }
    if has_more && runs.limit.is_none() {
        terminal::tell(&format!("these are the latest {most}; `--limit N` shows more, 0 all"));
    }
    Ok(ExitCode::SUCCESS)
}

/// The columns of a run; the time as it is recorded.
fn cells(run: &RunSummary, id: String) -> [String; 7] {
    let RunSummary { turns, calls, input_tokens, output_tokens, .. } = run;
    [
        id,
        run.started.clone(),
        run.state.code().to_owned(),
        text::one_line(&run.model),
        turns.to_string(),
        calls.to_string(),
        format!("{input_tokens}+{output_tokens}"),
    ]
}

fn table(runs: &[RunSummary], paint: Paint) -> String {
    let ids = shortened(&runs.iter().map(|run| run.id).collect::<Vec<_>>());
    let titles = ["id", "began", "state", "model", "turns", "calls", "tokens"].map(str::to_owned);
    let rows = runs.iter().zip(ids).map(|(run, id)| {
        let mut cells = cells(run, id);
        cells[1] = ago(&run.started);
        cells[3] = text::shorten(&cells[3], 32);
        cells
    });
    let rows: Vec<_> = std::iter::once(titles).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].width()).max().unwrap_or(0);
    let widths: [usize; 7] = std::array::from_fn(width);
    let lines = rows.iter().enumerate().map(|(place, row)| {
        let padded: Vec<_> =
            row.iter().zip(widths).map(|(cell, width)| text::pad(cell, width)).collect();
        let line = padded.join("  ");
        match place.checked_sub(1).map(|run| runs[run].state) {
            None => paint.dim(line.trim_end()),
            Some(RunState::Interrupted | RunState::Failed) => paint.yellow(line.trim_end()),
            Some(_) => line.trim_end().to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// How long ago a run began; as it is recorded, if that is no time.
pub(super) fn ago(started: &str) -> String {
    match started.parse::<Timestamp>() {
        Ok(moment) => format::ago(SystemTime::from(moment), SystemTime::now()),
        Err(_) => text::one_line(started),
    }
}
