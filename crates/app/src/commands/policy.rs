//! `switchboard policy test`: what the rules would have said of recorded calls.

use std::{collections::HashMap, process::ExitCode, sync::Arc};

use serde_json::Value;
use switchboard_audit::{Reader, Record};
use switchboard_gateway::{PolicyReport, policy_report};
use switchboard_runtime::{Policy as _, RegisteredTool, RulePolicy, Verdict, policy::Answer};
use switchboard_toolcall::CallContext;

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
    let judged = |record: &Record| (judge.judge(record), judge.known.contains_key(&record.tool));
    let report = policy_report(&records, judged, |record| was_asked(record, &mut reader))?;
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
