//! `switchboard approve`: lists the calls that wait for a person, in any process of this user, and decides about them.

mod queues;

use std::{
    io::{self, IsTerminal},
    process::ExitCode,
    time::SystemTime,
};

use anyhow::anyhow;
use serde_json::{Value, json};
use switchboard_approvals::{
    AllowRule, ApprovalDecision, Decider, Error, PendingApproval, ResolvedApproval, RuleScope,
};
use switchboard_toolcall::{json, text::visible};

use super::{calls::format, lists};
use crate::{
    approvals::{self, arguments},
    cli::{ApproveArgs, Cli},
    settings,
    terminal::{self, CommandFailed, Paint, ask, text},
};
use queues::ApprovalQueues;

/// How much of the arguments a list of rules shows.
const SHOWN: usize = 60;

pub(super) fn run(approve: &ApproveArgs, cli: &Cli) -> anyhow::Result<ExitCode> {
    let loaded = settings::load_sections(cli.config.as_deref(), &["audit", "cluster"])?;
    let done = queues::visit(&loaded, |queues| match (&approve.id, &approve.forget) {
        (Some(id), _) => decide(queues, id, approve, cli),
        (None, Some(rule)) => forget(queues, rule, approve),
        (None, None) if approve.rules => list_rules(queues, approve, cli),
        (None, None) => list(queues, approve, cli),
    });
    done.map(|()| ExitCode::SUCCESS)
}

fn decide(
    queues: &ApprovalQueues,
    id: &str,
    approve: &ApproveArgs,
    cli: &Cli,
) -> anyhow::Result<()> {
    let remember = match (approve.always, approve.always_tool) {
        (true, _) => Some(RuleScope::Arguments),
        (_, true) => Some(RuleScope::Tool),
        _ => None,
    };
    let (allow, by, reason) = (!approve.deny, approvals::who(), approve.reason.clone());
    let (queue, id) = queues.complete(id).map_err(failed)?;
    let pending = queue.find(&id).map_err(failed)?;
    terminal::tell(&laid_out(&pending, Paint::stderr(cli.color)));
    if allow && !approve.yes && ask::is_possible() {
        let answer = ask::line("Allow it? [y/N] ").unwrap_or_default();
        if !matches!(answer.trim(), "y" | "Y" | "yes") {
            return Err(anyhow!(CommandFailed("nothing was decided; --deny denies it".to_owned())));
        }
    }
    let verdict = ApprovalDecision { allow, by, decider: Decider::Owner, reason, remember };
    let decided = queue.decide(&id, verdict).map_err(failed)?;
    if approve.json {
        terminal::print(&json::visible(&shown_decision(&decided).to_string()))?;
        return Ok(());
    }
    let what = if allow { "runs now" } else { "does not run" };
    terminal::tell(&format!("{} {what}", text::one_line(&decided.pending.tool)));
    if let Some(rule) = &decided.rule {
        let with = if rule.arguments.is_some() { " with these arguments" } else { "" };
        terminal::tell(&format!(
            "allowed{with} from now on; `switchboard approve --forget {}` ends that",
            rule.id
        ));
    }
    Ok(())
}

fn list(queues: &ApprovalQueues, approve: &ApproveArgs, cli: &Cli) -> anyhow::Result<()> {
    let pending = queues.pending().map_err(failed)?;
    if approve.json {
        let pending: Vec<_> = pending.iter().map(described).collect();
        terminal::print(&json::visible(&Value::from(pending).to_string()))?;
        return Ok(());
    }
    if pending.is_empty() {
        terminal::tell("no call waits for a person");
        return Ok(());
    }
    let paint = Paint::stdout(cli.color);
    let shown = pending.iter().map(|pending| match io::stdout().is_terminal() {
        true => laid_out(pending, paint),
        false => between_tabs(pending),
    });
    terminal::print(&shown.collect::<Vec<_>>().join("\n"))?;
    terminal::tell("`switchboard approve ID` allows one, with --deny it does not run");
    Ok(())
}

/// A held call for people: everything that they need to decide.
fn laid_out(pending: &PendingApproval, paint: Paint) -> String {
    let (id, tool) = (paint.bold(&pending.id), paint.bold(&visible(&pending.tool)));
    let asked_by = pending.asked_by.as_deref().unwrap_or("-");
    let mut text = format!(
        "{id}  {tool}  {}  {}  {}",
        visible(asked_by),
        format::ago(pending.asked.into(), SystemTime::now()),
        visible(&pending.reason),
    );
    if let Some(note) = &pending.note {
        text.push_str(&format!("\n  {} {}", paint.yellow("note:"), visible(note)));
    }
    format!("{text}\n{}", arguments::indented(pending.arguments.get(), "    "))
}

/// A held call for programs.
fn between_tabs(pending: &PendingApproval) -> String {
    let asked = format::ago(pending.asked.into(), SystemTime::now());
    let asked_by = pending.asked_by.as_deref().unwrap_or("-");
    let arguments = json::visible(pending.arguments.get());
    let fields = [
        pending.id.as_str(),
        &visible(&pending.tool),
        &arguments,
        &visible(asked_by),
        &asked,
        &visible(&pending.reason),
    ];
    fields.join("\t")
}

fn list_rules(queues: &ApprovalQueues, approve: &ApproveArgs, cli: &Cli) -> anyhow::Result<()> {
    let rules = queues.rules().map_err(failed)?;
    if approve.json {
        let rules: Vec<_> = rules.iter().map(shown_rule).collect();
        terminal::print(&Value::from(rules).to_string())?;
        return Ok(());
    }
    if rules.is_empty() {
        terminal::tell("nothing is always allowed");
        return Ok(());
    }
    let rows = rules.iter().map(|rule| {
        let arguments = rule.arguments.as_ref();
        [
            rule.id.clone(),
            text::one_line(&rule.tool),
            arguments.map_or("any arguments".to_owned(), |json| text::shorten(json.get(), SHOWN)),
            text::one_line(&rule.by),
            format::local(rule.created.into()),
        ]
    });
    let rows: Vec<[String; 5]> = rows.collect();
    terminal::print(&lists::table(&rows, Paint::stdout(cli.color)))?;
    Ok(())
}

fn forget(queues: &ApprovalQueues, id: &str, approve: &ApproveArgs) -> anyhow::Result<()> {
    let rule = queues.forget(id).map_err(failed)?;
    match approve.json {
        true => terminal::print(&shown_rule(&rule).to_string())?,
        false => terminal::tell(&format!("{} is asked about again", text::one_line(&rule.tool))),
    }
    Ok(())
}

fn described(pending: &PendingApproval) -> Value {
    json!({
        "id": pending.id,
        "call_id": pending.call_id,
        "tool": pending.tool,
        "server": pending.server,
        "arguments": pending.arguments,
        "asked_by": pending.asked_by,
        "reason": pending.reason,
        "asked": pending.asked,
        "expires": pending.expires,
        "note": pending.note,
        "four_eyes": pending.four_eyes,
    })
}

fn shown_decision(decided: &ResolvedApproval) -> Value {
    let mut value = described(&decided.pending);
    value["decision"] = decided.outcome.decision.code().into();
    value["decided_by"] = decided.outcome.by.clone().into();
    value["decided"] = json!(decided.outcome.decided);
    value["decision_reason"] = decided.outcome.reason.clone().into();
    value["rule"] = decided.rule.as_ref().map(shown_rule).into();
    value
}

fn shown_rule(rule: &AllowRule) -> Value {
    json!({
        "id": rule.id,
        "tool": rule.tool,
        "arguments": rule.arguments,
        "by": rule.by,
        "created": rule.created,
    })
}

/// A decision that is not possible is a failure of the command, not wrong usage.
fn failed(error: Error) -> anyhow::Error {
    match error {
        Error::Unknown(_) => {
            anyhow!(CommandFailed(format!("{error}; `switchboard approve` lists those that wait")))
        }
        Error::Closed { .. }
        | Error::UnknownRule(_)
        | Error::Ambiguous { .. }
        | Error::FourEyes(_) => {
            anyhow!(CommandFailed(error.to_string()))
        }
        error => error.into(),
    }
}
