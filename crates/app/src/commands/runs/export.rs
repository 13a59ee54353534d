//! `switchboard runs export ID`: a run for other programs.

use std::process::ExitCode;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use switchboard_agent::RunDetail;
use switchboard_toolcall::CallId;

use super::{failed, show::add_decisions, store};
use crate::{
    cli::{ExportRunArgs, RunFormat},
    settings::LoadedConfig,
    terminal,
};

pub(super) fn run(export: &ExportRunArgs, loaded: &LoadedConfig) -> anyhow::Result<ExitCode> {
    let store = store(loaded)?;
    let mut run = store.show(store.find(&export.id).map_err(failed)?).map_err(failed)?;
    add_decisions(&mut run.timeline, loaded);
    let text = match export.format {
        RunFormat::Json => run.to_json(),
        RunFormat::Otlp => otlp(&run),
    };
    terminal::print(&text.to_string())?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the run as the body of an OTLP request: a span for the run, one for each turn of the model, one for each call.
fn otlp(run: &RunDetail) -> Value {
    let summary = &run.summary;
    let trace = format!("{:032x}", summary.id.number());
    let root = span_id(summary.id, "run");
    // The first 48 bits of an id are the time.
    let began = u64::try_from(summary.id.number() >> 80).unwrap_or_default();
    let mut spans = Vec::new();
    let mut begin = began;
    for (number, turn) in run.timeline.as_array().into_iter().flatten().enumerate() {
        let answered = turn["ended_ms"].as_u64().unwrap_or(begin).max(begin);
        let mut attributes = vec![
            text("gen_ai.operation.name", "chat"),
            text("gen_ai.request.model", &summary.model),
        ];
        for (name, key) in [
            ("gen_ai.usage.input_tokens", "input_tokens"),
            ("gen_ai.usage.output_tokens", "output_tokens"),
        ] {
            attributes.push(number_of(name, turn[key].as_u64().unwrap_or_default()));
        }
        let id = span_id(summary.id, &format!("turn {number}"));
        let name = format!("chat {}", summary.model);
        spans.push(span(&trace, &id, Some(&root), &name, (begin, answered), attributes, None));
        begin = answered;
        for (position, call) in turn["calls"].as_array().into_iter().flatten().enumerate() {
            let ended = call["ended_ms"].as_u64().unwrap_or(answered);
            let started = ended.saturating_sub(call["duration_ms"].as_u64().unwrap_or_default());
            let tool = call["tool"].as_str().unwrap_or_default();
            let outcome = call["outcome"].as_str().unwrap_or_default();
            let mut attributes = vec![
                text("gen_ai.operation.name", "execute_tool"),
                text("gen_ai.tool.name", tool),
                text("gen_ai.tool.call.id", call["tool_call_id"].as_str().unwrap_or_default()),
            ];
            for (name, key) in
                [("switchboard.decision", "decision"), ("switchboard.decided_by", "decided_by")]
            {
                attributes.extend(call[key].as_str().map(|said| text(name, said)));
            }
            let id = span_id(summary.id, &format!("call {number}.{position}"));
            let name = format!("execute_tool {tool}");
            let error = Some(outcome).filter(|outcome| *outcome != "ok");
            let times = (started.max(answered), ended.max(answered));
            spans.push(span(&trace, &id, Some(&root), &name, times, attributes, error));
            begin = begin.max(ended);
        }
    }
    let attributes = vec![
        text("gen_ai.operation.name", "invoke_agent"),
        text("gen_ai.request.model", &summary.model),
        text("gen_ai.conversation.id", &summary.id.to_string()),
    ];
    let error = summary.error.as_deref();
    spans.insert(0, span(&trace, &root, None, "invoke_agent", (began, begin), attributes, error));
    json!({"resourceSpans": [{
        "resource": {"attributes": [text("service.name", "switchboard")]},
        "scopeSpans": [{"scope": {"name": "switchboard"}, "spans": spans}],
    }]})
}

fn span(
    trace: &str,
    id: &str,
    parent: Option<&str>,
    name: &str,
    (began, ended): (u64, u64),
    attributes: Vec<Value>,
    error: Option<&str>,
) -> Value {
    let nanoseconds = |milliseconds: u64| format!("{milliseconds}000000");
    let status = match error {
        Some(error) => json!({"code": 2, "message": error}),
        None => json!({"code": 1}),
    };
    json!({
        "traceId": trace, "spanId": id, "parentSpanId": parent.unwrap_or_default(), "name": name, "kind": 1,
        "startTimeUnixNano": nanoseconds(began), "endTimeUnixNano": nanoseconds(ended),
        "attributes": attributes, "status": status,
    })
}

fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

fn number_of(key: &str, value: u64) -> Value {
    json!({"key": key, "value": {"intValue": value.to_string()}})
}

/// Returns the id of a part of a run, the same each time it is exported.
fn span_id(run: CallId, part: &str) -> String {
    let hash = Sha256::digest(format!("{run} {part}"));
    hash[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}
