//! `switchboard calls show ID`: the details of one call.

use std::{
    process::ExitCode,
    time::{Duration, SystemTime},
};

use anyhow::anyhow;
use serde_json::Value;
use switchboard_audit::CallDetail;
use switchboard_runtime::{Approval, Ruling, record::Stages};
use switchboard_toolcall::CallId;

use super::{cluster_records, failed, format, open, queued};
use crate::{
    cli::{Cli, ShowCallArgs},
    records,
    runtime::on_runtime,
    settings::LoadedConfig,
    terminal::{self, CommandFailed, Paint, json::pretty, text},
};

/// How many calls are named if an id is ambiguous.
const CANDIDATES: usize = 5;
/// How wide the bar of the longest stage is.
const BAR: usize = 30;

pub(super) fn run(
    call: &ShowCallArgs,
    loaded: &LoadedConfig,
    cli: &Cli,
) -> anyhow::Result<ExitCode> {
    let paint = Paint::stdout(cli.color);
    let recorded = recorded(call, loaded);
    // A queued call may have a record here, or be known only to the cluster.
    let id = match &recorded {
        Ok(detail) => Some(detail.record.id),
        Err(_) => CallId::parse(call.id.trim()),
    };
    let queued = match id.filter(|_| loaded.settings.cluster.nats.is_some()) {
        Some(id) => on_runtime(queued::look(loaded, id)),
        None => Ok(None),
    };
    let text = match (queued, recorded) {
        (Ok(Some(queued)), _) if call.json => queued::object(&queued)?,
        (Ok(Some(queued)), _) => queued::page(&queued, paint),
        // If the cluster cannot be reached, the local record is still shown.
        (_, Ok(detail)) if call.json => {
            let mut object = serde_json::to_value(&detail)?;
            if let Some((run, turn)) = run_of(&detail, loaded) {
                object["run"] = run.to_string().into();
                if let Some(turn) = turn {
                    object["turn"] = turn.into();
                }
            }
            object.to_string()
        }
        (_, Ok(detail)) => page(&detail, run_of(&detail, loaded), paint),
        (Err(away), Err(_)) if id.is_some() => return Err(away),
        (_, Err(error)) => return Err(error),
    };
    terminal::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the record of the call, from this node or from all.
fn recorded(call: &ShowCallArgs, loaded: &LoadedConfig) -> anyhow::Result<CallDetail> {
    if call.cluster {
        let mut found = cluster_records::show(&call.id, CANDIDATES + 1, loaded, call.json)?;
        let ids: Vec<_> = found.iter().map(|detail| detail.record.id).collect();
        the_one(&ids, &call.id)?;
        return Ok(found.remove(0));
    }
    let mut reader = open(loaded)?;
    let found = match call.id.trim() {
        "" => Vec::new(),
        asked => reader.beginning_with(asked, CANDIDATES + 1).map_err(failed)?,
    };
    let detail = reader.show(the_one(&found, &call.id)?).map_err(failed)?;
    let mut detail = detail.ok_or_else(|| none(&call.id))?;
    reader.count_lines(&mut detail).map_err(failed)?;
    Ok(detail)
}

fn none(asked: &str) -> anyhow::Error {
    let text = format!("no call's id begins with `{asked}`; `switchboard calls` lists them");
    anyhow!(CommandFailed(text))
}

/// Returns the only call that was found; fails if there is none, or more than one.
fn the_one(found: &[CallId], asked: &str) -> anyhow::Result<CallId> {
    match found {
        [] => Err(none(asked)),
        [one] => Ok(*one),
        several => {
            let shown = several.iter().take(CANDIDATES).map(ToString::to_string);
            let more = if several.len() > CANDIDATES { ", …" } else { "" };
            let shown = shown.collect::<Vec<_>>().join(", ");
            Err(anyhow!(CommandFailed(format!(
                "several calls' ids begin with `{asked}`: {shown}{more}"
            ))))
        }
    }
}

/// Returns the run of a model that the call was part of, if it is recorded, and its turn (SPEC RN-1).
fn run_of(detail: &CallDetail, loaded: &LoadedConfig) -> Option<(CallId, Option<u32>)> {
    let record = &detail.record;
    // Lines of older versions have no run; there the conversation of a run's calls is its id.
    let named = || Some((record.conversation.as_deref().and_then(CallId::parse)?, None));
    let named = record.run.map(|turn| (turn.run, Some(turn.turn))).or_else(named)?;
    // A client may name any run, that of somebody else too.
    let run = records::runs(loaded)?.summary(named.0).ok()?;
    (run.caller == record.caller).then_some(named)
}

fn page(detail: &CallDetail, run: Option<(CallId, Option<u32>)>, paint: Paint) -> String {
    let record = &detail.record;
    let outcome = format::coloured(record.outcome.code(), record.outcome, paint);
    let mut page = format!(
        "{}  {outcome}\n{}\n",
        paint.bold(&text::one_line(&record.tool)),
        paint.dim(&record.id.to_string())
    );
    let now = SystemTime::now();
    let started =
        format!("{} ({})", format::local(record.started), format::ago(record.started, now));
    let facts = [
        ("started", Some(started)),
        ("took", record.duration.map(format::took)),
        ("node", record.node.as_ref().map(|node| format!("{} ({})", node.host, node.id))),
        ("server", record.server.clone()),
        ("shown as", record.shown_as.clone()),
        ("profile", record.profile.clone()),
        ("caller", record.caller.clone()),
        ("conversation", record.conversation.clone().filter(|_| run.is_none())),
        ("run", run.map(shown_run)),
        ("answer", record.reused.map(|reused| format!("not run: {}", reused.code()))),
        ("size", record.bytes.map(format::size)),
        ("approval", detail.approval.as_ref().map(decision_text)),
        ("cut", detail.truncated.then(|| "what the caller saw was cut".to_owned())),
    ];
    page.push('\n');
    for (name, fact) in facts {
        if let Some(fact) = fact {
            page.push_str(&format!(
                "{}  {}\n",
                paint.dim(&text::pad(name, 12)),
                text::one_line(&fact)
            ));
        }
    }
    let mut section = |name: &str, content: String| {
        page.push_str(&format!("\n{}\n{content}\n", paint.cyan(name)));
    };
    section("arguments", shown_json(&record.arguments, paint));
    if let Some(result) = &detail.result {
        section("result", shown_json(result, paint));
    }
    for (name, said) in [("error", &detail.error), ("hint", &detail.hint)] {
        if let Some(said) = said {
            section(name, text::lines(said));
        }
    }
    if !detail.causes.is_empty() {
        let causes: Vec<_> = detail.causes.iter().map(|cause| text::lines(cause)).collect();
        section("causes", causes.join("\n"));
    }
    if let Some(stages) = &detail.stages {
        section("stages", bars(stages, paint));
    }
    if !detail.artifacts.is_empty() {
        let artifacts = detail.artifacts.iter().map(|artifact| {
            let size = format::size(artifact.size);
            let media_type = text::one_line(&artifact.media_type);
            format!("{}  {}  {media_type}  {size}", artifact.id, artifact.kind)
        });
        section("artifacts", artifacts.collect::<Vec<_>>().join("\n"));
    }
    let lines = ["begins", "ends"].iter().zip(&detail.lines).map(|(what, place)| {
        let file = format!("journal/{:08}.log", place.segment);
        let line = place.line.map(|line| format!(", line {line}")).unwrap_or_default();
        format!(
            "{}  {file}{line}, byte {}\n        {}\n        follows {}",
            text::pad(what, 6),
            place.offset,
            paint.dim(place.hash.as_str()),
            paint.dim(place.previous.as_str())
        )
    });
    section("journal", lines.collect::<Vec<_>>().join("\n"));
    page
}

/// The run with the turn that asked for the call.
fn shown_run((run, turn): (CallId, Option<u32>)) -> String {
    match turn {
        Some(turn) => format!("{run}, turn {turn}"),
        None => run.to_string(),
    }
}

/// The decision of a person about the call, in a few words.
fn decision_text(approval: &Approval) -> String {
    let by = approval.by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
    let held = match approval.id {
        Some(_) => format!(" after {}", format::took(approval.held)),
        None => String::new(),
    };
    let reason = approval.reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    let what = match approval.decision {
        Ruling::Allow => "allowed",
        Ruling::Deny => "denied",
        Ruling::Expired => "nobody decided",
        Ruling::Withdrawn => "the caller left",
    };
    format!("{what}{by}{held}{reason} ({})", approval.rule)
}

/// JSON over several lines; a text as it is.
fn shown_json(json: &str, paint: Paint) -> String {
    match serde_json::from_str::<Value>(json) {
        Ok(Value::String(said)) => text::lines(&said),
        Ok(value) => pretty(&value, paint),
        Err(_) => text::lines(json),
    }
}

/// How long each stage took, as a bar beside the others.
fn bars(stages: &Stages, paint: Paint) -> String {
    let Stages { open, lookup, check, wait, run, shape } = *stages;
    let stages = [
        ("open", open),
        ("lookup", lookup),
        ("check", check),
        ("wait", wait),
        ("run", run),
        ("shape", shape),
    ];
    let longest =
        stages.iter().map(|(_, took)| *took).max().unwrap_or_default().max(Duration::from_nanos(1));
    let lines = stages.iter().map(|(name, took)| {
        let share = took.as_secs_f64() / longest.as_secs_f64();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of BAR"
        )]
        let length = (share * BAR as f64).ceil() as usize;
        let bar = paint.green(&text::pad(&"█".repeat(length), BAR));
        format!("{}  {bar}  {:>9}", text::pad(name, 6), format::took(*took))
    });
    lines.collect::<Vec<_>>().join("\n")
}
