//! `switchboard calls stats`: figures per tool.

use std::{
    io::{self, IsTerminal},
    process::ExitCode,
    time::Duration,
};

use switchboard_audit::{CallActivity, ToolStats};
use unicode_width::UnicodeWidthStr;

use super::{failed, fleet, format, open};
use crate::{
    cli::{Cli, StatsArgs},
    settings::Loaded,
    terminal::{self, Paint, text},
};

/// How many columns the figures take, beside the tool's name.
const FIGURES: usize = 56;
/// How many bars the chart has.
const PARTS: usize = 24;

pub(super) fn run(stats: &StatsArgs, loaded: &Loaded, cli: &Cli) -> anyhow::Result<ExitCode> {
    let filter = stats.filters.filter(loaded.settings.executor.slow_call);
    if stats.fleet {
        let records = fleet::list(&filter, loaded, stats.json)?;
        return show(stats, &ToolStats::of(&records), || Ok(None), cli);
    }
    let mut reader = open(loaded)?;
    let figures = reader.stats(&filter).map_err(failed)?;
    show(stats, &figures, || reader.activity(&filter, PARTS).map_err(failed), cli)
}

fn show(
    stats: &StatsArgs,
    figures: &[ToolStats],
    activity: impl FnOnce() -> anyhow::Result<Option<CallActivity>>,
    cli: &Cli,
) -> anyhow::Result<ExitCode> {
    if stats.json {
        terminal::print(&serde_json::to_string(figures)?)?;
    } else if figures.is_empty() {
        terminal::tell("there are no such calls");
    } else if io::stdout().is_terminal() {
        let activity = activity()?;
        terminal::print(&table(figures, activity.as_ref(), Paint::stdout(cli.color)))?;
    } else {
        let lines: Vec<_> = figures.iter().map(between_tabs).collect();
        terminal::print(&lines.join("\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn between_tabs(figures: &ToolStats) -> String {
    let ToolStats { tool, calls, failures, p50_ms, p95_ms, p99_ms, bytes } = figures;
    format!("{tool}\t{calls}\t{failures}\t{p50_ms}\t{p95_ms}\t{p99_ms}\t{bytes}")
}

fn table(figures: &[ToolStats], activity: Option<&CallActivity>, paint: Paint) -> String {
    let took = |milliseconds: f64| format::took(Duration::from_secs_f64(milliseconds / 1000.0));
    let head = ["tool", "calls", "failures", "p50", "p95", "p99", "bytes"].map(str::to_owned);
    let rows = figures.iter().map(|tool| {
        [
            text::shorten(&tool.tool, terminal::width().saturating_sub(FIGURES).clamp(8, 40)),
            tool.calls.to_string(),
            tool.failures.to_string(),
            took(tool.p50_ms),
            took(tool.p95_ms),
            took(tool.p99_ms),
            format::size(tool.bytes),
        ]
    });
    let rows: Vec<[String; 7]> = rows.collect();
    let width = |column: usize| {
        rows.iter().chain([&head]).map(|row| row[column].width()).max().unwrap_or(0)
    };
    let widths: [usize; 7] = std::array::from_fn(width);
    let room = terminal::width() >= widths.iter().sum::<usize>() + 14 + PARTS;
    let line = |row: &[String; 7]| {
        let numbers = row.iter().zip(widths).skip(1);
        let numbers: Vec<_> = numbers
            .map(|(cell, width)| {
                format!("{}{cell}", " ".repeat(width.saturating_sub(cell.width())))
            })
            .collect();
        format!("{}  {}", text::pad(&row[0], widths[0]), numbers.join("  "))
    };
    let mut lines = vec![paint.dim(&line(&head))];
    for (row, figures) in rows.iter().zip(figures) {
        let counts = activity.and_then(|activity| activity.calls.get(&figures.tool));
        let chart = counts.filter(|_| room).map(|counts| format::sparkline(counts));
        let chart = chart.map(|chart| format!("  {}", paint.cyan(&chart))).unwrap_or_default();
        lines.push(format!("{}{chart}", line(row)));
    }
    if let Some(activity) = activity.filter(|_| room) {
        let span =
            format!("from {} to {}", format::local(activity.from), format::local(activity.until));
        lines.push(paint.dim(&span));
    }
    lines.join("\n")
}
