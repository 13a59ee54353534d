//! `switchboard calls`: the list.

use std::{
    io::{self, IsTerminal},
    process::ExitCode,
    time::SystemTime,
};

use jiff::Timestamp;
use switchboard_audit::Record;
use switchboard_toolcall::CallId;
use unicode_width::UnicodeWidthStr;

use super::{cluster_records, failed, format, open};
use crate::{
    cli::{CallsArgs, Cli},
    settings::LoadedConfig,
    terminal::{self, Paint, text},
};

/// How many are shown to people without `--limit`.
const FOR_PEOPLE: usize = 50;
/// How many are given to programs without `--limit`.
const FOR_PROGRAMS: usize = 1000;
/// How many columns of arguments are worth showing.
const LEAST_ARGUMENTS: usize = 8;
/// How narrow the column of names may become on a narrow terminal, and how wide it may be.
const NAMES: std::ops::RangeInclusive<usize> = 12..=32;
/// Ids begin with the time, so that shorter prefixes are seldom unique.
const SHORTEST_ID: usize = 10;

pub(super) fn run(calls: &CallsArgs, loaded: &LoadedConfig, cli: &Cli) -> anyhow::Result<ExitCode> {
    let mut filter = calls.filters.filter(loaded.settings.executor.slow_call);
    let usual = if calls.json { FOR_PROGRAMS } else { FOR_PEOPLE };
    let most = match calls.limit.unwrap_or(usual) {
        0 => usize::MAX,
        most => most,
    };
    // One more, to know whether there are more.
    filter.limit = Some(most.saturating_add(1));
    let mut records = match calls.cluster {
        true => cluster_records::list(&filter, loaded, calls.json)?,
        // A table shows the beginning of the arguments.
        false if !calls.json && io::stdout().is_terminal() => {
            open(loaded)?.list_beginnings(&filter).map_err(failed)?
        }
        false => open(loaded)?.list(&filter).map_err(failed)?,
    };
    let has_more = records.len() > most;
    records.truncate(most);
    if calls.json {
        terminal::print(&serde_json::to_string(&records)?)?;
    } else if io::stdout().is_terminal() {
        terminal::print(&table(&records, Paint::stdout(cli.color)))?;
    } else if !records.is_empty() {
        let lines: Vec<_> = records.iter().map(between_tabs).collect();
        terminal::print(&lines.join("\n"))?;
    }
    if records.is_empty() && !calls.json {
        terminal::tell("there are no such calls");
    }
    if has_more && calls.limit.is_none() {
        terminal::tell(&format!("these are the latest {most}; `--limit N` shows more, 0 all"));
    }
    Ok(ExitCode::SUCCESS)
}

/// The columns in full, separated by tabs, for `cut` and similar programs.
pub(super) fn between_tabs(record: &Record) -> String {
    let started = Timestamp::try_from(record.started).unwrap_or_default();
    let duration = record.duration.map(|took| (took.as_nanos() as f64 / 1e6).to_string());
    let fields = [
        record.id.to_string(),
        started.to_string(),
        text::one_line(&record.tool),
        record.outcome.code().to_owned(),
        duration.unwrap_or_default(),
        text::one_line(&record.arguments),
    ];
    let node = record.node.as_ref().map(|node| format!("\t{}\t{}", node.host, node.id));
    format!("{}{}", fields.join("\t"), node.unwrap_or_default())
}

/// Columns, the arguments cut to fit.
fn table(records: &[Record], paint: Paint) -> String {
    let now = SystemTime::now();
    let ids = shortened(&records.iter().map(|record| record.id).collect::<Vec<_>>());
    let mut cells: Vec<_> = records
        .iter()
        .zip(&ids)
        .map(|(record, id)| {
            let tool = text::shorten_name(&record.tool, *NAMES.end());
            let outcome = record.outcome.code().to_owned();
            let node = record.node.as_ref().map(cluster_records::short).unwrap_or_default();
            let took = format::duration_of(record);
            [id.clone(), format::ago(record.started, now), tool, outcome, took, node]
        })
        .collect();
    let width = |column: usize| cells.iter().map(|row| row[column].width()).max().unwrap_or(0);
    let mut widths: [usize; 6] = std::array::from_fn(width);
    // The name is shortened only if it does not fit beside id, outcome and duration.
    let mut others = widths[0] + widths[3] + widths[4] + 6;
    let has_duration = others + NAMES.start() <= terminal::width();
    if !has_duration {
        others -= widths[4] + 2;
        widths[4] = 0;
    }
    let room = terminal::width().saturating_sub(others).max(*NAMES.start());
    if widths[2] > room {
        widths[2] = room;
        for (cell, record) in cells.iter_mut().zip(records) {
            cell[2] = text::shorten_name(&record.tool, room);
        }
    }
    let taken = widths.iter().sum::<usize>() + if widths[5] > 0 { 10 } else { 8 };
    // On a narrow terminal the arguments are dropped first, then the time.
    let has_time = taken <= terminal::width();
    let room = terminal::width().checked_sub(taken + 2).filter(|room| *room >= LEAST_ARGUMENTS);
    let lines =
        records.iter().zip(&cells).map(|(record, [id, when, tool, outcome, took, node])| {
            let [id, when, tool, outcome, node] =
                [(id, 0), (when, 1), (tool, 2), (outcome, 3), (node, 5)]
                    .map(|(cell, column)| text::pad(cell, widths[column]));
            let node = if widths[5] > 0 { format!("  {node}") } else { node };
            let gap = " ".repeat((widths[4] + 2).saturating_sub(took.width()));
            let took = if has_duration { format!("{gap}{took}") } else { String::new() };
            let outcome = format::coloured(&outcome, record.outcome, paint);
            let when = if has_time { format!("  {}", paint.dim(&when)) } else { String::new() };
            let arguments =
                room.map(|room| format!("  {}", text::shorten(&record.arguments, room)));
            let arguments = arguments.unwrap_or_default();
            let (id, tool) = (paint.dim(&id), paint.bold(&tool));
            format!("{id}{when}{node}  {tool}  {outcome}{took}{arguments}")
        });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the shortest prefixes of the ids that are still unique among them.
pub(in crate::commands) fn shortened(ids: &[CallId]) -> Vec<String> {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    let mut sorted: Vec<&str> = ids.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    let same =
        |pair: &[&str]| pair[0].bytes().zip(pair[1].bytes()).take_while(|(a, b)| a == b).count();
    let longest = sorted.windows(2).map(same).max().unwrap_or(0);
    let length = (longest + 1).max(SHORTEST_ID);
    ids.into_iter()
        .map(|mut id| {
            id.truncate(length);
            id
        })
        .collect()
}
