//! `switchboard policy test`: how the rules of the current config would decide about recorded calls.

use std::{
    collections::HashMap,
    io::{self, IsTerminal},
    process::ExitCode,
    sync::Arc,
};

use serde_json::Value;
use switchboard_audit::{Reader, Record};
use switchboard_gateway::{PolicyReport, policy_report};
use switchboard_runtime::{Policy, RegisteredTool, RulePolicy, Verdict, policy::PolicyCheck};
use switchboard_toolcall::CallContext;
use unicode_width::UnicodeWidthStr;

use super::{calls, current_tools, lists};
use crate::{
    assembly,
    cli::{Cli, PolicyAction, PolicyArgs, PolicyTestArgs},
    overrides, own_gateway,
    terminal::{self, Paint, text},
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
        served: assembly::policy(&loaded, true).map_err(anyhow::Error::msg)?,
        known: current_tools::tools(cli, &loaded, &records, test.json)?,
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
    /// Decides by names and annotations only.
    rules: RulePolicy,
    /// Decides by arguments, too.
    policy: Arc<dyn Policy>,
    /// The same with `[serve] allow_if` and `deny_if`, for calls through the gateway.
    served: Arc<dyn Policy>,
    known: HashMap<String, Arc<RegisteredTool>>,
    separator: &'a str,
}

impl RuleCheck<'_> {
    /// Returns the verdict of the current rules about a call.
    fn judge(&self, record: &Record) -> Verdict {
        let Some(tool) = self.known.get(&record.tool) else {
            return judged_by_name(&self.rules, record, self.separator);
        };
        let args: Value = serde_json::from_str(&record.arguments).unwrap_or_default();
        let caller = record.caller.as_deref().map(Into::into);
        let policy = if has_own_token(record) { &self.served } else { &self.policy };
        match policy.check(tool, &args, &CallContext { caller, ..CallContext::default() }) {
            PolicyCheck::Ready(verdict) => verdict,
            // Does not happen: rules of a config never wait.
            PolicyCheck::Pending(_) => self.rules.judge(tool),
        }
    }
}

/// Returns whether the call came through the gateway with one of our own tokens. Other calls through the gateway do not count:
/// records do not tell anonymous ones from local calls, and do not have the claims of a JWT, which rules may use.
fn has_own_token(record: &Record) -> bool {
    let caller = record.caller.as_deref();
    caller.is_some_and(|caller| caller != own_gateway::CALLER && !caller.starts_with("jwt:"))
}

/// Judges a tool that no longer exists by the names it had.
fn judged_by_name(rules: &RulePolicy, record: &Record, separator: &str) -> Verdict {
    let name = record.tool.as_str();
    let Some(server) = &record.server else { return rules.judge_names(&[name]) };
    // A server may be configured to show its tools without a prefix.
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
    let is_terminal = io::stdout().is_terminal();
    let examples: Vec<_> = report.changes.iter().map(|change| change.example).collect();
    let examples = match is_terminal {
        true => calls::list::shortened(&examples),
        false => examples.iter().map(ToString::to_string).collect(),
    };
    let rows = report.changes.iter().zip(examples).map(|(change, example)| {
        let rule = change.rule.clone().unwrap_or_else(|| "no rule denies it".to_owned());
        let rule =
            if change.known { rule } else { format!("{rule} (tool is gone; judged by name)") };
        let what = match change.change {
            "denied" => "would be denied",
            "asked" => "would be asked",
            _ => "newly allowed",
        };
        let tool = match is_terminal {
            true => text::shorten_name(&change.tool, (terminal::width() / 4).clamp(12, 32)),
            false => change.tool.clone(),
        };
        ([what.to_owned(), tool, change.calls.to_string(), example], rule)
    });
    let (rows, rules): (Vec<[String; 4]>, Vec<String>) = rows.unzip();
    if !rows.is_empty() {
        terminal::print(&with_rules(&lists::table(&rows, Paint::stdout(cli.color)), &rules))?;
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

/// Adds the rule to each line of a table: at its end, on the next line if the terminal is too narrow, in a pipe after a tab.
fn with_rules(table: &str, rules: &[String]) -> String {
    let lines: Vec<_> = table.lines().zip(rules).collect();
    if !io::stdout().is_terminal() {
        let lines = lines.iter().map(|(line, rule)| format!("{line}\t{}", text::one_line(rule)));
        return lines.collect::<Vec<_>>().join("\n");
    }
    let longest = |text: &dyn Fn(&(&str, &String)) -> usize| lines.iter().map(text).max();
    let width = longest(&|(line, _)| bare_width(line)).unwrap_or(0);
    let rule = longest(&|(_, rule)| text::one_line(rule).width()).unwrap_or(0);
    let has_room = width + 2 + rule <= terminal::width();
    let lines = lines.iter().map(|(line, rule)| match has_room {
        true => {
            let gap = " ".repeat(width - bare_width(line) + 2);
            format!("{line}{gap}{}", text::one_line(rule))
        }
        false => format!(
            "{line}\n    {}",
            text::wrap(rule, terminal::width().saturating_sub(4)).join("\n    ")
        ),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns how many columns a line takes, not counting its colour codes.
fn bare_width(line: &str) -> usize {
    let plain = line.replace("\x1b[1m", "").replace("\x1b[0m", "");
    plain.width()
}
