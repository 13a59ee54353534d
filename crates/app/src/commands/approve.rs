//! `switchboard approve`: the calls that wait for a person, in any process of this user, and the person's word.

mod desks;

use std::{process::ExitCode, time::SystemTime};

use anyhow::anyhow;
use serde_json::{Value, json};
use switchboard_approvals::{Decided, Error, Pending, Remember, Rule, Verdict};

use super::{calls::words, lists};
use crate::{
    approvals,
    cli::{Approve, Cli},
    settings,
    terminal::{self, Failed, Paint, text},
};
use desks::Desks;

/// How much of the arguments a list shows.
const SHOWN: usize = 60;

pub(super) fn run(approve: &Approve, cli: &Cli) -> anyhow::Result<ExitCode> {
    let loaded = settings::load_sections(cli.config.as_deref(), &["audit", "cluster"])?;
    let done = desks::visit(&loaded, |desks| match (&approve.id, &approve.forget) {
        (Some(id), _) => decide(desks, id, approve),
        (None, Some(rule)) => forget(desks, rule, approve),
        (None, None) if approve.rules => list_rules(desks, approve, cli),
        (None, None) => list(desks, approve, cli),
    });
    done.map(|()| ExitCode::SUCCESS)
}

fn decide(desks: &Desks, id: &str, approve: &Approve) -> anyhow::Result<()> {
    let remember = match (approve.always, approve.always_tool) {
        (true, _) => Some(Remember::Arguments),
        (_, true) => Some(Remember::Tool),
        _ => None,
    };
    let (allow, by, reason) = (!approve.deny, approvals::who(), approve.reason.clone());
    let (desk, id) = desks.complete(id).map_err(failed)?;
    let decided = desk.decide(&id, Verdict { allow, by, reason, remember }).map_err(failed)?;
    if approve.json {
        terminal::print(&shown_decision(&decided).to_string())?;
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

fn list(desks: &Desks, approve: &Approve, cli: &Cli) -> anyhow::Result<()> {
    let pending = desks.pending().map_err(failed)?;
    if approve.json {
        let pending: Vec<_> = pending.iter().map(shown).collect();
        terminal::print(&Value::from(pending).to_string())?;
        return Ok(());
    }
    if pending.is_empty() {
        terminal::tell("no call waits for a person");
        return Ok(());
    }
    let now = SystemTime::now();
    let rows = pending.iter().map(|pending| {
        [
            pending.id.clone(),
            text::one_line(&pending.tool),
            text::shorten(pending.arguments.get(), SHOWN),
            text::one_line(pending.asked_by.as_deref().unwrap_or("-")),
            words::ago(pending.asked.into(), now),
            text::one_line(&pending.reason),
        ]
    });
    let rows: Vec<[String; 6]> = rows.collect();
    terminal::print(&lists::table(&rows, Paint::stdout(cli.color)))?;
    terminal::tell("`switchboard approve ID` allows one, with --deny it does not run");
    Ok(())
}

fn list_rules(desks: &Desks, approve: &Approve, cli: &Cli) -> anyhow::Result<()> {
    let rules = desks.rules().map_err(failed)?;
    if approve.json {
        let rules: Vec<_> = rules.iter().map(shown_rule).collect();
        terminal::print(&Value::from(rules).to_string())?;
        return Ok(());
    }
    if rules.is_empty() {
        terminal::tell("nothing is allowed for good");
        return Ok(());
    }
    let rows = rules.iter().map(|rule| {
        let arguments = rule.arguments.as_ref();
        [
            rule.id.clone(),
            text::one_line(&rule.tool),
            arguments.map_or("any arguments".to_owned(), |json| text::shorten(json.get(), SHOWN)),
            text::one_line(&rule.by),
            words::local(rule.created.into()),
        ]
    });
    let rows: Vec<[String; 5]> = rows.collect();
    terminal::print(&lists::table(&rows, Paint::stdout(cli.color)))?;
    Ok(())
}

fn forget(desks: &Desks, id: &str, approve: &Approve) -> anyhow::Result<()> {
    let rule = desks.forget(id).map_err(failed)?;
    match approve.json {
        true => terminal::print(&shown_rule(&rule).to_string())?,
        false => terminal::tell(&format!("{} is asked about again", text::one_line(&rule.tool))),
    }
    Ok(())
}

fn shown(pending: &Pending) -> Value {
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
    })
}

fn shown_decision(decided: &Decided) -> Value {
    let mut value = shown(&decided.pending);
    value["decision"] = decided.answer.decision.code().into();
    value["decided_by"] = decided.answer.by.clone().into();
    value["decided"] = json!(decided.answer.decided);
    value["decision_reason"] = decided.answer.reason.clone().into();
    value["rule"] = decided.rule.as_ref().map(shown_rule).into();
    value
}

fn shown_rule(rule: &Rule) -> Value {
    json!({
        "id": rule.id,
        "tool": rule.tool,
        "arguments": rule.arguments,
        "by": rule.by,
        "created": rule.created,
    })
}

/// What cannot be decided is nobody's wrong usage.
fn failed(error: Error) -> anyhow::Error {
    match error {
        Error::Unknown(_) => {
            anyhow!(Failed(format!("{error}; `switchboard approve` lists those that wait")))
        }
        Error::Over { .. } | Error::NoRule(_) | Error::Several { .. } => {
            anyhow!(Failed(error.to_string()))
        }
        error => error.into(),
    }
}
