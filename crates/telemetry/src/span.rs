//! Calls, turns and runs as OpenTelemetry names them.
//!
//! The names are those of the conventions for generative AI and for MCP, both still in development; what they have no
//! name for begins with `switchboard.`.

use std::{
    str::FromStr,
    sync::LazyLock,
    time::{Duration, SystemTime},
};

use opentelemetry::{
    InstrumentationScope, KeyValue,
    trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState},
};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};
use switchboard_runtime::{CallEnd, Span, SpanOperation, Stages};
use switchboard_toolcall::{ErrorKind, TraceContext};

/// How many characters of a text go into a span.
const MOST_TEXT: usize = 4000;

/// The instrumentation scope of spans and metrics.
pub(crate) static SCOPE: LazyLock<InstrumentationScope> = LazyLock::new(|| {
    InstrumentationScope::builder("switchboard").with_version(env!("CARGO_PKG_VERSION")).build()
});

/// The span of a call. `protocol` is the revision that its server speaks.
pub(crate) fn of_call(
    end: &CallEnd<'_>,
    place: &TraceContext,
    protocol: Option<String>,
    with_contents: bool,
) -> SpanData {
    let start = end.start;
    let name = match end.tool {
        Some(tool) => format!("execute_tool {tool}"),
        // Names that a model made up must not become as many kinds of spans.
        None => "execute_tool".to_owned(),
    };
    let tool_name = end.tool.unwrap_or(&start.tool);
    let asked_as = end.result.map(|result| &result.tool_call_id).filter(|id| !id.is_empty());
    let call_id = start.id.to_string();
    let mut attributes = vec![
        KeyValue::new("gen_ai.operation.name", "execute_tool"),
        KeyValue::new("gen_ai.tool.name", tool_name.to_string()),
        KeyValue::new("gen_ai.tool.call.id", asked_as.unwrap_or(&call_id).clone()),
        KeyValue::new("switchboard.call_id", call_id),
    ];
    let mut add = |key: &'static str, value: Option<String>| {
        attributes.extend(value.map(|value| KeyValue::new(key, value)));
    };
    if let Some(spec) = end.spec {
        let kind = if end.server.is_some() { "extension" } else { "function" };
        add("gen_ai.tool.type", Some(kind.to_owned()));
        let description = Some(&spec.description).filter(|text| !text.is_empty());
        add("gen_ai.tool.description", description.map(|text| cut(text)));
    }
    if let Some(server) = end.server {
        add("mcp.method.name", Some("tools/call".to_owned()));
        add("mcp.protocol.version", protocol);
        add("switchboard.server", Some(server.to_string()));
    }
    add("switchboard.caller", start.caller.as_ref().map(ToString::to_string));
    add("gen_ai.conversation.id", start.conversation.as_ref().map(ToString::to_string));
    let reused = end.result.and_then(|result| result.reused);
    add("switchboard.reused", reused.map(|reused| reused.code().to_owned()));
    let error = end.error_kind.map(ErrorKind::code);
    add("error.type", error.map(str::to_owned));
    let text = with_contents.then(|| end.redacted.text()).flatten().map(|text| cut(&text));
    if with_contents {
        add("gen_ai.tool.call.arguments", Some(cut(&start.arguments)));
        add("gen_ai.tool.call.result", text.clone().filter(|_| error.is_none()));
    }
    attributes.extend(stages(end.stages));
    let held = end.approval.map_or(Duration::ZERO, |approval| approval.held);
    let waited = end.result.map_or(held, |result| result.waited);
    if !waited.is_zero() {
        attributes.push(KeyValue::new("switchboard.waited_ms", waited.as_secs_f64() * 1e3));
    }
    // A span lasts from its start to its end, so it includes the time in which a person decided or answered.
    let lasted = end.duration + waited;
    SpanData {
        attributes,
        status: status(error, text),
        ..bare(name, SpanKind::Internal, place, end.trace, start.started, lasted)
    }
}

/// The span of a turn or a run.
pub(crate) fn of_work(span: &Span<'_>) -> SpanData {
    let Span { model, provider, .. } = *span;
    let (operation, kind) = match span.work {
        SpanOperation::Turn => ("chat", SpanKind::Client),
        SpanOperation::Run => ("invoke_agent", SpanKind::Internal),
    };
    let name = match span.work {
        SpanOperation::Turn => format!("chat {model}"),
        SpanOperation::Run => "invoke_agent switchboard".to_owned(),
    };
    let tokens = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let mut attributes = vec![
        KeyValue::new("gen_ai.operation.name", operation),
        KeyValue::new("gen_ai.provider.name", provider.to_owned()),
        KeyValue::new("gen_ai.request.model", model.to_owned()),
        KeyValue::new("gen_ai.usage.input_tokens", tokens(span.input_tokens)),
        KeyValue::new("gen_ai.usage.output_tokens", tokens(span.output_tokens)),
    ];
    if span.work == SpanOperation::Run {
        attributes.push(KeyValue::new("gen_ai.agent.name", "switchboard"));
    }
    if let Some(conversation) = span.conversation {
        attributes.push(KeyValue::new("gen_ai.conversation.id", conversation.to_owned()));
    }
    if let Some(error) = span.error {
        attributes.push(KeyValue::new("error.type", error.to_owned()));
    }
    SpanData {
        attributes,
        status: status(span.error, None),
        ..bare(name, kind, span.context, span.parent, span.started, span.duration)
    }
}

/// A span that says nothing but where and when it was.
fn bare(
    name: String,
    span_kind: SpanKind,
    place: &TraceContext,
    parent: Option<&TraceContext>,
    start_time: SystemTime,
    duration: Duration,
) -> SpanData {
    let state = place.tracestate().and_then(|state| TraceState::from_str(state).ok());
    SpanData {
        span_context: SpanContext::new(
            TraceId::from(place.trace_id()),
            SpanId::from(place.span_id()),
            TraceFlags::new(place.flags()),
            false,
            state.unwrap_or_default(),
        ),
        parent_span_id: parent.map_or(SpanId::INVALID, |parent| SpanId::from(parent.span_id())),
        parent_span_is_remote: false,
        span_kind,
        name: name.into(),
        start_time,
        end_time: start_time + duration,
        attributes: Vec::new(),
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links: SpanLinks::default(),
        status: Status::Unset,
        instrumentation_scope: SCOPE.clone(),
    }
}

fn status(error: Option<&str>, text: Option<String>) -> Status {
    error.map_or(Status::Unset, |_| Status::error(text.unwrap_or_default()))
}

/// How long each stage took that was reached.
fn stages(stages: Stages) -> impl Iterator<Item = KeyValue> {
    [
        ("switchboard.stage.open_ms", stages.open),
        ("switchboard.stage.lookup_ms", stages.lookup),
        ("switchboard.stage.check_ms", stages.check),
        ("switchboard.stage.wait_ms", stages.wait),
        ("switchboard.stage.run_ms", stages.run),
        ("switchboard.stage.shape_ms", stages.shape),
    ]
    .into_iter()
    .filter(|(_, stage)| !stage.is_zero())
    .map(|(key, stage)| KeyValue::new(key, stage.as_secs_f64() * 1e3))
}

/// As much of a text as a span takes.
fn cut(text: &str) -> String {
    match text.char_indices().nth(MOST_TEXT) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
