//! `switchboard policy test`: what the rules would have said of recorded calls.

use std::{
    collections::{BTreeMap, HashMap},
    process::ExitCode,
    sync::Arc,
};

use serde::Serialize;
use serde_json::Value;
use switchboard_audit::{Reader, Record};
use switchboard_runtime::{Policy as _, RegisteredTool, RulePolicy, Verdict, policy::Answer};
use switchboard_toolcall::{CallContext, CallId, ErrorKind};

use super::{calls, current_tools, lists};
use crate::{
    assembly,
    cli::{Cli, PolicyAction, PolicyArgs, PolicyTestArgs},
    overrides,
    terminal::{self, Paint},
};

pub(super) fn run(policy: &PolicyArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    match &policy.action {
        PolicyAction::Test(test) => run_test(test, cli),
    }
}

/// What the rules would change.
#[derive(Debug, Default, Serialize)]
struct PolicyReport {
    /// How many calls were judged.
    calls: u64,
    /// How many of those would end as they did.
    same: u64,
    /// How many never came to the rules.
    skipped: u64,
    changes: Vec<RulingChange>,
}

/// What changes for the calls of one tool, by one rule.
#[derive(Debug, Serialize)]
struct RulingChange {
    change: &'static str,
    tool: String,
    /// The rule that denies or leaves it to a person; `None` if the calls are newly allowed.
    rule: Option<String>,
    calls: u64,
    /// The latest of the calls.
    example: CallId,
    /// Whether the tool is there now; else its name alone was judged.
    known: bool,
}

fn run_test(test: &PolicyTestArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    let loaded = overrides::load(cli)?;
    let filter = test.filters.filter(loaded.settings.executor.slow_call);
    let mut reader = calls::open(&loaded)?;
    let records = reader.list(&filter).map_err(calls::failed)?;
    let judge = RuleCheck {
        rules: assembly::rules(&loaded).map_err(anyhow::Error::msg)?,
        policy: assembly::policy(&loaded, false).map_err(anyhow::Error::msg)?,
        known: current_tools::tools(&loaded, &records, test.json)?,
        separator: &loaded.settings.executor.separator,
    };
    let report = report(&records, &judge, &mut reader)?;
    if test.json {
        terminal::print(&serde_json::to_string(&report)?)?;
    } else {
        show(&report, cli)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The rules, and the tools that they are about.
struct RuleCheck<'a> {
    /// What names and annotations decide.
    rules: RulePolicy,
    /// What arguments decide too.
    policy: Box<dyn switchboard_runtime::Policy>,
    known: HashMap<String, Arc<RegisteredTool>>,
    separator: &'a str,
}

impl RuleCheck<'_> {
    /// What the rules say of a call now.
    fn judge(&self, record: &Record) -> Verdict {
        let Some(tool) = self.known.get(&record.tool) else {
            return judged_by_name(&self.rules, record, self.separator);
        };
        let args: Value = serde_json::from_str(&record.arguments).unwrap_or_default();
        let caller = record.caller.as_deref().map(Into::into);
        match self.policy.check(tool, &args, &CallContext { caller, ..CallContext::default() }) {
            Answer::Now(verdict) => verdict,
            // The rules of a config answer at once.
            Answer::Later(_) => self.rules.judge(tool),
        }
    }
}

/// Judges a tool that is not there any more by the names it had.
fn judged_by_name(rules: &RulePolicy, record: &Record, separator: &str) -> Verdict {
    let name = record.tool.as_str();
    let Some(server) = &record.server else { return rules.judge_names(&[name]) };
    // A server may show its tools without its name.
    let own = name.strip_prefix(&**server).and_then(|rest| rest.strip_prefix(separator));
    let bare = own.unwrap_or(name);
    rules.judge_names(&[name, &format!("{server}{separator}{bare}"), bare])
}

fn report(
    records: &[Record],
    judge: &RuleCheck<'_>,
    reader: &mut Reader,
) -> anyhow::Result<PolicyReport> {
    let mut report = PolicyReport::default();
    let mut changes = BTreeMap::<(&str, &'static str, Option<String>), RulingChange>::new();
    for record in records {
        use ErrorKind::{InvalidParameters, NotFound, UnknownServer};
        let kind = record.outcome.error_kind();
        if matches!(kind, Some(InvalidParameters | NotFound | UnknownServer)) {
            report.skipped += 1;
            continue;
        }
        report.calls += 1;
        let was_denied = kind == Some(ErrorKind::Denied);
        let (change, rule) = match judge.judge(record) {
            Verdict::Deny(rule) if !was_denied => ("denied", Some(rule)),
            Verdict::Allow if was_denied => ("allowed", None),
            Verdict::AskFirst(ask) if !was_asked(record, reader)? => ("asked", Some(ask.rule)),
            _ => {
                report.same += 1;
                continue;
            }
        };
        let first = || RulingChange {
            change,
            tool: record.tool.clone(),
            rule: rule.clone(),
            calls: 0,
            example: record.id,
            known: judge.known.contains_key(&record.tool),
        };
        let key = (record.tool.as_str(), change, rule.clone());
        changes.entry(key).or_insert_with(first).calls += 1;
    }
    report.changes = changes.into_values().collect();
    report.changes.sort_by_key(|change| std::cmp::Reverse(change.calls));
    Ok(report)
}

/// Whether a person was asked about the call.
fn was_asked(record: &Record, reader: &mut Reader) -> anyhow::Result<bool> {
    let detail = reader.show(record.id).map_err(calls::failed)?;
    Ok(detail.is_some_and(|detail| detail.approval.is_some()))
}

fn show(report: &PolicyReport, cli: &Cli) -> anyhow::Result<()> {
    let rows = report.changes.iter().map(|change| {
        let rule = change.rule.clone().unwrap_or_else(|| "no rule denies it".to_owned());
        let rule =
            if change.known { rule } else { format!("{rule} (tool is gone; judged by name)") };
        let what = match change.change {
            "denied" => "would be denied",
            "asked" => "would be asked",
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
