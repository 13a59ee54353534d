//! `switchboard policy test`: what the rules would have said of recorded calls.

use std::{collections::BTreeMap, process::ExitCode};

use serde::Serialize;
use switchboard_audit::Record;
use switchboard_runtime::{RulePolicy, Verdict};
use switchboard_toolcall::{CallId, ErrorKind};

use super::{calls, known, lists};
use crate::{
    cli::{Cli, Policy, PolicyAction, PolicyTest},
    house, rehearsal,
    terminal::{self, Paint},
};

pub(super) fn run(policy: &Policy, cli: &Cli) -> anyhow::Result<ExitCode> {
    match &policy.action {
        PolicyAction::Test(test) => run_test(test, cli),
    }
}

/// What the rules would change.
#[derive(Debug, Default, Serialize)]
struct Report {
    /// How many calls were judged.
    calls: u64,
    /// How many of those would end as they did.
    same: u64,
    /// How many never came to the rules.
    skipped: u64,
    changes: Vec<Change>,
}

/// What changes for the calls of one tool, by one rule.
#[derive(Debug, Serialize)]
struct Change {
    change: &'static str,
    tool: String,
    /// The rule that denies; none where the calls are newly allowed.
    rule: Option<String>,
    calls: u64,
    /// The latest of the calls.
    example: CallId,
    /// Whether the tool is there now; else its name alone was judged.
    known: bool,
}

fn run_test(test: &PolicyTest, cli: &Cli) -> anyhow::Result<ExitCode> {
    let loaded = rehearsal::load(cli)?;
    let rules = house::rules(&loaded).map_err(anyhow::Error::msg)?;
    let filter = test.filters.filter(loaded.settings.executor.slow_call);
    let records = calls::open(&loaded)?.list(&filter).map_err(calls::failed)?;
    let known = known::tools(&loaded, &records, test.json)?;
    let separator = &loaded.settings.executor.separator;
    // Every tool is judged once, however often it was called.
    let mut verdicts = BTreeMap::<&str, (Verdict, bool)>::new();
    for record in &records {
        verdicts.entry(&record.tool).or_insert_with(|| match known.get(&record.tool) {
            Some(tool) => (rules.judge(tool), true),
            None => (judged_by_name(&rules, record, separator), false),
        });
    }
    let report = report(&records, &verdicts);
    if test.json {
        terminal::print(&serde_json::to_string(&report)?)?;
    } else {
        show(&report, cli)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Judges a tool that is not there any more by the names it had.
fn judged_by_name(rules: &RulePolicy, record: &Record, separator: &str) -> Verdict {
    let name = record.tool.as_str();
    match &record.server {
        // A server may show its tools without its name.
        Some(server) if !name.contains(separator) => {
            rules.judge_names(&[name, &format!("{server}{separator}{name}")])
        }
        _ => rules.judge_names(&[name]),
    }
}

fn report(records: &[Record], verdicts: &BTreeMap<&str, (Verdict, bool)>) -> Report {
    let mut report = Report::default();
    let mut changes = BTreeMap::<(&str, &'static str), Change>::new();
    for record in records {
        use ErrorKind::{InvalidParameters, NotFound, UnknownServer};
        let kind = record.outcome.error_kind();
        let Some((verdict, known)) = verdicts.get(record.tool.as_str()) else { continue };
        if matches!(kind, Some(InvalidParameters | NotFound | UnknownServer)) {
            report.skipped += 1;
            continue;
        }
        report.calls += 1;
        let was_denied = kind == Some(ErrorKind::Denied);
        let (change, rule) = match (was_denied, verdict) {
            (false, Verdict::Deny(rule)) => ("denied", Some(rule.clone())),
            (true, Verdict::Allow) => ("allowed", None),
            _ => {
                report.same += 1;
                continue;
            }
        };
        let first = || Change {
            change,
            tool: record.tool.clone(),
            rule,
            calls: 0,
            example: record.id,
            known: *known,
        };
        changes.entry((&record.tool, change)).or_insert_with(first).calls += 1;
    }
    report.changes = changes.into_values().collect();
    report.changes.sort_by_key(|change| std::cmp::Reverse(change.calls));
    report
}

fn show(report: &Report, cli: &Cli) -> anyhow::Result<()> {
    let rows = report.changes.iter().map(|change| {
        let rule = change.rule.clone().unwrap_or_else(|| "no rule denies it".to_owned());
        let rule =
            if change.known { rule } else { format!("{rule} (tool is gone; judged by name)") };
        let what = match change.change {
            "denied" => "would be denied",
            _ => "newly allowed",
        };
        [
            what.to_owned(),
            change.tool.clone(),
            change.calls.to_string(),
            change.example.to_string(),
            rule,
        ]
    });
    let rows: Vec<[String; 5]> = rows.collect();
    if !rows.is_empty() {
        terminal::print(&lists::table(&rows, Paint::stdout(cli.color)))?;
    }
    let skipped = match report.skipped {
        0 => String::new(),
        skipped => format!("; {skipped} more never came to the rules"),
    };
    terminal::tell(&format!(
        "{} of {} calls would end otherwise{skipped}",
        report.calls - report.same,
        report.calls
    ));
    Ok(())
}
