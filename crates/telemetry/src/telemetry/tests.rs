//! What is told of calls.

use std::sync::{Mutex, PoisonError};

use opentelemetry::{
    Context,
    trace::{SpanId, SpanKind, Status},
};
use opentelemetry_sdk::{error::OTelSdkResult, trace::SpanData};
use serde_json::{Map, Value, json};
use switchboard_runtime::{SpanOperation, ToolExecutor};
use switchboard_testkit::Fake;
use switchboard_toolcall::{CallContext, ToolCall, ToolOutput};

use super::*;

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// Keeps the spans that it is given.
#[derive(Clone, Debug, Default)]
struct CapturedSpans(Arc<Mutex<Vec<SpanData>>>);

impl SpanProcessor for CapturedSpans {
    fn on_start(&self, _: &mut opentelemetry_sdk::trace::Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(span);
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

/// An executor whose calls become spans.
struct TestSetup {
    executor: ToolExecutor,
    telemetry: Arc<Telemetry>,
    kept: CapturedSpans,
}

impl TestSetup {
    fn new(share: f64, arguments: bool) -> Self {
        let kept = CapturedSpans::default();
        let export = Export { spans: Box::new(kept.clone()), meters: None };
        let sampling = Sampling::of(share).unwrap();
        let telemetry = Arc::new(Telemetry::through(export, sampling, arguments));
        let builder = ToolExecutor::builder().observer(telemetry.clone());
        let executor = builder.tracer(telemetry.clone()).build();
        // Answers with the trace that it was given.
        let tell = Fake::new("tell", |_, cx: CallContext| async move {
            let trace = cx.trace.map(|trace| trace.traceparent());
            Ok(ToolOutput::Value(json!({"trace": trace})))
        });
        executor.tools().add(tell).unwrap();
        executor.tools().add(Fake::fails("fails", "no luck with 10.0.0.1")).unwrap();
        Self { executor, telemetry, kept }
    }

    /// Makes a call, and returns its result and its spans.
    async fn call(&self, name: &str, parent: Option<&str>) -> (Value, Vec<SpanData>) {
        let trace = parent.and_then(|parent| TraceContext::parse(parent, None)).map(Arc::new);
        let cx = CallContext { trace, ..CallContext::for_caller("agent-7") };
        let args = json!({"city": "Ulm", "password": "hunter2"}).as_object().cloned();
        let call = ToolCall::new(name, args.unwrap_or_else(Map::new)).with_id("call_1");
        let result = self.executor.execute(call, &cx).await;
        let spans = std::mem::take(&mut *self.kept.0.lock().unwrap());
        (serde_json::to_value(&result).unwrap(), spans)
    }
}

fn attribute(span: &SpanData, key: &str) -> Option<String> {
    let found = span.attributes.iter().find(|attribute| attribute.key.as_str() == key)?;
    Some(found.value.to_string())
}

#[tokio::test]
async fn a_call_is_a_span_under_its_caller() {
    let (result, spans) = TestSetup::new(1.0, false).call("tell", Some(PARENT)).await;
    let [span] = &spans[..] else { panic!("{spans:?}") };
    assert_eq!(span.name, "execute_tool tell");
    assert_eq!(span.span_kind, SpanKind::Internal);
    assert_eq!(span.status, Status::Unset);
    let parent = TraceContext::parse(PARENT, None).unwrap();
    assert_eq!(span.span_context.trace_id(), parent.trace_id().into());
    assert_eq!(span.parent_span_id, SpanId::from(parent.span_id()));
    // The tool's own work is part of the call's span.
    let given = result["result"]["trace"].as_str().unwrap();
    let given = TraceContext::parse(given, None).unwrap();
    assert_eq!(SpanId::from(given.span_id()), span.span_context.span_id());
    for (key, value) in [
        ("gen_ai.operation.name", Some("execute_tool")),
        ("gen_ai.tool.name", Some("tell")),
        ("gen_ai.tool.call.id", Some("call_1")),
        ("gen_ai.tool.type", Some("function")),
        ("switchboard.caller", Some("agent-7")),
        ("switchboard.call_id", result["call_id"].as_str()),
        ("error.type", None),
        ("mcp.method.name", None),
        // Nobody has asked for contents.
        ("gen_ai.tool.call.arguments", None),
        ("gen_ai.tool.call.result", None),
    ] {
        assert_eq!(attribute(span, key).as_deref(), value, "{key}");
    }
    assert!(attribute(span, "gen_ai.tool.description").is_some());
    assert!(attribute(span, "switchboard.stage.run_ms").is_some());
}

#[tokio::test]
async fn a_failure_says_its_kind() {
    let setup = TestSetup::new(1.0, false);
    for (tool, name, kind) in [
        ("fails", "execute_tool fails", "tool_error"),
        // What a model makes up is no name of a span.
        ("made_up_17", "execute_tool", "not_found"),
    ] {
        let (_, spans) = setup.call(tool, None).await;
        assert_eq!(spans[0].name, name);
        assert_eq!(attribute(&spans[0], "error.type").as_deref(), Some(kind));
        assert_eq!(attribute(&spans[0], "gen_ai.tool.name").as_deref(), Some(tool));
        // The text of an error is content too.
        assert_eq!(spans[0].status, Status::error(""));
    }
}

#[tokio::test]
async fn contents_are_redacted_where_they_are_wanted() {
    let setup = TestSetup::new(1.0, true);
    let (_, spans) = setup.call("tell", None).await;
    let arguments = attribute(&spans[0], "gen_ai.tool.call.arguments").unwrap();
    assert!(arguments.contains("Ulm") && !arguments.contains("hunter2"), "{arguments}");
    assert!(attribute(&spans[0], "gen_ai.tool.call.result").unwrap().contains("trace"));
    let (_, spans) = setup.call("fails", None).await;
    assert_eq!(spans[0].status, Status::error("no luck with 10.0.0.1"));
    assert_eq!(attribute(&spans[0], "gen_ai.tool.call.result"), None);
}

#[tokio::test]
async fn a_trace_that_is_not_kept_is_passed_on_as_such() {
    let (result, spans) = TestSetup::new(0.0, false).call("tell", None).await;
    assert!(spans.is_empty());
    let given = result["result"]["trace"].as_str().unwrap();
    assert!(given.ends_with("-00"), "{given}");
    // The caller's word counts.
    let (_, spans) = TestSetup::new(0.0, false).call("tell", Some(PARENT)).await;
    assert_eq!(spans.len(), 1);
}

#[tokio::test]
async fn tools_of_servers_say_so() {
    let setup = TestSetup::new(1.0, false);
    let tools = setup.executor.tools();
    setup.telemetry.know(tools);
    tools.add_server("clock", Default::default()).unwrap();
    tools.set_server_tools(
        "clock",
        vec![Fake::answers("now", json!(12)).of_server("clock").shared()],
    );
    let (_, spans) = setup.call("clock__now", None).await;
    for (key, value) in [
        ("gen_ai.tool.type", "extension"),
        ("mcp.method.name", "tools/call"),
        ("switchboard.server", "clock"),
    ] {
        assert_eq!(attribute(&spans[0], key).as_deref(), Some(value), "{key}");
    }
}

#[test]
fn turns_and_runs_are_spans_too() {
    let setup = TestSetup::new(1.0, false);
    let run = setup.telemetry.context(CallId::generate(), None);
    let turn = setup.telemetry.context(CallId::generate(), Some(&run));
    let span = |work, context, parent, error| Span {
        context,
        parent,
        started: std::time::SystemTime::now(),
        duration: Duration::from_millis(5),
        error,
        conversation: Some("c-1"),
        work,
        model: "qwen3:0.6b",
        provider: "ollama",
        input_tokens: 20,
        output_tokens: 7,
    };
    setup.telemetry.span_ended(&span(SpanOperation::Turn, &turn, Some(&run), Some("timeout")));
    setup.telemetry.span_ended(&span(SpanOperation::Run, &run, None, None));
    let spans = setup.kept.0.lock().unwrap();
    let [turn, run] = &spans[..] else { panic!("{spans:?}") };
    assert_eq!((&*turn.name, &turn.span_kind), ("chat qwen3:0.6b", &SpanKind::Client));
    assert_eq!((&*run.name, &run.span_kind), ("invoke_agent switchboard", &SpanKind::Internal));
    assert_eq!(turn.parent_span_id, run.span_context.span_id());
    assert_eq!(turn.span_context.trace_id(), run.span_context.trace_id());
    assert_eq!(attribute(turn, "error.type").as_deref(), Some("timeout"));
    for (key, value) in [
        ("gen_ai.request.model", "qwen3:0.6b"),
        ("gen_ai.provider.name", "ollama"),
        ("gen_ai.usage.input_tokens", "20"),
        ("gen_ai.usage.output_tokens", "7"),
        ("gen_ai.conversation.id", "c-1"),
    ] {
        assert_eq!(attribute(turn, key).as_deref(), Some(value), "{key}");
    }
}
