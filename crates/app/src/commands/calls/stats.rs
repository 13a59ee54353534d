//! `switchboard calls stats`: figures per tool.

use std::{
    io::{self, IsTerminal},
    process::ExitCode,
    time::Duration,
};

use switchboard_audit::{CallActivity, FigureSource, NodeFigures, SharedFigures, ToolStats};
use unicode_width::UnicodeWidthStr;

use super::{cluster_records, failed, format, open};
use crate::{
    cli::{Cli, StatsArgs},
    settings::LoadedConfig,
    terminal::{self, Paint, text},
};

/// The headings of the figures.
const HEAD: [&str; 6] = ["calls", "failures", "p50", "p95", "p99", "bytes"];
/// The order in which figures are dropped on a narrow terminal: bytes, p99, p50, failures.
const DROPPED: [usize; 4] = [5, 4, 2, 1];
/// How wide a tool's name may be.
const NAME: usize = 40;
/// A figure is dropped if fewer columns than this would be left for the tool's name.
const LEAST_NAME: usize = 20;
/// How many bars the chart has.
const PARTS: usize = 24;

pub(super) fn run(stats: &StatsArgs, loaded: &LoadedConfig, cli: &Cli) -> anyhow::Result<ExitCode> {
    let filter = stats.filters.filter(loaded.settings.executor.slow_call);
    if stats.cluster {
        let SharedFigures { sums, nodes } = cluster_records::figures(filter, loaded, stats.json)?;
        for NodeFigures { node, .. } in nodes.iter().filter(|one| one.source != FigureSource::Node)
        {
            let node = cluster_records::short(node);
            terminal::tell(&format!("{node} did not answer: the calls that it has shipped count"));
        }
        return show(stats, &sums.stats(), || Ok(None), cli);
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
    let rows = figures.iter().map(|tool| {
        [
            tool.calls.to_string(),
            tool.failures.to_string(),
            took(tool.p50_ms),
            took(tool.p95_ms),
            took(tool.p99_ms),
            format::size(tool.bytes),
        ]
    });
    let rows: Vec<FigureCells> = rows.collect();
    let longest = figures.iter().map(|tool| tool.tool.width()).max().unwrap_or(0).clamp(4, NAME);
    let columns = FigureColumns::for_rows(&rows, longest, terminal::width());
    let room = terminal::width() >= columns.width() + 2 + PARTS;
    let mut lines = vec![paint.dim(&columns.line("tool", &HEAD.map(str::to_owned)))];
    for (row, figures) in rows.iter().zip(figures) {
        let counts = activity.and_then(|activity| activity.calls.get(&figures.tool));
        let chart = counts.filter(|_| room).map(|counts| format::sparkline(counts));
        let chart = chart.map(|chart| format!("  {}", paint.cyan(&chart))).unwrap_or_default();
        lines.push(format!("{}{chart}", columns.line(&figures.tool, row)));
    }
    if let Some(activity) = activity.filter(|_| room) {
        let span =
            format!("from {} to {}", format::local(activity.from), format::local(activity.until));
        lines.push(paint.dim(&span));
    }
    lines.join("\n")
}

/// The figures of one tool, as text.
type FigureCells = [String; 6];

/// How wide the name and each column of figures is; a column that has no room is `None`.
struct FigureColumns {
    name: usize,
    figures: [Option<usize>; 6],
}

impl FigureColumns {
    /// On a narrow terminal, drops figures before it shortens the name too much: the name says what they are about.
    fn for_rows(rows: &[FigureCells], longest: usize, width: usize) -> Self {
        let widest = |column: usize| {
            let cells = rows.iter().map(|row| row[column].width());
            cells.chain([HEAD[column].width()]).max()
        };
        let mut columns = Self { name: longest, figures: std::array::from_fn(widest) };
        for column in DROPPED {
            if columns.width() - longest + longest.min(LEAST_NAME) > width {
                columns.figures[column] = None;
            }
        }
        let figures = columns.width() - longest;
        columns.name = longest.min(width.saturating_sub(figures)).max(longest.min(LEAST_NAME));
        columns
    }

    fn width(&self) -> usize {
        self.name + self.figures.iter().flatten().map(|width| width + 2).sum::<usize>()
    }

    fn line(&self, name: &str, row: &FigureCells) -> String {
        let mut line = text::pad(&text::shorten_name(name, self.name), self.name);
        for (cell, width) in row.iter().zip(self.figures) {
            let Some(width) = width else { continue };
            line.push_str(&format!("{}{cell}", " ".repeat(2 + width.saturating_sub(cell.width()))));
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_terminals_lose_figures_before_names() {
        let row = ["12", "0", "1.20 ms", "2.40 ms", "2.40 ms", "1.5 kB"].map(str::to_owned);
        let name = "everything__trigger-elicitation-request";
        let line =
            |width| FigureColumns::for_rows(std::slice::from_ref(&row), 39, width).line(name, &row);
        for width in [30, 40, 60, 80, 120] {
            let line = line(width);
            assert!(line.width() <= width.max(40) && line.contains("-request "), "{width}: {line}");
        }
        assert!(line(120).starts_with(name) && line(120).ends_with("1.5 kB"));
        assert!(line(60).ends_with("1.20 ms  2.40 ms") && line(40).ends_with("2.40 ms"));
    }
}
